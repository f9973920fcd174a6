"""
Emission of index expressions in Triton code: Python text of `index` values with their
value ranges and divisors.

The ranges decide whether an access needs a mask and whether offsets need 64 bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import cast

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind
from xdsl.utils.exceptions import DiagnosticException

from tlf.lowering.mem_to_triton.python_source import PythonSource
from tlf.support.affine.affine_expressions import evaluate_expression


@dataclass(frozen=True)
class IndexExpr:
    """An index expression: its Python text, and its minimum and maximum value."""

    text: str
    low: int
    high: int
    is_atom: bool = True
    divisor: int = 1
    """Number that every value is a multiple of; 0 for the constant 0."""

    @staticmethod
    def of_constant(value: int) -> "IndexExpr":
        return IndexExpr(str(value), value, value, value >= 0, abs(value))

    @staticmethod
    def of_sum(terms: Sequence[tuple["IndexExpr", int]]) -> "IndexExpr":
        """Return the sum of scaled terms, with the sum of all constants at the end."""
        constant = sum(
            each.low * factor for each, factor in terms if each.constant is not None
        )
        varying = [(e, factor) for e, factor in terms if e.constant is None and factor]
        if not varying:
            return IndexExpr.of_constant(constant)
        ends = [sorted((e.low * factor, e.high * factor)) for e, factor in varying]
        texts = [e.scaled_text(factor) for e, factor in varying]
        text = " + ".join(texts)
        if constant:
            text += f" {'-' if constant < 0 else '+'} {abs(constant)}"
        return IndexExpr(
            text,
            sum(low for low, _ in ends) + constant,
            sum(high for _, high in ends) + constant,
            is_atom=[text] == [e.text for e, _ in varying if e.is_atom],
            divisor=gcd(constant, *(e.divisor * factor for e, factor in varying)),
        )

    def scaled_text(self, factor: int) -> str:
        """Return the text of the product with a factor, as a term of a sum."""
        return self.text if factor == 1 else f"{self.parenthesised_text} * {factor}"

    def bind_to_variable(self, name: str) -> "IndexExpr":
        """Return the expression of a variable that the expression is assigned to."""
        return replace(self, text=name, is_atom=True)

    def is_multiple_of(self, number: int) -> bool:
        """Return `True` if all values are known to be multiples of a number."""
        return self.divisor % number == 0

    @property
    def constant(self) -> int | None:
        """The value, if it is constant; otherwise `None`."""
        return self.low if self.low == self.high else None

    @property
    def parenthesised_text(self) -> str:
        """Text of the expression, parenthesised unless it is an atom."""
        return self.text if self.is_atom else f"({self.text})"

    def __add__(self, other: "IndexExpr") -> "IndexExpr":
        low, high = self.low + other.low, self.high + other.high
        if low == high:
            return IndexExpr.of_constant(low)
        if self.constant == 0:
            return other
        if other.constant == 0:
            return self
        divisor = gcd(self.divisor, other.divisor)
        if other.constant is not None and other.low < 0:
            return IndexExpr(f"{self.text} - {-other.low}", low, high, False, divisor)
        text = f"{self.text} + {other.parenthesised_text}"
        return IndexExpr(text, low, high, False, divisor)

    def __sub__(self, other: "IndexExpr") -> "IndexExpr":
        low, high = self.low - other.high, self.high - other.low
        if low == high:
            return IndexExpr.of_constant(low)
        if other.constant is not None:
            return self + IndexExpr.of_constant(-other.low)
        text = f"{self.text} - {other.parenthesised_text}"
        return IndexExpr(text, low, high, False, gcd(self.divisor, other.divisor))

    def __mul__(self, other: "IndexExpr") -> "IndexExpr":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        if min(ends) == max(ends):
            return IndexExpr.of_constant(min(ends))
        if self.constant == 1:
            return other
        if other.constant == 1:
            return self
        return IndexExpr(
            f"{self.parenthesised_text} * {other.parenthesised_text}",
            min(ends),
            max(ends),
            False,
            self.divisor * other.divisor,
        )

    def floordiv(self, divisor: int) -> "IndexExpr":
        """Return the quotient by a positive `divisor`, rounded down also below 0."""
        low, high = self.low // divisor, self.high // divisor
        if low == high:
            return IndexExpr.of_constant(low)
        if divisor == 1:
            return self
        exact = 1 if self.divisor % divisor else self.divisor // divisor
        if self.low >= 0:
            text = f"{self.parenthesised_text} // {divisor}"
            return IndexExpr(text, low, high, False, exact)
        # Division in Triton truncates towards zero.
        multiple = (
            f"{self.parenthesised_text} - ({self.parenthesised_text} % "
            f"{divisor} + {divisor}) % {divisor}"
        )
        return IndexExpr(f"({multiple}) // {divisor}", low, high, False, exact)

    def ceildiv(self, divisor: int) -> "IndexExpr":
        return (self + IndexExpr.of_constant(divisor - 1)).floordiv(divisor)

    def modulo(self, divisor: int) -> "IndexExpr":
        """Return the non-negative remainder of division by a positive `divisor`."""
        if self.low >= 0 and self.high < divisor:
            return self
        if (value := self.constant) is not None:
            return IndexExpr.of_constant(value % divisor)
        if self.divisor % divisor == 0:
            return IndexExpr.of_constant(0)
        if (common := gcd(self.divisor, divisor)) > 1:
            # Triton knows of a multiple of a constant that it is divisible by it.
            quotient = self.floordiv(common).modulo(divisor // common)
            return quotient * IndexExpr.of_constant(common)
        text = f"{self.parenthesised_text} % {divisor}"
        if self.low < 0:
            text = f"({text} + {divisor}) % {divisor}"
        return IndexExpr(text, 0, divisor - 1, False)

    def minimum(self, other: "IndexExpr") -> "IndexExpr":
        """Return the smaller expression if ranges decide, or else a `tl.minimum`."""
        if self.high <= other.low:
            return self
        if other.high <= self.low:
            return other
        low, high = min(self.low, other.low), min(self.high, other.high)
        text, divisor = self._call("minimum", other), gcd(self.divisor, other.divisor)
        return IndexExpr(text, low, high, divisor=divisor)

    def maximum(self, other: "IndexExpr") -> "IndexExpr":
        """Return the larger expression if ranges decide, or else a `tl.maximum`."""
        if self.low >= other.high:
            return self
        if other.low >= self.high:
            return other
        low, high = max(self.low, other.low), max(self.high, other.high)
        text, divisor = self._call("maximum", other), gcd(self.divisor, other.divisor)
        return IndexExpr(text, low, high, divisor=divisor)

    def _call(self, function: str, other: "IndexExpr") -> str:
        """Return the text of a call of a Triton function."""
        return f"tl.{function}({self.text}, {other.text})"


_Binary = Callable[[IndexExpr, IndexExpr], IndexExpr]

_BINARY: dict[type[Operation], _Binary] = {
    arith.AddiOp: IndexExpr.__add__,
    arith.SubiOp: IndexExpr.__sub__,
    arith.MuliOp: IndexExpr.__mul__,
    arith.MinSIOp: IndexExpr.minimum,
    arith.MaxSIOp: IndexExpr.maximum,
}

_DIVISIONS: dict[type[Operation], Callable[[IndexExpr, int], IndexExpr]] = {
    arith.FloorDivSIOp: IndexExpr.floordiv,
    arith.CeilDivSIOp: IndexExpr.ceildiv,
    arith.DivSIOp: IndexExpr.floordiv,
    arith.DivUIOp: IndexExpr.floordiv,
    arith.RemSIOp: IndexExpr.modulo,
    arith.RemUIOp: IndexExpr.modulo,
}

_TRUNCATING = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)

INDEX_OPERATIONS: tuple[type[Operation], ...] = (
    *_BINARY,
    *_DIVISIONS,
    arith.ConstantOp,
    affine.ApplyOp,
    affine.MinOp,
)
"""Index operations that `IndexTable.define` supports."""


@dataclass
class IndexTable:
    """
    Index expressions of the SSA values evaluated so far. With a `source`, results that
    are not atoms are assigned to variables.
    """

    source: PythonSource | None = None
    expressions: dict[SSAValue, IndexExpr] = field(
        default_factory=dict[SSAValue, IndexExpr]
    )
    max_magnitude: int = 0
    """Maximum magnitude of all results and intermediate values."""

    def expression_of(self, value: SSAValue | int) -> IndexExpr:
        """
        Return the recorded expression of an SSA value, or the expression of an integer.
        """
        return (
            IndexExpr.of_constant(value)
            if isinstance(value, int)
            else self.expressions[value]
        )

    def evaluate_and_record(self, op: Operation) -> None:
        """
        Record the expression of the result of an index operation; a kernel first
        assigns a compound one to a variable.
        """
        result = self._evaluate_index_operation(op)
        self._record_magnitude(result)
        if self.source is not None and not result.is_atom and result.constant is None:
            result = result.bind_to_variable(
                self.source.assign_variable("i", result.text)
            )
        self.expressions[op.results[0]] = result

    def _evaluate_index_operation(self, op: Operation) -> IndexExpr:
        """Return the expression of an `arith` or `affine` operation's index result."""
        operands = [self.expressions[value] for value in op.operands]
        if isinstance(op, arith.ConstantOp):
            return IndexExpr.of_constant(cast(IntegerAttr, op.value).value.data)
        if isinstance(op, affine.ApplyOp | affine.MinOp):
            return self._evaluate_affine(op, operands)
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

    def _evaluate_affine(
        self, op: affine.ApplyOp | affine.MinOp, operands: list[IndexExpr]
    ) -> IndexExpr:
        """Return the value of an `affine.apply`, or the minimum of an `affine.min`."""
        dims = operands[: op.map.data.num_dims]
        symbols = operands[op.map.data.num_dims :]
        results = [
            evaluate_expression(
                each, dims, symbols, IndexExpr.of_constant, self._evaluate_affine_binary
            )
            for each in op.map.data.results
        ]
        combined = results[0]
        for result in results[1:]:
            combined = combined.minimum(result)
        return combined

    def _evaluate_affine_binary(
        self, expr: AffineBinaryOpExpr, lhs: IndexExpr, rhs: IndexExpr
    ) -> IndexExpr:
        result = _affine_binary_expression(expr, lhs, rhs)
        self._record_magnitude(result)
        return result

    def _record_magnitude(self, index: IndexExpr) -> None:
        self.max_magnitude = max(self.max_magnitude, abs(index.low), abs(index.high))


def _affine_binary_expression(
    expr: AffineBinaryOpExpr, lhs: IndexExpr, rhs: IndexExpr
) -> IndexExpr:
    """Return the expression of an affine binary node; divisors must be positive."""
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
