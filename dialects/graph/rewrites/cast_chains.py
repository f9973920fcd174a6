"""Rewrite rule of `graph.cast`: fold a cast of a cast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from xdsl.builder import Builder
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.rewrites.identities import reuse_value
from tlf.dialects.graph.tensor_types import INTEGERS, element_of
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import dtype_of, is_16_bit_float, is_float

LOSSLESS_TYPES: Mapping[Attribute, tuple[Attribute, ...]] = {
    i1: (i8, i32, i64, bf16, f16, f32, f64),
    i8: (i32, i64, bf16, f16, f32, f64),
    i32: (i64, f64),
    f16: (f32, f64),
    bf16: (f32, f64),
    f32: (f64,),
}
"""Element types that represent every value of an element type exactly."""


def _byte_size(element: Attribute) -> int:
    return dtype_of(element).itemsize


def _can_skip_cast(source: Attribute, between: Attribute, wanted: Attribute) -> bool:
    """Return `True` if a cast through an intermediate type equals the direct cast."""
    if between in INTEGERS and source in INTEGERS and wanted in INTEGERS:
        is_lost = _byte_size(between) < min(_byte_size(source), _byte_size(wanted))
        return not is_lost
    if between not in LOSSLESS_TYPES.get(source, ()):
        return False
    if source == i1 or source == wanted or wanted == i1:
        return True
    if is_float(source):
        return True
    if not is_float(wanted):
        return _byte_size(wanted) >= _byte_size(source)
    # Integers convert to 16-bit floats by way of f32, with a rounding more than floats.
    return not is_16_bit_float(wanted) or source == i8 or not is_float(between)


def fold_cast_chain(op: Operation) -> Iterable[Simplification]:
    """Fold a cast of a cast into one cast, or none."""
    if not isinstance(op, CastOp) or not isinstance(first := op.operand.owner, CastOp):
        return
    source, between, wanted = map(element_of, (first.operand, op.operand, op.result))
    if not _can_skip_cast(source, between, wanted):
        return
    text = f"{source} by way of {between} as {wanted} = {source}"
    if first.operand.type == op.result.type:
        yield Simplification(text, partial(reuse_value, first.operand))
        return
    yield Simplification(
        f"{text} as {wanted}", partial(_build_cast, first.operand, wanted=wanted)
    )


def _build_cast(value: SSAValue, builder: Builder, wanted: Attribute) -> SSAValue:
    return builder.insert(CastOp(value, wanted)).result
