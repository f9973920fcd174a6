"""Rewrite rule of `graph.cast`, in the `graph` dialect: fold a cast of a cast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from xdsl.builder import Builder
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.rewrites.algebraic_simplifications import reuse_value
from tlf.dialects.graph.tensor_types import INTEGERS, element_type_of_value
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


def _can_skip_intermediate_cast(
    source_type: Attribute, intermediate_type: Attribute, target_type: Attribute
) -> bool:
    """Return `True` if a cast through an intermediate type equals the direct cast."""
    if (
        intermediate_type in INTEGERS
        and source_type in INTEGERS
        and target_type in INTEGERS
    ):
        is_lost = _byte_size(intermediate_type) < min(
            _byte_size(source_type), _byte_size(target_type)
        )
        return not is_lost
    if intermediate_type not in LOSSLESS_TYPES.get(source_type, ()):
        return False
    if source_type == i1 or source_type == target_type or target_type == i1:
        return True
    if is_float(source_type):
        return True
    if not is_float(target_type):
        return _byte_size(target_type) >= _byte_size(source_type)
    # Integers convert to 16-bit floats by way of f32, with a rounding more than floats.
    return (
        not is_16_bit_float(target_type)
        or source_type == i8
        or not is_float(intermediate_type)
    )


def fold_cast_chain(op: Operation) -> Iterable[Simplification]:
    """
    Yield the simplification of a cast of a cast to one cast, or to its source, where
    the intermediate type has no effect; change no IR.
    """
    if not isinstance(op, CastOp) or not isinstance(first := op.operand.owner, CastOp):
        return
    source, between, wanted = map(
        element_type_of_value, (first.operand, op.operand, op.result)
    )
    if not _can_skip_intermediate_cast(source, between, wanted):
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
