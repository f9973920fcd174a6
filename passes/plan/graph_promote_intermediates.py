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
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.group_analysis import find_group_objection
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.work.vector_step_costs import is_multi_step
from tlf.dialects import graph
from tlf.dialects.dead_operations import erase_dead_operations
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.graph.unary_functions import MathFunctionOperation
from tlf.dialects.interfaces import ElementwiseInterface, splat_attribute_of
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.numerics_attribute import Numerics, numerics_of
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import is_16_bit_float, tensor_type, tensor_type_like
from tlf.passes.graph.pointwise import is_pointwise
from tlf.passes.op_replacement import is_in_planned_group

APPROXIMATE = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""Fast-math flags of promoted functions of 16-bit floats, which may be approximate."""


def promote_operation_to_f32(
    op: ElementwiseInterface, rounds_group_results: bool = False
) -> None:
    """
    Promote an operation on 16-bit floats to f32, and cast its result. Results of the
    group are read unrounded, or rounded with `rounds_group_results`.
    """
    builder = Builder(InsertPoint.before(op))
    program = TensorBuilder(builder, f32)
    operands = [
        _value_in_f32(each, program, rounds_group_results) for each in op.operands
    ]
    (result,) = op.results
    type_ = tensor_type(result)
    wide = (
        tensor_type_like(type_, type_.get_shape(), f32)
        if is_16_bit_float(type_.element_type)
        else type_
    )
    promoted = op.tiled_implementation(operands, [wide])
    if isinstance(promoted, MathFunctionOperation):
        promoted.fastmath = promoted.fastmath or APPROXIMATE
    promoted.location = op.location
    value = builder.insert(promoted).results[0]
    value.name_hint = result.name_hint
    if wide != type_:
        value = builder.insert(graph.CastOp(value, type_.element_type)).result
    replace_op(op, [], [value])


def _value_in_f32(
    value: SSAValue, program: TensorBuilder, rounds_group_results: bool
) -> SSAValue:
    """
    Return a 16-bit float in f32: the value before rounding if available, else a cast.
    """
    element = tensor_type(value).element_type
    if not is_16_bit_float(element):
        return value
    if (before := _value_before_rounding(value, rounds_group_results)) is not None:
        return before
    splat = splat_attribute_of(value)
    if isinstance(splat, FloatAttr):
        type_ = tensor_type(value)
        wide = tensor_type_like(type_, type_.get_shape(), f32)
        return program.insert(graph.ConstantOp.from_splat(splat.value.data, wide))
    return program.promote_to_builder_type(value)


def _value_before_rounding(
    value: SSAValue, rounds_group_results: bool
) -> SSAValue | None:
    """
    Return the f32 operand of the cast that rounds a value, if it can be read instead;
    else None. With `rounds_group_results`, results of the group are read rounded.
    """
    owner = value.owner
    if (
        not isinstance(owner, graph.CastOp)
        or element_type_of_value(owner.operand) != f32
    ):
        return None
    is_result = any(isinstance(use.operation, graph.YieldOp) for use in value.uses)
    return None if rounds_group_results and is_result else owner.operand


def _can_promote_to_f32(op: Operation) -> bool:
    """
    Return `True` if an operation computes with 16-bit floats, and is a single function
    or has no functions of several steps in its body.
    """
    if not is_pointwise(op) or isinstance(op, graph.CastOp) or is_in_planned_group(op):
        return False
    if len(op.results) != 1 or not any(
        is_16_bit_float(element_type_of_value(e)) for e in op.operands
    ):
        return False
    is_function = isinstance(op, MathFunctionOperation)
    return is_function or not any(map(is_multi_step, op.build_scalar_body().ops))


def promote_group_to_f32(
    group: graph.GroupOp, rounds_group_results: bool = False
) -> None:
    """
    Promote the 16-bit intermediates of a group to f32. Results of the group are read
    unrounded inside of it, or rounded with `rounds_group_results`.
    """
    for op in list(group.body.block.ops):
        if _can_promote_to_f32(op) and isinstance(op, ElementwiseInterface):
            promote_operation_to_f32(op, rounds_group_results)
        elif isinstance(op, graph.CastOp) and element_type_of_value(op.result) == f32:
            if (
                before := _value_before_rounding(op.operand, rounds_group_results)
            ) is not None:
                replace_op(op, [], [before])
    erase_dead_operations(group.body)


@dataclass(frozen=True)
class _GroupPromotion:
    """
    Promotion of 16-bit intermediates of groups to f32, if their tiles then fit into a
    level.
    """

    target: TargetSpec
    level: Level

    def promote_group_if_tiles_fit(self, group: graph.GroupOp) -> None:
        """
        Promote a group; if its tiles do not fit, with rounded results; if they still do
        not fit, leave it unchanged.
        """
        for rounds in False, True:
            if self._fits_promoted(group, rounds):
                promote_group_to_f32(group, rounds)
                return

    def _fits_promoted(self, group: graph.GroupOp, rounds_group_results: bool) -> bool:
        """Return `True` if the tiles of a group fit after its promotion."""
        trial = group.clone()
        promote_group_to_f32(trial, rounds_group_results)
        members = members_of_group_op(trial)
        objection = find_group_objection(members, self.level, self.target)
        trial.erase()
        return objection is None


@dataclass(frozen=True)
class GraphPromoteIntermediatesPass(ModulePass):
    """
    Compute 16-bit intermediates of groups in f32, if numerics are relaxed.

    Sums and products are then rounded once, when they are stored or read by a
    contraction. Functions such as the hyperbolic tangent may be approximate, marked by
    `fastmath<afn>`, because some take longer in f32. Operations composed of several
    functions, and groups with a plan, are not changed. With a target, a group whose
    tiles would no longer fit reads its results rounded, or is not changed.
    """

    name = "graph-promote-intermediates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if numerics_of(op, self.name) is not Numerics.RELAXED:
            return
        target = (
            TargetSpec.read_from_module(op) if TargetSpec.is_attached_to(op) else None
        )
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is not None:
                continue
            if target is None:
                promote_group_to_f32(group)
            else:
                _GroupPromotion(
                    target, target.tile_levels[0]
                ).promote_group_if_tiles_fit(group)
