"""
Index arithmetic builder of the NPU code generator: folds constants and emits `arith`
for values.
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
from tlf.lowering.mem_to_npu.integer_ranges import range_of
from tlf.support.affine.affine_expressions import evaluate_expression


@dataclass
class IndexBuilder:
    """Builder of index arithmetic at an insertion point."""

    builder: Builder

    def to_value(self, index: Index) -> SSAValue:
        """Return an index as an SSA value; a constant becomes an `arith.constant`."""
        if isinstance(index, SSAValue):
            return index
        constant = arith.ConstantOp(IntegerAttr(index, IndexType()))
        return self.builder.insert(constant).result

    def add(self, lhs: Index, rhs: Index) -> Index:
        if (folded := _fold(lhs, rhs, operator.add)) is not None:
            return folded
        if constant_value_of(lhs) == 0:
            return rhs
        if constant_value_of(rhs) == 0:
            return lhs
        return self._build_binary(arith.AddiOp, lhs, rhs)

    def sub(self, lhs: Index, rhs: Index) -> Index:
        if (folded := _fold(lhs, rhs, operator.sub)) is not None:
            return folded
        if constant_value_of(rhs) == 0:
            return lhs
        return self._build_binary(arith.SubiOp, lhs, rhs)

    def mul(self, lhs: Index, rhs: Index) -> Index:
        if (folded := _fold(lhs, rhs, operator.mul)) is not None:
            return folded
        if 0 in (constant_value_of(lhs), constant_value_of(rhs)):
            return 0
        if constant_value_of(lhs) == 1:
            return rhs
        if constant_value_of(rhs) == 1:
            return lhs
        return self._build_binary(arith.MuliOp, lhs, rhs)

    def floordiv(self, lhs: Index, rhs: Index) -> Index:
        if (folded := _fold(lhs, rhs, _floor_divide)) is not None:
            return folded
        if constant_value_of(rhs) == 1:
            return lhs
        return self._build_binary(arith.FloorDivSIOp, lhs, rhs)

    def mod(self, lhs: Index, rhs: Index) -> Index:
        """Build the remainder of `floordiv`."""
        low, high = range_of(lhs)
        if low >= 0 and high < range_of(rhs)[0]:
            return _to_constant(lhs)
        if low >= 0 and constant_value_of(lhs) is None and range_of(rhs)[0] > 0:
            return self._build_binary(arith.RemSIOp, lhs, rhs)
        return self.sub(lhs, self.mul(self.floordiv(lhs, rhs), rhs))

    def min(self, lhs: Index, rhs: Index) -> Index:
        if range_of(lhs)[1] <= range_of(rhs)[0]:
            return _to_constant(lhs)
        if range_of(rhs)[1] <= range_of(lhs)[0]:
            return _to_constant(rhs)
        return self._build_binary(arith.MinSIOp, lhs, rhs)

    def max(self, lhs: Index, rhs: Index) -> Index:
        if range_of(lhs)[0] >= range_of(rhs)[1]:
            return _to_constant(lhs)
        if range_of(rhs)[0] >= range_of(lhs)[1]:
            return _to_constant(rhs)
        return self._build_binary(arith.MaxSIOp, lhs, rhs)

    def sum(self, terms: Iterable[Index]) -> Index:
        total: Index = 0
        for term in terms:
            total = self.add(total, term)
        return total

    def build_expression(
        self, expression: AffineExpr, dims: Sequence[Index], symbols: Sequence[Index]
    ) -> Index:
        """Build the value of an affine expression."""
        return evaluate_expression(expression, dims, symbols, int, self._build_affine)

    def _build_affine(
        self, expression: AffineBinaryOpExpr, lhs: Index, rhs: Index
    ) -> Index:
        match expression.kind:
            case AffineBinaryOpKind.Add:
                return self.add(lhs, rhs)
            case AffineBinaryOpKind.Mul:
                return self.mul(lhs, rhs)
            case AffineBinaryOpKind.Mod:
                return self.mod(lhs, rhs)
            case AffineBinaryOpKind.FloorDiv:
                return self.floordiv(lhs, rhs)
            case AffineBinaryOpKind.CeilDiv:
                return self.sub(0, self.floordiv(self.sub(0, lhs), rhs))

    def _build_binary(
        self,
        operation: Callable[[SSAValue, SSAValue], Operation],
        lhs: Index,
        rhs: Index,
    ) -> Index:
        op = operation(self.to_value(lhs), self.to_value(rhs))
        return self.builder.insert(op).results[0]


def _to_constant(index: Index) -> Index:
    constant = constant_value_of(index)
    return index if constant is None else constant


def _floor_divide(lhs: int, rhs: int) -> int:
    return lhs // rhs


def _fold(lhs: Index, rhs: Index, function: Callable[[int, int], int]) -> int | None:
    constants = constant_value_of(lhs), constant_value_of(rhs)
    if constants[0] is None or constants[1] is None:
        return None
    return function(constants[0], constants[1])
