"""
Rewrite of the pass `graph-hoist-scales`: folding of the scale of 16-bit attention
scores into exponentials of differences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import e, inf, log2

from xdsl.builder import Builder
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.types import is_16_bit_float, is_float, tensor_type
from tlf.passes.graph.hoist_scalars.sink_scale import (
    MAX_DEPTH,
    is_exact_scale_of_16_bit_floats,
)
from tlf.passes.op_replacement import is_in_planned_group

SMALL_DIVISOR = 8
"""
Divisor of the element count of scores: values of at most this many elements are
rescaled for other readers.
"""

EXTREMA = (ReduceKind.MAX, ReduceKind.MIN)

SCALE_INVARIANT = (0.0, inf, -inf)
"""Constants that a positive scale leaves unchanged."""


@dataclass
class ScaledScores:
    """
    Scores multiplied by a power of two of at most 1, and the casts to f32 and extrema
    computed from them, for which the scale is exact.
    """

    op: graph.MulOp
    scores_index: int
    """Index of the operand of `op` that is not the constant factor."""
    factor: float
    scaled_operations: dict[SSAValue, Operation] = field(
        default_factory=dict[SSAValue, Operation], init=False
    )
    """
    Scaled values in order of dependence, with the operations that compute them.
    """

    @staticmethod
    def find_in_producers(value: SSAValue) -> ScaledScores | None:
        """Find the scaled scores that a value is computed from, or None."""
        for _ in range(MAX_DEPTH):
            op = value.owner
            if isinstance(op, graph.MulOp):
                return ScaledScores._from_multiplication(op)
            if not isinstance(op, Operation) or not (
                operands := _scalable_operands(op)
            ):
                return None
            value = next(
                (each for each in operands if splat_scalar_of(each) is None),
                operands[0],
            )
        return None

    @staticmethod
    def _from_multiplication(op: graph.MulOp) -> ScaledScores | None:
        """Return `op` as scaled 16-bit scores; `None` unless its factor is exact."""
        if not is_16_bit_float(
            tensor_type(op.result).element_type
        ) or is_in_planned_group(op):
            return None
        for side in (0, 1):
            factor = splat_scalar_of(op.operands[1 - side])
            if (
                factor is None
                or factor <= 0
                or not is_exact_scale_of_16_bit_floats(factor)
            ):
                continue
            if op.operands[side].type == op.result.type:
                return ScaledScores(op, side, float(factor))
        return None

    def collect_scaled_values(self, value: SSAValue, depth: int = MAX_DEPTH) -> bool:
        """
        Return `True` if a value is scaled by the factor, or unchanged by a scale. Add
        the operations that compute scaled values to `made`.
        """
        op = value.owner
        if value in self.scaled_operations or splat_scalar_of(value) in SCALE_INVARIANT:
            return True
        if not isinstance(op, Operation) or not depth or is_in_planned_group(op):
            return False
        if op is not self.op:
            operands = _scalable_operands(op)
            if not operands or not all(
                self.collect_scaled_values(each, depth - 1) for each in operands
            ):
                return False
        self.scaled_operations[value] = op
        return True

    def is_only_reader_of_large_values(self, reader: Operation) -> bool:
        """
        Return `True` if no other operation reads scaled values of more than 1 /
        `SMALL_DIVISOR` of the elements of the scores.
        """
        threshold = tensor_type(self.op.result).element_count() // SMALL_DIVISOR
        large = (
            v
            for v in self.scaled_operations
            if tensor_type(v).element_count() > threshold
        )
        return not any(self._other_readers(value, reader) for value in large)

    def let_reader_use_unscaled_values(self, reader: Operation) -> None:
        """Let `reader` read the unscaled values, and other operations rescaled ones."""
        unscaled: dict[SSAValue, SSAValue] = {}
        for value, op in self.scaled_operations.items():
            if op is self.op:
                unscaled[value] = op.operands[self.scores_index]
                continue
            copy = op.clone()
            Rewriter.insert_op(copy, InsertPoint.after(op))
            copy.operands = [unscaled.get(each, each) for each in op.operands]
            unscaled[value] = copy.results[0]
            if readers := self._other_readers(value, reader):
                self._rescale_for_readers(readers, value, copy.results[0])
        reader.operands = [unscaled.get(each, each) for each in reader.operands]
        for value, op in reversed(self.scaled_operations.items()):
            if not value.uses:
                Rewriter.erase_op(op)

    def _other_readers(self, value: SSAValue, reader: Operation) -> list[Operation]:
        """
        Return the users of a value, except `reader` and the operations that compute
        scaled values.
        """
        excluded = {reader, *self.scaled_operations.values()}
        readers = (use.operation for use in value.uses)
        return [each for each in readers if each not in excluded]

    def _rescale_for_readers(
        self, other_readers: list[Operation], value: SSAValue, unscaled: SSAValue
    ) -> None:
        """Let `other_readers` read `unscaled` times the factor instead of `value`."""
        producer = unscaled.owner
        assert isinstance(producer, Operation)
        builder = Builder(InsertPoint.after(producer))
        scaled = multiply_by_constant(unscaled, self.factor, builder)
        value.replace_uses_with_if(scaled, lambda use: use.operation in other_readers)


def fold_scale_into_exp(op: graph.ExpOp) -> graph.Exp2Op | None:
    """
    Fold the scale of scores into an exponential of their difference, and change its
    base to 2. Return the new operation; None if the pattern does not match.
    """
    difference = op.operand.owner
    if not isinstance(difference, graph.SubOp) or not op.operand.has_one_use():
        return None
    if tensor_type(op.result).element_type != f32 or is_in_planned_group(op):
        return None
    scores = ScaledScores.find_in_producers(difference.lhs)
    if scores is None or not all(
        map(scores.collect_scaled_values, difference.operands)
    ):
        return None
    if not scores.scaled_operations or not scores.is_only_reader_of_large_values(
        difference
    ):
        return None
    scores.let_reader_use_unscaled_values(difference)
    builder = Builder(InsertPoint.before(op))
    exponent = multiply_by_constant(difference.result, scores.factor * log2(e), builder)
    exp2 = graph.Exp2Op(exponent)
    exp2.location = op.location
    exp2.result.name_hint = op.result.name_hint
    replace_op(op, exp2)
    return exp2


def multiply_by_constant(value: SSAValue, factor: float, builder: Builder) -> SSAValue:
    """Return a value times a constant."""
    program = TensorBuilder(builder, tensor_type(value).element_type)
    return program.mul(value, program.constant(factor))


def _scalable_operands(op: Operation) -> tuple[SSAValue, ...]:
    """
    Return the operands that must be scaled for the result to be scaled; none for
    unsupported operations. Selects are not supported: kernels with masks took 4 %
    longer without the product.
    """
    match op:
        case graph.CastOp() if _is_float_cast_to_f32(op):
            return (op.operand,)
        case graph.ReduceOp() if op.init_value is None and op.reduce_kind in EXTREMA:
            return (op.operand,)
        case graph.ReshapeOp():
            return (op.operand,)
        case graph.MaximumOp() | graph.MinimumOp():
            return tuple(op.operands)
        case _:
            return ()


def _is_float_cast_to_f32(op: graph.CastOp) -> bool:
    element = tensor_type(op.operand).element_type
    return tensor_type(op.result).element_type == f32 and is_float(element)
