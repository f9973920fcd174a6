"""
Rewrite of the pass `graph-hoist-scales`: sinking of a constant scale of a contraction's
result into its operands, and the search for the cheapest operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import frexp, inf

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    TilingInterface,
)
from tlf.dialects.types import is_16_bit_float, is_float, tensor_type
from tlf.passes.graph.hoist_scalars.scaled_part import (
    ScaledOperand,
    find_scalable_operands,
    find_weights_before_slice,
)
from tlf.passes.op_replacement import is_in_planned_group

MIN_EXPONENT = -8
"""
Exclusive lower bound of the `frexp` exponent of scales of 16-bit operands: smaller
scales might make too many elements denormal, and lose digits.
"""

MAX_DEPTH = 64
"""Maximum number of operations that a scale moves across."""


@dataclass(frozen=True)
class ResultScale:
    """
    A multiplication or division of a contraction's result, or of a cast of it, by a
    constant.
    """

    op: graph.MulOp | graph.DivOp
    result_index: int
    """Index of the operand of `op` that is the result; the other is the constant."""
    contraction: ContractionInterface
    factor: float

    @staticmethod
    def from_operation(op: Operation) -> ResultScale | None:
        """Return an operation as the scale of a contraction's result, or None."""
        if not isinstance(op, graph.MulOp | graph.DivOp) or is_in_planned_group(op):
            return None
        if not is_float(tensor_type(op.result).element_type):
            return None
        for side in (0,) if isinstance(op, graph.DivOp) else (0, 1):
            factor = _scale_constant_of(op.operands[1 - side])
            contraction = _single_use_contraction_before(op.operands[side])
            is_whole = op.operands[side].type == op.result.type
            if is_whole and factor is not None and contraction is not None:
                return ResultScale(op, side, contraction, factor)
        return None

    @property
    def multiplication_count(self) -> int:
        """Number of multiplications that the scale takes."""
        return tensor_type(self.op.result).element_count()

    def is_exact_at(self, placement: ScalePlacement) -> bool:
        """
        Return `True` if scaling some operands instead is as exact: for operands of
        16-bit floats if `is_exact_scale_of_16_bit_floats` of the factor, and for wider
        ones always.
        """
        scaled = [each.op.operands[each.index] for each in placement.scaled_operands]
        values = [self.contraction.operands[0], *scaled]
        if not any(is_16_bit_float(tensor_type(each).element_type) for each in values):
            return True
        is_quotient = isinstance(self.op, graph.DivOp)
        return is_exact_scale_of_16_bit_floats(
            1 / self.factor if is_quotient else self.factor
        )

    def multiply_operand_by_scale(self, operand: ScaledOperand) -> Sequence[Operation]:
        """
        Multiply or divide an operand by the constant, with new operations before its
        reader. Return these, in program order.
        """
        builder = Builder(InsertPoint.before(operand.op))
        factor = operand.build_factor(builder, self.factor)
        value = operand.op.operands[operand.index]
        scaled = builder.insert(type(self.op)(value, factor))
        scaled.location = self.op.location
        operand.op.operands[operand.index] = scaled.result
        constant = factor.owner
        return [constant, scaled] if isinstance(constant, Operation) else [scaled]


def is_exact_scale_of_16_bit_floats(scale: float) -> bool:
    """
    Return `True` if scaling 16-bit floats is exact: the scale is a power of two of at
    most 1, with an exponent above `MIN_EXPONENT`.
    """
    fraction, exponent = frexp(scale)
    return abs(fraction) == 0.5 and MIN_EXPONENT < exponent <= 1


@dataclass(frozen=True)
class ScalePlacement:
    """Operands to scale instead of a result."""

    multiplication_count: float
    """Number of multiplications per call: 0 for call-invariant values."""
    scaled_operands: tuple[ScaledOperand, ...]


def find_scale_placement(
    op: Operation,
    operand_index: int,
    invariant: AbstractSet[SSAValue],
    depth: int = MAX_DEPTH,
) -> ScalePlacement:
    """
    Return the placement of an operand's scale that takes the fewest multiplications.
    """
    value = op.operands[operand_index]
    if value in invariant:
        operand = ScaledOperand(op, operand_index).before_broadcasts
        return ScalePlacement(0, (operand,))
    producer = value.owner
    # The scale fuses with an operation that computes elements; other producers would
    # need an additional operation.
    is_computed = isinstance(producer, ElementwiseInterface | ContractionInterface)
    cost = tensor_type(value).element_count() if is_computed else inf
    here = ScalePlacement(cost, (ScaledOperand(op, operand_index),))
    if not isinstance(producer, Operation) or not value.has_one_use() or not depth:
        return here
    candidates = _scale_placements_before_result(producer, invariant, depth - 1)
    return min((here, *candidates), key=lambda each: each.multiplication_count)


def _scale_placements_before_result(
    op: Operation, invariant: AbstractSet[SSAValue], depth: int
) -> Iterator[ScalePlacement]:
    """Yield the placements of a result's scale in the operands of the operation."""
    if is_in_planned_group(op) or not is_float(tensor_type(op.results[0]).element_type):
        return
    if isinstance(op, graph.AddOp | graph.SubOp):
        both = [find_scale_placement(op, side, invariant, depth) for side in range(2)]
        yield ScalePlacement(
            sum(each.multiplication_count for each in both),
            tuple(operand for each in both for operand in each.scaled_operands),
        )
    elif isinstance(op, graph.CastOp):
        if is_float(tensor_type(op.operand).element_type):
            yield find_scale_placement(op, 0, invariant, depth)
    elif isinstance(op, TilingInterface):
        for operand in find_scalable_operands(op):
            yield find_scale_placement(op, operand, invariant, depth)
        if isinstance(op, graph.SliceOp):
            if weights := find_weights_before_slice(op, invariant, depth):
                yield ScalePlacement(0, tuple(weights))


def _single_use_contraction_before(value: SSAValue) -> ContractionInterface | None:
    """
    Return the contraction that computes a value, possibly followed by casts, if each of
    these results has one use; else None.
    """
    while isinstance(value.owner, graph.CastOp) and value.has_one_use():
        value = value.owner.operand
    contraction = value.owner
    if not isinstance(contraction, ContractionInterface) or not value.has_one_use():
        return None
    return (
        None
        if contraction.init_value is not None or is_in_planned_group(contraction)
        else contraction
    )


def _scale_constant_of(value: SSAValue) -> float | None:
    """Return the splat value of a constant if it is finite and not 0; else None."""
    owner = value.owner
    if (
        not isinstance(owner, graph.ConstantOp)
        or (splat := owner.splat_attribute()) is None
    ):
        return None
    number = float(splat.value.data)
    return number if number and abs(number) < float("inf") else None
