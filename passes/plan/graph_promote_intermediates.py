"""
Pass `graph-promote-intermediates`: computes 16-bit intermediates of groups in f32.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import region_dce

from tlf.analysis.tiling.group_analysis import group_objection
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.work.vector_step_costs import is_multi_step
from tlf.dialects import graph
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.unary_functions import MathFunctionOperation
from tlf.dialects.interfaces import ConstantInterface, ElementwiseInterface
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.numerics import Numerics, numerics_of
from tlf.dialects.op_replacement import is_in_planned_group
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import is_16_bit_float, tensor_type, type_like
from tlf.passes.graph.pointwise import is_pointwise

APPROXIMATE = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""Fast-math flags of functions of 16-bit floats, which need not be more exact."""


def promote_operation(op: ElementwiseInterface, rounds: bool = False) -> None:
    """
    Promote an operation on 16-bit floats to f32, and cast its result. What a group
    leaves in memory it reads as it was, or else as the group `rounds` it.
    """
    builder = Builder(InsertPoint.before(op))
    program = TensorBuilder(builder, f32)
    operands = [_promote_value(each, program, rounds) for each in op.operands]
    (result,) = op.results
    type_ = tensor_type(result)
    wide = (
        type_like(type_, type_.get_shape(), f32)
        if is_16_bit_float(type_.element_type)
        else type_
    )
    made = op.tiled_implementation(operands, [wide])
    if isinstance(made, MathFunctionOperation):
        made.fastmath = made.fastmath or APPROXIMATE
    made.location = op.location
    value = builder.insert(made).results[0]
    value.name_hint = result.name_hint
    if wide != type_:
        value = builder.insert(graph.CastOp(value, type_.element_type)).result
    replace_op(op, [], [value])


def _promote_value(value: SSAValue, program: TensorBuilder, rounds: bool) -> SSAValue:
    """
    Return a 16-bit float in f32: as it was before it was rounded, if that is known.
    """
    element, owner = tensor_type(value).element_type, value.owner
    if not is_16_bit_float(element):
        return value
    if (before := _value_before_rounding(value, rounds)) is not None:
        return before
    number = owner.splat_value() if isinstance(owner, ConstantInterface) else None
    if isinstance(number, FloatAttr):
        type_ = tensor_type(value)
        wide = type_like(type_, type_.get_shape(), f32)
        return program.insert(graph.ConstantOp.from_splat(number.value.data, wide))
    return program.promote(value)


def _value_before_rounding(value: SSAValue, rounds: bool) -> SSAValue | None:
    """
    Return the f32 value that a cast rounded, if it is to be read instead; else None.
    """
    owner = value.owner
    if not isinstance(owner, graph.CastOp) or _element_type_of(owner.operand) != f32:
        return None
    is_left = any(isinstance(use.operation, graph.YieldOp) for use in value.uses)
    return None if rounds and is_left else owner.operand


def _element_type_of(value: SSAValue) -> Attribute:
    return tensor_type(value).element_type


def _can_promote(op: Operation) -> bool:
    """
    Return `True` if an operation computes with 16-bit floats, and is not composed of
    several functions.
    """
    if not is_pointwise(op) or isinstance(op, graph.CastOp) or is_in_planned_group(op):
        return False
    if len(op.results) != 1 or not any(
        is_16_bit_float(_element_type_of(e)) for e in op.operands
    ):
        return False
    is_function = isinstance(op, MathFunctionOperation)
    return is_function or not any(map(is_multi_step, op.scalar_body().ops))


def promote_group(group: graph.GroupOp, rounds: bool = False) -> None:
    """
    Promote the 16-bit intermediates of a group to f32. What it leaves in memory it
    reads as it was before it was rounded, or else as it `rounds` it.
    """
    for op in list(group.body.block.ops):
        if _can_promote(op) and isinstance(op, ElementwiseInterface):
            promote_operation(op, rounds)
        elif isinstance(op, graph.CastOp) and _element_type_of(op.result) == f32:
            if (before := _value_before_rounding(op.operand, rounds)) is not None:
                replace_op(op, [], [before])
    region_dce(group.body)


@dataclass(frozen=True)
class _GroupPromotion:
    """Promotes groups as far as their tiles fit into a level."""

    target: TargetSpec
    level: Level

    def apply(self, group: graph.GroupOp) -> None:
        """Promote a group, rounding results that it reads itself if need be."""
        for rounds in False, True:
            trial = group.clone()
            promote_group(trial, rounds)
            if (
                group_objection(members_of_group_op(trial), self.level, self.target)
                is None
            ):
                promote_group(group, rounds)
                return


@dataclass(frozen=True)
class GraphPromoteIntermediatesPass(ModulePass):
    """
    Let groups compute in f32 with 16-bit floats that they neither read nor leave in
    memory, where numerics are relaxed: sums and products are then rounded once, when
    they are stored or multiplied as matrices. Functions such as the hyperbolic tangent
    may be approximate, as `fastmath<afn>` says: in f32 some take longer. What is made
    of functions stays as it is, as do groups with a plan. With a target, groups stay
    what tiles can be chosen for: they read results as they round them, or stay as they
    are, where they could not be tiled otherwise.
    """

    name = "graph-promote-intermediates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if numerics_of(op, self.name) is not Numerics.RELAXED:
            return
        target = TargetSpec.of(op) if TargetSpec.is_attached_to(op) else None
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is not None:
                continue
            if target is None:
                promote_group(group)
            else:
                _GroupPromotion(target, target.tile_levels[0]).apply(group)
