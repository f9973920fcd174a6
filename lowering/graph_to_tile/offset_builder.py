"""Build tile offsets as index values and affine maps of movements."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.builder import Builder
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from tlf.dialects.tile import Index
from tlf.support.affine.index_access import Accesses, AffineSum, Box


class OffsetBuilder:
    """Builder of index values for offsets affine in induction variables."""

    def __init__(self) -> None:
        self.variables: dict[Hashable, SSAValue] = {}
        """Induction variable of each loop."""
        self.behind: dict[Hashable, AffineSum] = {}
        """Induction variable values after their loops, in a peeled last iteration."""

    def build_box_offsets(self, builder: Builder, box: Box) -> list[Index]:
        """Return the offsets of a box as constants or `index` values."""
        return [self.build_offset(builder, interval.offset) for interval in box]

    def build_offset(self, builder: Builder, offset: AffineSum) -> Index:
        """Return an offset as a constant or an `index` value."""
        offset = offset.substitute(self.behind)
        if not offset.terms:
            return offset.constant
        symbols = [self.variables[symbol] for symbol, _ in offset.terms]
        factors = [factor for _, factor in offset.terms]
        return _build_affine_apply(builder, symbols, factors, offset.constant)


def add_offsets(builder: Builder, left: Index, right: Index) -> Index:
    """Build the sum of two indices."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    symbols = [each for each in (left, right) if not isinstance(each, int)]
    constant = sum(each for each in (left, right) if isinstance(each, int))
    return _build_affine_apply(builder, symbols, [1] * len(symbols), constant)


def _build_affine_apply(
    builder: Builder,
    symbols: Sequence[SSAValue],
    factors: Sequence[int],
    constant: int,
) -> Index:
    if len(symbols) == 1 and factors[0] == 1 and constant == 0:
        return symbols[0]
    total: AffineExpr | None = None
    for position, factor in enumerate(factors):
        term = AffineExpr.dimension(position)
        term = term if factor == 1 else term * factor
        total = term if total is None else total + term
    assert total is not None
    total = total + constant if constant else total
    affine_map = AffineMapAttr(AffineMap(len(symbols), 0, (total,)))
    return builder.insert(ApplyOp(symbols, affine_map)).result


def source_map(operand: Accesses, result: Accesses) -> AffineMap:
    """Return the affine map from a movement's result tile to its operand tile."""
    axis_of = {
        access.terms[0][0]: axis
        for axis, access in enumerate(result)
        if len(access.terms) == 1
    }
    expressions: list[AffineExpr] = []
    for access in operand:
        expression: AffineExpr = AffineExpr.constant(0)
        for iterator, factor in access.terms:
            term = AffineExpr.dimension(axis_of[iterator])
            term = term if factor == 1 else term * factor
            is_first = isinstance(expression, AffineConstantExpr)
            expression = term if is_first else expression + term
        expressions.append(expression)
    return AffineMap(len(result), 0, tuple(expressions))
