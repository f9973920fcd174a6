"""Casts of casts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from xdsl.builder import Builder
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.rewrites.identities import kept
from tlf.dialects.graph.tensors import INTEGERS, element_of
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import dtype_of, is_float, is_half

HOLDERS: Mapping[Attribute, tuple[Attribute, ...]] = {
    i1: (i8, i32, i64, bf16, f16, f32, f64),
    i8: (i32, i64, bf16, f16, f32, f64),
    i32: (i64, f64),
    f16: (f32, f64),
    bf16: (f32, f64),
    f32: (f64,),
}
"""The element types that hold every number of an element type."""


def _size(element: Attribute) -> int:
    return dtype_of(element).itemsize


def _skips(source: Attribute, between: Attribute, wanted: Attribute) -> bool:
    """Return `True` if a cast through an intermediate type equals the direct cast."""
    if between in INTEGERS and source in INTEGERS and wanted in INTEGERS:
        is_lost = _size(between) < min(_size(source), _size(wanted))
        return not is_lost
    if between not in HOLDERS.get(source, ()):
        return False
    if source == i1 or source == wanted or wanted == i1:
        return True
    if is_float(source):
        return True
    if not is_float(wanted):
        return _size(wanted) >= _size(source)
    # An integer becomes a 16-bit float by way of f32, but one step less from a float.
    return not is_half(wanted) or source == i8 or not is_float(between)


def of_cast(op: Operation) -> Iterable[Simplification]:
    """A cast of a cast as one cast, or as nothing."""
    if not isinstance(op, CastOp) or not isinstance(first := op.operand.owner, CastOp):
        return
    source, between, wanted = map(element_of, (first.operand, op.operand, op.result))
    if not _skips(source, between, wanted):
        return
    text = f"{source} by way of {between} as {wanted} = {source}"
    if first.operand.type == op.result.type:
        yield Simplification(text, partial(kept, first.operand))
        return
    yield Simplification(
        f"{text} as {wanted}", partial(_cast, first.operand, wanted=wanted)
    )


def _cast(value: SSAValue, builder: Builder, wanted: Attribute) -> SSAValue:
    return builder.insert(CastOp(value, wanted)).result
