"""Scales of 16-bit scores, which exponentials of differences take instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import e, inf, log2

from xdsl.builder import Builder
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.splats import splat_of
from tlf.dialects.replacement import is_planned
from tlf.dialects.rewriting import replace_op
from tlf.dialects.types import is_float, is_half, tensor_type
from tlf.passes.graph.hoist_scalars.absorbed import DEPTH, rounds_nothing

SMALL = 8
"""
Divisor of the element count of scores: values of at most so many elements are scaled
for other readers.
"""

EXTREMA = (ReduceKind.MAX, ReduceKind.MIN)

UNSCALED = (0.0, inf, -inf)
"""Numbers that are what they are times another one."""


@dataclass
class ScaledScores:
    """
    Scores that are multiplied by a power of two of at most 1, and what casts to
    f32 and extrema make of them: all of it is scaled by that, with no rounding.
    """

    op: graph.MulOp
    side: int
    """Index of the operand of `op` that is not the number."""
    number: float
    made: dict[SSAValue, Operation] = field(
        default_factory=dict[SSAValue, Operation], init=False
    )
    """The scaled values that were asked for, operands first, and what makes them."""

    @staticmethod
    def below(value: SSAValue) -> ScaledScores | None:
        """The scores that a value is made of, where these come first."""
        for _ in range(DEPTH):
            op = value.owner
            if isinstance(op, graph.MulOp):
                return ScaledScores._of(op)
            if not isinstance(op, Operation) or not (parts := _parts(op)):
                return None
            value = next((each for each in parts if splat_of(each) is None), parts[0])
        return None

    @staticmethod
    def _of(op: graph.MulOp) -> ScaledScores | None:
        if not is_half(tensor_type(op.result).element_type) or is_planned(op):
            return None
        for side in (0, 1):
            number = splat_of(op.operands[1 - side])
            if number is None or number <= 0 or not rounds_nothing(number):
                continue
            if op.operands[side].type == op.result.type:
                return ScaledScores(op, side, float(number))
        return None

    def make(self, value: SSAValue, depth: int = DEPTH) -> bool:
        """
        Return `True` if a value is scaled by the number, or unchanged by the scale.
        Record in `made` the operations that compute such values.
        """
        op = value.owner
        if value in self.made or splat_of(value) in UNSCALED:
            return True
        if not isinstance(op, Operation) or not depth or is_planned(op):
            return False
        if op is not self.op:
            parts = _parts(op)
            if not parts or not all(self.make(each, depth - 1) for each in parts):
                return False
        self.made[value] = op
        return True

    def is_apart(self, reader: Operation) -> bool:
        """
        Return `True` if no other operation reads values about as large as the scores.
        """
        least = tensor_type(self.op.result).element_count() // SMALL
        large = (v for v in self.made if tensor_type(v).element_count() > least)
        return not any(self._others(value, reader) for value in large)

    def unscale(self, reader: Operation) -> None:
        """Let an operation read what is not scaled, and others the same, scaled."""
        unscaled: dict[SSAValue, SSAValue] = {}
        for value, op in self.made.items():
            if op is self.op:
                unscaled[value] = op.operands[self.side]
                continue
            copy = op.clone()
            Rewriter.insert_op(copy, InsertPoint.after(op))
            copy.operands = [unscaled.get(each, each) for each in op.operands]
            unscaled[value] = copy.results[0]
            if others := self._others(value, reader):
                self._scale_for(others, value, copy.results[0])
        reader.operands = [unscaled.get(each, each) for each in reader.operands]
        for value, op in reversed(self.made.items()):
            if not value.uses:
                Rewriter.erase_op(op)

    def _others(self, value: SSAValue, reader: Operation) -> list[Operation]:
        """
        Return the readers of a value other than an operation and those that compute
        further scaled values.
        """
        inside = {reader, *self.made.values()}
        readers = (use.operation for use in value.uses)
        return [each for each in readers if each not in inside]

    def _scale_for(
        self, others: list[Operation], value: SSAValue, unscaled: SSAValue
    ) -> None:
        made = unscaled.owner
        assert isinstance(made, Operation)
        builder = Builder(InsertPoint.after(made))
        scaled = scaled_by(unscaled, self.number, builder)
        value.replace_uses_with_if(scaled, lambda use: use.operation in others)


def take_scale(op: graph.ExpOp) -> graph.Exp2Op | None:
    """
    Let an exponential of a difference of scaled scores take their scale, which is one
    product for both and for the base of exponentials. Returns what it becomes.
    """
    difference = op.operand.owner
    if not isinstance(difference, graph.SubOp) or not op.operand.has_one_use():
        return None
    if tensor_type(op.result).element_type != f32 or is_planned(op):
        return None
    scores = ScaledScores.below(difference.lhs)
    if scores is None or not all(map(scores.make, difference.operands)):
        return None
    if not scores.made or not scores.is_apart(difference):
        return None
    scores.unscale(difference)
    builder = Builder(InsertPoint.before(op))
    exponent = scaled_by(difference.result, scores.number * log2(e), builder)
    made = graph.Exp2Op(exponent)
    made.location = op.location
    made.result.name_hint = op.result.name_hint
    replace_op(op, made)
    return made


def scaled_by(value: SSAValue, number: float, builder: Builder) -> SSAValue:
    """A value times a number."""
    program = TensorProgram(builder, tensor_type(value).element_type)
    return program.mul(value, program.number(number))


def _parts(op: Operation) -> tuple[SSAValue, ...]:
    """
    The operands that have to be scaled if a result is to be; none if it cannot. Choices
    by conditions are left out: kernels with masks took 4 % longer without the product.
    """
    match op:
        case graph.CastOp() if _widens(op):
            return (op.operand,)
        case graph.ReduceOp() if op.init_value is None and op.combination in EXTREMA:
            return (op.operand,)
        case graph.ReshapeOp():
            return (op.operand,)
        case graph.MaximumOp() | graph.MinimumOp():
            return tuple(op.operands)
        case _:
            return ()


def _widens(op: graph.CastOp) -> bool:
    element = tensor_type(op.operand).element_type
    return tensor_type(op.result).element_type == f32 and is_float(element)
