"""From one node of an FX graph to operations of the graph dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Signature, signature
from operator import getitem
from typing import Any, TypeAlias, cast

import torch
from torch import fx
from xdsl.builder import Builder
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from tlf.frontend.torch import aten as aten
from tlf.frontend.torch.elements import type_of
from tlf.frontend.torch.emitter import NOTHING, Emitter, Nothing
from tlf.frontend.torch.errors import Unsupported
from tlf.frontend.torch.fx_arguments import OpOverload, map_nodes
from tlf.frontend.torch.locations import location_of
from tlf.frontend.torch.registry import CONVERTERS, Converter

Value: TypeAlias = SSAValue | Sequence[SSAValue | None]
"""The result of a node: a tensor, or several of which some are not computed."""

TAKES_EMPTY = frozenset([torch.ops.aten.cat.default])
"""Operations whose converters take tensors without elements."""

Lookup = Callable[[fx.Node], Value | Nothing]

EMPTY = "expected tensors of 1 or more elements, got an empty one"


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


def convert(node: fx.Node, builder: Builder, lookup: Lookup) -> Value:
    """
    Put the operations for a call into a program, and return its result. Raises
    `Unsupported` for what TLF has not.
    """
    if node.target is getitem:
        return _element(node, lookup)
    if (converter := CONVERTERS.get(node.target)) is None:
        raise Unsupported(f"no conversion of {name_of(node.target)}")
    results = tuple(type_of(tensor) for tensor in _used(node) if tensor is not None)
    emitter = Emitter(builder, results, location_of(node))

    def filled(argument: fx.Node) -> Value | Nothing:
        value = lookup(argument)
        if value is NOTHING and node.target not in TAKES_EMPTY:
            raise Unsupported(EMPTY)
        return value

    arguments: Sequence[Any] = map_nodes(node.args, filled)
    options: Mapping[str, Any] = map_nodes(node.kwargs, filled)
    try:
        call = _signature(converter).bind(emitter, *arguments, **options)
    except TypeError as error:
        raise Unsupported(f"{name_of(node.target)}: {error}") from error
    try:
        return converter(*call.args, **call.kwargs)
    except VerifyException as error:
        raise Unsupported(f"{name_of(node.target)}: {error}") from error


@cache
def _signature(converter: Converter) -> Signature:
    """What a converter takes."""
    return signature(converter)


def _used(node: fx.Node) -> Sequence[torch.Tensor | None]:
    """The results of a node that have an element type of TLF, up to the last used."""
    tensors = fake_tensors(node)
    if isinstance(node.meta.get("val"), torch.Tensor):
        return tensors
    used = [user.args[1] for user in node.users if user.target is getitem]
    last = max((each for each in used if isinstance(each, int)), default=0)
    return tensors[: last + 1]


def _element(node: fx.Node, lookup: Lookup) -> SSAValue:
    source, index = cast(tuple[fx.Node, int], node.args)
    values = cast(Sequence[SSAValue | None], lookup(source))
    if (value := values[index]) is None:
        raise Unsupported(f"{name_of(source.target)}: result {index} is not computed")
    return value


def why_not(node: fx.Node) -> str | None:
    """Why a call cannot be converted; none if it can."""
    block = Block()

    def stand_in(argument: fx.Node) -> Value:
        values = [
            None if tensor is None else block.insert_arg(_full(tensor), 0)
            for tensor in fake_tensors(argument)
        ]
        single = isinstance(argument.meta.get("val"), torch.Tensor)
        return cast(SSAValue, values[0]) if single else values

    try:
        for tensor in _used(node) if node.target is not getitem else ():
            if tensor is not None:
                _full(tensor)
        convert(node, Builder(InsertPoint.at_end(block)), stand_in)
    except Unsupported as error:
        return str(error)
    return None


def empty_result(node: fx.Node) -> Any:
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


def _full(tensor: torch.Tensor) -> Any:
    """The type of a tensor that is not empty."""
    if 0 in tuple(tensor.shape):
        raise Unsupported(EMPTY)
    return type_of(tensor)
