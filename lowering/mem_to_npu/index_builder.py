"""
Builder of index arithmetic in the NPU code generator: constants are folded, other
values become `arith` operations.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr

from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.index_ranges import index_range_of
from tlf.support.affine.affine_expressions import evaluate_expression


@dataclass
class IndexBuilder:
    """
    Builder of constant-folded `arith` operations on indices at an insertion point.
    """

    builder: Builder

    def to_ssa_value(self, index: Index) -> SSAValue:
        """Return an index as an SSA value; a constant becomes an `arith.constant`."""
        if isinstance(index, SSAValue):
            return index
        constant = arith.ConstantOp(IntegerAttr(index, IndexType()))
        return self.builder.insert(constant).result

    def build_add(self, lhs: Index, rhs: Index) -> Index:
        """Build `lhs + rhs`: a constant, an operand if one is 0, or `arith.addi`."""
        if (folded := _fold_constants(lhs, rhs, operator.add)) is not None:
            return folded
        if constant_value_of(lhs) == 0:
            return rhs
        if constant_value_of(rhs) == 0:
            return lhs
        return self._build_arith_operation(arith.AddiOp, lhs, rhs)

    def build_sub(self, lhs: Index, rhs: Index) -> Index:
        """Build `lhs - rhs`: a constant, `lhs` if `rhs` is 0, or `arith.subi`."""
        if (folded := _fold_constants(lhs, rhs, operator.sub)) is not None:
            return folded
        if constant_value_of(rhs) == 0:
            return lhs
        return self._build_arith_operation(arith.SubiOp, lhs, rhs)

    def build_mul(self, lhs: Index, rhs: Index) -> Index:
        """Build `lhs * rhs`: a constant, an operand if one is 1, or `arith.muli`."""
        if (folded := _fold_constants(lhs, rhs, operator.mul)) is not None:
            return folded
        if 0 in (constant_value_of(lhs), constant_value_of(rhs)):
            return 0
        if constant_value_of(lhs) == 1:
            return rhs
        if constant_value_of(rhs) == 1:
            return lhs
        return self._build_arith_operation(arith.MuliOp, lhs, rhs)

    def build_floordiv(self, lhs: Index, rhs: Index) -> Index:
        """Build `lhs // rhs`: a constant, `lhs` if `rhs` is 1, or a floor division."""
        if (folded := _fold_constants(lhs, rhs, _floor_divide_integers)) is not None:
            return folded
        if constant_value_of(rhs) == 1:
            return lhs
        return self._build_arith_operation(arith.FloorDivSIOp, lhs, rhs)

    def build_mod(self, lhs: Index, rhs: Index) -> Index:
        """
        Build `lhs` modulo `rhs` of floor division, or return a constant or `lhs` if
        ranges suffice.
        """
        low, high = index_range_of(lhs)
        if low >= 0 and high < index_range_of(rhs)[0]:
            return _to_constant_if_known(lhs)
        if low >= 0 and constant_value_of(lhs) is None and index_range_of(rhs)[0] > 0:
            return self._build_arith_operation(arith.RemSIOp, lhs, rhs)
        return self.build_sub(lhs, self.build_mul(self.build_floordiv(lhs, rhs), rhs))

    def build_min(self, lhs: Index, rhs: Index) -> Index:
        """Build the minimum: an operand if value ranges decide, or `arith.minsi`."""
        if index_range_of(lhs)[1] <= index_range_of(rhs)[0]:
            return _to_constant_if_known(lhs)
        if index_range_of(rhs)[1] <= index_range_of(lhs)[0]:
            return _to_constant_if_known(rhs)
        return self._build_arith_operation(arith.MinSIOp, lhs, rhs)

    def build_max(self, lhs: Index, rhs: Index) -> Index:
        """Build the maximum: an operand if value ranges decide, or `arith.maxsi`."""
        if index_range_of(lhs)[0] >= index_range_of(rhs)[1]:
            return _to_constant_if_known(lhs)
        if index_range_of(rhs)[0] >= index_range_of(lhs)[1]:
            return _to_constant_if_known(rhs)
        return self._build_arith_operation(arith.MaxSIOp, lhs, rhs)

    def build_sum(self, terms: Iterable[Index]) -> Index:
        """Build the sum of `terms` with `build_add`; the constant 0 without terms."""
        total: Index = 0
        for term in terms:
            total = self.build_add(total, term)
        return total

    def build_affine_expression(
        self, expression: AffineExpr, dims: Sequence[Index], symbols: Sequence[Index]
    ) -> Index:
        """Build the value of an affine expression."""
        return evaluate_expression(
            expression, dims, symbols, int, self._build_affine_binary
        )

    def _build_affine_binary(
        self, expression: AffineBinaryOpExpr, lhs: Index, rhs: Index
    ) -> Index:
        """Build `arith` operations for the kind of `expression` on `lhs` and `rhs`."""
        match expression.kind:
            case AffineBinaryOpKind.Add:
                return self.build_add(lhs, rhs)
            case AffineBinaryOpKind.Mul:
                return self.build_mul(lhs, rhs)
            case AffineBinaryOpKind.Mod:
                return self.build_mod(lhs, rhs)
            case AffineBinaryOpKind.FloorDiv:
                return self.build_floordiv(lhs, rhs)
            case AffineBinaryOpKind.CeilDiv:
                return self.build_sub(
                    0, self.build_floordiv(self.build_sub(0, lhs), rhs)
                )

    def _build_arith_operation(
        self,
        operation_class: Callable[[SSAValue, SSAValue], Operation],
        lhs: Index,
        rhs: Index,
    ) -> Index:
        op = operation_class(self.to_ssa_value(lhs), self.to_ssa_value(rhs))
        return self.builder.insert(op).results[0]


def _to_constant_if_known(index: Index) -> Index:
    constant = constant_value_of(index)
    return index if constant is None else constant


def _floor_divide_integers(lhs: int, rhs: int) -> int:
    return lhs // rhs


def _fold_constants(
    lhs: Index, rhs: Index, function: Callable[[int, int], int]
) -> int | None:
    """Return `function` of two constant indices; `None` if one is not constant."""
    constants = constant_value_of(lhs), constant_value_of(rhs)
    if constants[0] is None or constants[1] is None:
        return None
    return function(constants[0], constants[1])
