"""
Import of FX graphs: conversion of one call of an ATen operation to operations of
`graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Signature, signature
from operator import getitem
from typing import Any, TypeAlias, cast

import torch
from torch import fx
from torch.utils import _pytree as pytree
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from tlf.frontend.torch import aten as aten
from tlf.frontend.torch.element_types import ir_type_of
from tlf.frontend.torch.emitter import EMPTY_TENSOR, Emitter, EmptyTensor
from tlf.frontend.torch.f32_precision import F32Precision
from tlf.frontend.torch.fx_typing import OpOverload, map_nodes_in_arguments
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.node_locations import location_of
from tlf.frontend.torch.registry import CONVERTERS, Converter, find_aten_overload

Value: TypeAlias = SSAValue | Sequence[SSAValue | None]
"""Result of a node: a tensor, or several, some of which may not be computed."""

TAKES_EMPTY = frozenset(
    [
        find_aten_overload(f"{name}.default")
        for name in ("cat", "diagonal_scatter", "slice_scatter")
    ]
)
"""Operations whose converters accept tensors without elements."""

Lookup = Callable[[fx.Node], Value | EmptyTensor]

Objection = Callable[[Operation], str | None]
"""Function that returns why a target cannot run an operation; `None` if it can."""

EMPTY = "expected tensors of 1 or more elements, got an empty one"


@dataclass(frozen=True)
class Refusal:
    """Reason why an operation is not converted."""

    reason: str
    is_fault: bool = False
    """True if the conversion failed; false if there is no conversion."""


def fake_result_tensors_of(node: fx.Node) -> tuple[torch.Tensor | None, ...]:
    """
    Return the fake tensors of the results of a node. Raises `Unsupported` for results
    other than tensors, and for shapes that depend on data.
    """
    value: object = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        tensors: tuple[torch.Tensor | None, ...] = (value,)
    elif isinstance(value, tuple | list):
        tensors = tuple(
            each if isinstance(each, torch.Tensor) else None
            for each in cast(Sequence[object], value)
        )
    else:
        raise Unsupported(f"expected a tensor, got {type(value).__name__}")
    shapes = [tuple(each.shape) for each in tensors if each is not None]
    if any(type(extent) is not int for shape in shapes for extent in shape):
        raise Unsupported("expected a shape that does not depend on data")
    return tensors


def _device_of(node: fx.Node) -> torch.device:
    """Return the device of the results of a node."""
    tensors = fake_result_tensors_of(node)
    devices = (each.device for each in tensors if each is not None)
    return next(devices, torch.device("cpu"))


def operation_name_of(target: object) -> str:
    """Return the name of an operation in messages."""
    if isinstance(target, OpOverload):
        return str(target)
    return getattr(target, "__name__", None) or str(target)


def original_operation_name_of(node: fx.Node) -> str:
    """
    Return the name of the operation that a call was decomposed from, with its own.
    """
    name = operation_name_of(node.target)
    original = operation_name_of(node.meta.get("original_aten") or node.target)
    return name if original == name else f"{original} ({name})"


def convert_call(
    node: fx.Node,
    builder: Builder,
    lookup: Lookup,
    f32_precision: F32Precision | None = None,
) -> Value:
    """
    Emit the operations for a call, and return its result. Raises `Unsupported` if there
    is no conversion.
    """
    if node.target is getitem:
        return _convert_getitem(node, lookup)
    if (converter := CONVERTERS.get(node.target)) is None:
        raise Unsupported(f"no conversion of {original_operation_name_of(node)}")
    results = tuple(
        ir_type_of(tensor)
        for tensor in _used_result_tensors(node)
        if tensor is not None
    )
    precision = (f32_precision or F32Precision()).resolve_for_device(_device_of(node))
    emitter = Emitter(builder, results, location_of(node), precision)

    def lookup_nonempty(argument: fx.Node) -> Value | EmptyTensor:
        value = lookup(argument)
        if value is EMPTY_TENSOR and node.target not in TAKES_EMPTY:
            raise Unsupported(EMPTY)
        return value

    arguments: Sequence[Any] = map_nodes_in_arguments(node.args, lookup_nonempty)
    options: Mapping[str, Any] = map_nodes_in_arguments(node.kwargs, lookup_nonempty)
    try:
        call = _signature_of(converter).bind(emitter, *arguments, **options)
    except TypeError as error:
        raise Unsupported(f"{operation_name_of(node.target)}: {error}") from error
    try:
        result: Value = converter(*call.args, **call.kwargs)
    except VerifyException as error:
        raise Unsupported(f"{operation_name_of(node.target)}: {error}") from error
    _check_result_types(result, results)
    return result


def _check_result_types(results: Value, types: Sequence[Attribute]) -> None:
    """Raise `TypeError` unless values have the types of the results of a call."""
    values = (results,) if isinstance(results, SSAValue) else results
    for value, type_ in zip(values, types, strict=False):
        if value is not None and value.type != type_:
            raise TypeError(f"expected a result of {type_}, got {value.type}")


@cache
def _signature_of(converter: Converter) -> Signature:
    """Return the signature of a converter."""
    return signature(converter)


def _used_result_tensors(node: fx.Node) -> Sequence[torch.Tensor | None]:
    """Return the fake tensors of the results of a node, up to the last used result."""
    tensors = fake_result_tensors_of(node)
    if isinstance(node.meta.get("val"), torch.Tensor):
        return tensors
    return tensors[: max(_used_result_indices(node), default=0) + 1]


def _used_result_indices(node: fx.Node) -> Sequence[int]:
    """Return the indices of the used results of a node with several results."""
    used = [user.args[1] for user in node.users if user.target is getitem]
    return [each for each in used if isinstance(each, int)]


def _convert_getitem(node: fx.Node, lookup: Lookup) -> SSAValue:
    source, index = cast(tuple[fx.Node, int], node.args)
    return _select_result(source, cast(Value, lookup(source)), index)


def _select_result(source: fx.Node, results: Value, index: int) -> SSAValue:
    """
    Return one of several results of a node. Raises `Unsupported` if it is not computed.
    """
    value = cast(Sequence[SSAValue | None], results)[index]
    if value is None:
        raise Unsupported(
            f"{operation_name_of(source.target)}: result {index} is not computed"
        )
    return value


def structure_of_call(node: fx.Node) -> tuple[object, ...]:
    """
    Return a key of a call: equal calls are converted alike, up to their locations. It
    has the operation, its arguments, the types of tensors, and the used results.
    """
    operands = map_nodes_in_arguments((node.args, node.kwargs), _format_fake_tensors)
    results = (_format_fake_tensors(node), tuple(_used_result_indices(node)))
    # By their texts, since 1, 1.0 and True are equal.
    return (node.target, original_operation_name_of(node), repr(operands), results)


def _format_fake_tensors(node: fx.Node) -> str:
    """Return types, layouts and devices of the results of a node as text."""
    return repr(
        pytree.tree_map_only(
            torch.Tensor,
            lambda each: (each.dtype, tuple(each.shape), each.layout, each.device),
            node.meta.get("val"),
        )
    )


def find_conversion_refusal(
    node: fx.Node, objection: Objection | None = None
) -> Refusal | None:
    """
    Return the reason why a call cannot be converted; `None` if it can. `objection` may
    reject the operations that it is converted to.
    """
    if node.target is getitem:
        return None
    try:
        block, results = _convert_in_own_block(node)
        for op in block.ops:
            op.verify(verify_nested_ops=False)
        for op in (*block.ops, func.ReturnOp(*results)):
            if objection is not None and (text := objection(op)) is not None:
                return Refusal(text)
    except Unsupported as error:
        return Refusal(str(error))
    except Exception as error:
        text = " ".join(str(error).split())
        return Refusal(f"{type(error).__name__}: {text}", is_fault=True)
    return None


def _convert_in_own_block(node: fx.Node) -> tuple[Block, list[SSAValue]]:
    """
    Convert a call in a block of its own, and return the block and the results. Raises
    the exceptions of the conversion.
    """
    block = Block()

    def make_argument(argument: fx.Node) -> Value | EmptyTensor:
        values = [
            None if tensor is None else _insert_block_argument(block, tensor)
            for tensor in fake_result_tensors_of(argument)
        ]
        if not isinstance(argument.meta.get("val"), torch.Tensor):
            return cast(Value, values)
        return EMPTY_TENSOR if values[0] is None else values[0]

    for tensor in _used_result_tensors(node):
        if tensor is not None and 0 in tuple(tensor.shape):
            raise Unsupported(EMPTY)
    result = convert_call(node, Builder(InsertPoint.at_end(block)), make_argument)
    for index in _used_result_indices(node):
        _select_result(node, result, index)
    values = (result,) if isinstance(result, SSAValue) else result
    return block, [value for value in values if value is not None]


def _insert_block_argument(block: Block, tensor: torch.Tensor) -> SSAValue | None:
    """Insert a block argument for a tensor; `None` for a tensor without elements."""
    type_ = ir_type_of(tensor)
    return None if 0 in type_.get_shape() else block.insert_arg(type_, 0)


def empty_result_of(node: fx.Node) -> Any:
    """Return the result of a node if none of its tensors has elements, else `None`."""
    try:
        tensors = fake_result_tensors_of(node)
    except Unsupported:
        return None
    empty = [
        torch.empty(tuple(each.shape), dtype=each.dtype)
        for each in tensors
        if each is not None and 0 in tuple(each.shape)
    ]
    if not empty or len(empty) < len(tensors):
        return None
    return empty[0] if isinstance(node.meta.get("val"), torch.Tensor) else tuple(empty)
