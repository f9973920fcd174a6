"""Conversion of one node of an FX graph to the graph dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Signature, signature
from operator import getitem
from typing import Any, TypeAlias, cast

import torch
from torch import fx
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from tlf.frontend.torch import aten as aten
from tlf.frontend.torch.element_types import type_of
from tlf.frontend.torch.emitter import EMPTY_TENSOR, Emitter, EmptyTensor
from tlf.frontend.torch.fx_typing import OpOverload, map_nodes
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.node_locations import location_of
from tlf.frontend.torch.registry import CONVERTERS, Converter, overload

Value: TypeAlias = SSAValue | Sequence[SSAValue | None]
"""The result of a node: a tensor, or several of which some are not computed."""

TAKES_EMPTY = frozenset(
    [
        overload(f"{name}.default")
        for name in ("cat", "diagonal_scatter", "slice_scatter")
    ]
)
"""Operations whose converters take tensors without elements."""

Lookup = Callable[[fx.Node], Value | EmptyTensor]

Objection = Callable[[Operation], str | None]
"""Function that returns why a target cannot run an operation; `None` if it can."""

EMPTY = "expected tensors of 1 or more elements, got an empty one"


@dataclass(frozen=True)
class Refusal:
    """Reason why an operation is not converted."""

    text: str
    is_fault: bool = False
    """True if the conversion failed; false if TLF has none."""


def fake_tensors(node: fx.Node) -> tuple[torch.Tensor | None, ...]:
    """The fake tensors that stand for the results of a node."""
    value: object = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        found: tuple[torch.Tensor | None, ...] = (value,)
    elif isinstance(value, tuple | list):
        found = tuple(
            each if isinstance(each, torch.Tensor) else None
            for each in cast(Sequence[object], value)
        )
    else:
        raise Unsupported(f"expected a tensor, got {type(value).__name__}")
    shapes = [tuple(each.shape) for each in found if each is not None]
    if any(type(extent) is not int for shape in shapes for extent in shape):
        raise Unsupported("expected a shape that does not depend on data")
    return found


def name_of(target: object) -> str:
    """The name of an operation, as messages write it."""
    if isinstance(target, OpOverload):
        return str(target)
    return getattr(target, "__name__", None) or str(target)


def original_name(node: fx.Node) -> str:
    """The name of what a call stands for before it was taken apart, and its own."""
    name = name_of(node.target)
    written = name_of(node.meta.get("original_aten") or node.target)
    return name if written == name else f"{written} ({name})"


def convert(node: fx.Node, builder: Builder, lookup: Lookup) -> Value:
    """
    Put the operations for a call into a program, and return its result. Raises
    `Unsupported` for what TLF has not.
    """
    if node.target is getitem:
        return _convert_getitem(node, lookup)
    if (converter := CONVERTERS.get(node.target)) is None:
        raise Unsupported(f"no conversion of {original_name(node)}")
    results = tuple(
        type_of(tensor) for tensor in _used_tensors(node) if tensor is not None
    )
    emitter = Emitter(builder, results, location_of(node))

    def lookup_nonempty(argument: fx.Node) -> Value | EmptyTensor:
        value = lookup(argument)
        if value is EMPTY_TENSOR and node.target not in TAKES_EMPTY:
            raise Unsupported(EMPTY)
        return value

    arguments: Sequence[Any] = map_nodes(node.args, lookup_nonempty)
    options: Mapping[str, Any] = map_nodes(node.kwargs, lookup_nonempty)
    try:
        call = _signature_of(converter).bind(emitter, *arguments, **options)
    except TypeError as error:
        raise Unsupported(f"{name_of(node.target)}: {error}") from error
    try:
        found: Value = converter(*call.args, **call.kwargs)
    except VerifyException as error:
        raise Unsupported(f"{name_of(node.target)}: {error}") from error
    _check_results(found, results)
    return found


def _check_results(found: Value, types: Sequence[Attribute]) -> None:
    """Raise `TypeError` unless values have the types of the results of a call."""
    values = (found,) if isinstance(found, SSAValue) else found
    for value, type_ in zip(values, types, strict=False):
        if value is not None and value.type != type_:
            raise TypeError(f"expected a result of {type_}, got {value.type}")


@cache
def _signature_of(converter: Converter) -> Signature:
    """Return the signature of a converter."""
    return signature(converter)


def _used_tensors(node: fx.Node) -> Sequence[torch.Tensor | None]:
    """The results of a node that have an element type of TLF, up to the last used."""
    tensors = fake_tensors(node)
    if isinstance(node.meta.get("val"), torch.Tensor):
        return tensors
    return tensors[: max(_used_indices(node), default=0) + 1]


def _used_indices(node: fx.Node) -> Sequence[int]:
    """Return the indices of the used results of a node with several."""
    used = [user.args[1] for user in node.users if user.target is getitem]
    return [each for each in used if isinstance(each, int)]


def _convert_getitem(node: fx.Node, lookup: Lookup) -> SSAValue:
    source, index = cast(tuple[fx.Node, int], node.args)
    return _select_result(source, cast(Value, lookup(source)), index)


def _select_result(source: fx.Node, found: Value, index: int) -> SSAValue:
    """One of several results of a node. Raises `Unsupported`."""
    value = cast(Sequence[SSAValue | None], found)[index]
    if value is None:
        raise Unsupported(f"{name_of(source.target)}: result {index} is not computed")
    return value


def find_refusal(node: fx.Node, objection: Objection | None = None) -> Refusal | None:
    """
    Return why a call cannot be converted; `None` if it can. A target may object to the
    operations that it becomes.
    """
    if node.target is getitem:
        return None
    try:
        block, results = _convert_alone(node)
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


def _convert_alone(node: fx.Node) -> tuple[Block, list[SSAValue]]:
    """
    The operations that a call becomes by itself, and their results. Raises what its
    conversion raises.
    """
    block = Block()

    def make_stand_in(argument: fx.Node) -> Value | EmptyTensor:
        values = [
            None if tensor is None else _make_argument(block, tensor)
            for tensor in fake_tensors(argument)
        ]
        if not isinstance(argument.meta.get("val"), torch.Tensor):
            return cast(Value, values)
        return EMPTY_TENSOR if values[0] is None else values[0]

    for tensor in _used_tensors(node):
        if tensor is not None and 0 in tuple(tensor.shape):
            raise Unsupported(EMPTY)
    found = convert(node, Builder(InsertPoint.at_end(block)), make_stand_in)
    for index in _used_indices(node):
        _select_result(node, found, index)
    values = (found,) if isinstance(found, SSAValue) else found
    return block, [value for value in values if value is not None]


def _make_argument(block: Block, tensor: torch.Tensor) -> SSAValue | None:
    """An argument for a tensor; none for one without elements."""
    type_ = type_of(tensor)
    return None if 0 in type_.get_shape() else block.insert_arg(type_, 0)


def empty_result_of(node: fx.Node) -> Any:
    """The result of a node none of whose results has elements; none for others."""
    try:
        tensors = fake_tensors(node)
    except Unsupported:
        return None
    made = [
        torch.empty(tuple(each.shape), dtype=each.dtype)
        for each in tensors
        if each is not None and 0 in tuple(each.shape)
    ]
    if not made or len(made) < len(tensors):
        return None
    return made[0] if isinstance(node.meta.get("val"), torch.Tensor) else tuple(made)
