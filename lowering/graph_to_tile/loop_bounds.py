"""Builder of the bounds of reduction loops that depend on the loops around them."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from tlf.dialects.affine_values import insert_affine_apply
from tlf.dialects.tile import Index
from tlf.lowering.graph_to_tile.offset_builder import OffsetBuilder
from tlf.support.affine.affine_extrema import RoundedSum, Term
from tlf.support.affine.index_access import AffineSum


def build_loop_bound(builder: Builder, term: Term, offsets: OffsetBuilder) -> Index:
    """Build a loop bound at the builder's insertion point."""
    if isinstance(term, AffineSum):
        return offsets.build_offset(builder, term)
    if isinstance(term, RoundedSum):
        return _build_rounded_sum(builder, term, offsets)
    kind = arith.MaxSIOp if term.is_maximum else arith.MinSIOp
    bound, *others = (build_loop_bound(builder, e, offsets) for e in term.operands)
    for other in others:
        left, right = (_to_ssa_value(builder, each) for each in (bound, other))
        bound = builder.insert(kind(left, right)).result
    return bound


def _build_rounded_sum(
    builder: Builder, term: RoundedSum, offsets: OffsetBuilder
) -> SSAValue:
    """Build `numerator // divisor * factor` as an `affine.apply`."""
    numerator = _to_ssa_value(builder, offsets.build_offset(builder, term.numerator))
    quotient = AffineExpr.dimension(0) // term.divisor * term.factor
    return insert_affine_apply(builder, quotient, [numerator])


def _to_ssa_value(builder: Builder, index: Index) -> SSAValue:
    """Return an index as an SSA value; build a constant for a number."""
    if not isinstance(index, int):
        return index
    constant = arith.ConstantOp(IntegerAttr(index, IndexType()))
    return builder.insert(constant).result
