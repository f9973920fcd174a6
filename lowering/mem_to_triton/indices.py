"""
Index arithmetic: Python expressions for `index` values, and the range of each.

The ranges decide where a mask is needed and how wide offsets must be.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.utils.exceptions import DiagnosticException

from tlf.lowering.mem_to_triton.source import Source


@dataclass(frozen=True)
class Index:
    """
    An index: its Python expression, and the least and the greatest value it takes.
    """

    text: str
    low: int
    high: int
    is_atom: bool = True

    @staticmethod
    def of(value: int) -> "Index":
        return Index(str(value), value, value, value >= 0)

    @property
    def constant(self) -> int | None:
        """The value, if it is the same always."""
        return self.low if self.low == self.high else None

    @property
    def atom(self) -> str:
        """The expression, safe to stand next to any operator."""
        return self.text if self.is_atom else f"({self.text})"

    def __add__(self, other: "Index") -> "Index":
        low, high = self.low + other.low, self.high + other.high
        if low == high:
            return Index.of(low)
        if self.constant == 0:
            return other
        if other.constant == 0:
            return self
        if other.constant is not None and other.low < 0:
            return Index(f"{self.text} - {-other.low}", low, high, False)
        return Index(f"{self.text} + {other.atom}", low, high, False)

    def __sub__(self, other: "Index") -> "Index":
        low, high = self.low - other.high, self.high - other.low
        if low == high:
            return Index.of(low)
        if other.constant is not None:
            return self + Index.of(-other.low)
        return Index(f"{self.text} - {other.atom}", low, high, False)

    def __mul__(self, other: "Index") -> "Index":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        if min(ends) == max(ends):
            return Index.of(min(ends))
        if self.constant == 1:
            return other
        if other.constant == 1:
            return self
        return Index(f"{self.atom} * {other.atom}", min(ends), max(ends), False)

    def floordiv(self, divisor: int) -> "Index":
        low, high = self.low // divisor, self.high // divisor
        if low == high:
            return Index.of(low)
        if divisor == 1:
            return self
        if self.low >= 0:
            return Index(f"{self.atom} // {divisor}", low, high, False)
        # Division in Triton rounds towards zero.
        whole = f"{self.atom} - ({self.atom} % {divisor} + {divisor}) % {divisor}"
        return Index(f"({whole}) // {divisor}", low, high, False)

    def ceildiv(self, divisor: int) -> "Index":
        return (self + Index.of(divisor - 1)).floordiv(divisor)

    def modulo(self, divisor: int) -> "Index":
        if self.low >= 0 and self.high < divisor:
            return self
        if (value := self.constant) is not None:
            return Index.of(value % divisor)
        if divisor == 1:
            return Index.of(0)
        if self.low >= 0:
            return Index(f"{self.atom} % {divisor}", 0, divisor - 1, False)
        text = f"({self.atom} % {divisor} + {divisor}) % {divisor}"
        return Index(text, 0, divisor - 1, False)

    def minimum(self, other: "Index") -> "Index":
        if self.high <= other.low:
            return self
        if other.high <= self.low:
            return other
        low, high = min(self.low, other.low), min(self.high, other.high)
        return Index(f"tl.minimum({self.text}, {other.text})", low, high)

    def maximum(self, other: "Index") -> "Index":
        if self.low >= other.high:
            return self
        if other.low >= self.high:
            return other
        low, high = max(self.low, other.low), max(self.high, other.high)
        return Index(f"tl.maximum({self.text}, {other.text})", low, high)


_Binary = Callable[[Index, Index], Index]

_BINARY: dict[type[Operation], _Binary] = {
    arith.AddiOp: Index.__add__,
    arith.SubiOp: Index.__sub__,
    arith.MuliOp: Index.__mul__,
    arith.MinSIOp: Index.minimum,
    arith.MaxSIOp: Index.maximum,
}

_DIVISIONS: dict[type[Operation], Callable[[Index, int], Index]] = {
    arith.FloorDivSIOp: Index.floordiv,
    arith.CeilDivSIOp: Index.ceildiv,
    arith.DivSIOp: Index.floordiv,
    arith.DivUIOp: Index.floordiv,
    arith.RemSIOp: Index.modulo,
    arith.RemUIOp: Index.modulo,
}

_TRUNCATING = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)

OPERATIONS: tuple[type[Operation], ...] = (
    *_BINARY,
    *_DIVISIONS,
    arith.ConstantOp,
    affine.ApplyOp,
    affine.MinOp,
)
"""The operations on indices that `Indices.define` knows."""


@dataclass
class Indices:
    """
    The indices known so far. With a `source`, results that are no atoms get a name.
    """

    source: Source | None = None
    known: dict[SSAValue, Index] = field(default_factory=dict[SSAValue, Index])
    greatest: int = 0
    """The greatest magnitude of all that was computed on the way to results."""

    def of(self, value: SSAValue | int) -> Index:
        """
        The index of an SSA value, or of a number.
        """
        return Index.of(value) if isinstance(value, int) else self.known[value]

    def define(self, op: Operation) -> None:
        """
        Evaluate an operation of index arithmetic.
        """
        result = self._evaluate(op)
        self._note(result)
        if self.source is not None and not result.is_atom and result.constant is None:
            name = self.source.assign("i", result.text)
            result = Index(name, result.low, result.high)
        self.known[op.results[0]] = result

    def _evaluate(self, op: Operation) -> Index:
        operands = [self.known[value] for value in op.operands]
        if isinstance(op, arith.ConstantOp):
            return Index.of(cast(IntegerAttr, op.value).value.data)
        if isinstance(op, affine.ApplyOp | affine.MinOp):
            return self._affine(op, operands)
        if (binary := _BINARY.get(type(op))) is not None:
            return binary(*operands)
        if (division := _DIVISIONS.get(type(op))) is not None:
            numerator, divisor = operands
            if divisor.constant is None or divisor.constant < 1:
                raise DiagnosticException(
                    f"{op.name}: expected a positive constant divisor"
                )
            if isinstance(op, _TRUNCATING) and numerator.low < 0:
                raise DiagnosticException(
                    f"{op.name}: expected a numerator of at least 0, got one of at "
                    f"least {numerator.low}; use arith.floordivsi"
                )
            return division(numerator, divisor.constant)
        raise DiagnosticException(f"{op.name}: unsupported index arithmetic")

    def _affine(
        self, op: affine.ApplyOp | affine.MinOp, operands: list[Index]
    ) -> Index:
        dims = operands[: op.map.data.num_dims]
        symbols = operands[op.map.data.num_dims :]
        results = [self._expression(e, dims, symbols) for e in op.map.data.results]
        combined = results[0]
        for result in results[1:]:
            combined = combined.minimum(result)
        return combined

    def _expression(
        self, expr: AffineExpr, dims: list[Index], symbols: list[Index]
    ) -> Index:
        if not isinstance(expr, AffineBinaryOpExpr):
            return _leaf(expr, dims, symbols)
        lhs = self._expression(expr.lhs, dims, symbols)
        rhs = self._expression(expr.rhs, dims, symbols)
        result = _combined(expr, lhs, rhs)
        self._note(result)
        return result

    def _note(self, index: Index) -> None:
        self.greatest = max(self.greatest, abs(index.low), abs(index.high))


def _leaf(expr: AffineExpr, dims: list[Index], symbols: list[Index]) -> Index:
    match expr:
        case AffineConstantExpr():
            return Index.of(expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case _:
            raise DiagnosticException(f"unsupported affine expression {expr}")


def _combined(expr: AffineBinaryOpExpr, lhs: Index, rhs: Index) -> Index:
    if expr.kind is AffineBinaryOpKind.Add:
        return lhs + rhs
    if expr.kind is AffineBinaryOpKind.Mul:
        return lhs * rhs
    if (divisor := rhs.constant) is None or divisor < 1:
        raise DiagnosticException(f"expected a positive divisor in {expr}")
    if expr.kind is AffineBinaryOpKind.FloorDiv:
        return lhs.floordiv(divisor)
    if expr.kind is AffineBinaryOpKind.CeilDiv:
        return lhs.ceildiv(divisor)
    return lhs.modulo(divisor)
