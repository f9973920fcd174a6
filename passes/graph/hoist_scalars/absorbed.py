"""Numbers that the result of a contraction is scaled by, and its operands instead."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import frexp, inf

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    TilingInterface,
)
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import is_float, is_half, tensor_type

LEAST_EXPONENT = -8
"""
16-bit operands take no number below two to this: too many of their elements might
become denormal, and lose places.
"""

DEPTH = 64
"""Through so many operations, one behind the other, a factor may move."""


@dataclass(frozen=True)
class Scaling:
    """A contraction whose result, perhaps cast, is scaled by a number."""

    op: graph.MulOp | graph.DivOp
    side: int
    """Index of the operand of `op` that is the result; the other one is the number."""
    contraction: ContractionInterface
    number: float

    @staticmethod
    def of(op: Operation) -> Scaling | None:
        """The scaling that an operation is, if it is one."""
        if not isinstance(op, graph.MulOp | graph.DivOp) or is_planned(op):
            return None
        if not is_float(tensor_type(op.result).element_type):
            return None
        for side in (0,) if isinstance(op, graph.DivOp) else (0, 1):
            number = _number(op.operands[1 - side])
            contraction = _contraction(op.operands[side])
            is_whole = op.operands[side].type == op.result.type
            if is_whole and number is not None and contraction is not None:
                return Scaling(op, side, contraction, number)
        return None

    @property
    def elements(self) -> int:
        """Number of products that the scaling takes."""
        return tensor_type(self.op.result).element_count()

    @property
    def is_exact(self) -> bool:
        """
        True if operands can take the number as exactly as the result: 16-bit floats a
        power of two that makes nothing larger nor much smaller, and those as wide as
        the sum any number.
        """
        if not is_half(tensor_type(self.contraction.operands[0]).element_type):
            return True
        is_quotient = isinstance(self.op, graph.DivOp)
        return rounds_nothing(1 / self.number if is_quotient else self.number)

    def apply_to(self, op: Operation, operand: int) -> None:
        """Scale an operand of an operation."""
        value = op.operands[operand]
        builder = Builder(InsertPoint.before(op))
        program = TensorProgram(builder, tensor_type(value).element_type)
        made = builder.insert(type(self.op)(value, program.number(self.number)))
        made.location = self.op.location
        op.operands[operand] = made.result


def rounds_nothing(number: float) -> bool:
    """
    Return `True` if 16-bit floats times a number are exact: it is a power of two that
    makes nothing larger nor much smaller.
    """
    fraction, exponent = frexp(number)
    return abs(fraction) == 0.5 and LEAST_EXPONENT < exponent <= 1


@dataclass(frozen=True)
class Placement:
    """Operands of operations that all take a factor, so that a result has it."""

    cost: float
    """
    Number of products that it takes: none for values that are known before a call.
    """
    places: tuple[tuple[Operation, int], ...]


def placement(
    op: Operation, operand: int, invariant: AbstractSet[SSAValue], depth: int = DEPTH
) -> Placement:
    """Return the placement of a factor of an operand that takes the fewest products."""
    value = op.operands[operand]
    if value in invariant:
        return Placement(0, ((op, operand),))
    before = value.owner
    # What computes each element can scale it, too; others would need one more.
    is_computed = isinstance(before, ElementwiseInterface | ContractionInterface)
    cost = tensor_type(value).element_count() if is_computed else inf
    here = Placement(cost, ((op, operand),))
    if not isinstance(before, Operation) or not value.has_one_use() or not depth:
        return here
    found = _through(before, invariant, depth - 1)
    return min((here, *found), key=lambda each: each.cost)


def _through(
    op: Operation, invariant: AbstractSet[SSAValue], depth: int
) -> Iterator[Placement]:
    """The ways in which the operands of an operation take a factor of its result."""
    if is_planned(op) or not is_float(tensor_type(op.results[0]).element_type):
        return
    if isinstance(op, graph.AddOp | graph.SubOp):
        both = [placement(op, side, invariant, depth) for side in range(2)]
        yield Placement(
            sum(each.cost for each in both),
            tuple(place for each in both for place in each.places),
        )
    elif isinstance(op, graph.CastOp):
        if is_float(tensor_type(op.operand).element_type):
            yield placement(op, 0, invariant, depth)
    elif isinstance(op, TilingInterface) and not _starts_elsewhere(op):
        for operand in op.linear_in():
            if op.border(operand) in (None, 0):
                yield placement(op, operand, invariant, depth)


def _starts_elsewhere(op: TilingInterface) -> bool:
    return isinstance(op, AccumulatingInterface) and op.init_value is not None


def _contraction(value: SSAValue) -> ContractionInterface | None:
    """The contraction that nothing but a scaling uses, through casts."""
    while isinstance(value.owner, graph.CastOp) and value.has_one_use():
        value = value.owner.operand
    found = value.owner
    if not isinstance(found, ContractionInterface) or not value.has_one_use():
        return None
    return None if found.init_value is not None or is_planned(found) else found


def _number(value: SSAValue) -> float | None:
    """The one finite number other than 0 that a constant holds."""
    owner = value.owner
    if not isinstance(owner, graph.ConstantOp) or (found := owner.splat()) is None:
        return None
    number = float(found.value.data)
    return number if number and abs(number) < float("inf") else None
