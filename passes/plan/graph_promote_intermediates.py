"""Computing with 16-bit floats in f32, as long as they stay in one group."""

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

from tlf.analysis.tiling.group import misfit
from tlf.analysis.tiling.group_members import members_of_group
from tlf.analysis.work.steps import is_slow
from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.functions import FunctionOperation
from tlf.dialects.interfaces import ConstantInterface, ElementwiseInterface
from tlf.dialects.numerics import Numerics, numerics_of
from tlf.dialects.replacement import is_planned
from tlf.dialects.rewriting import replace_op
from tlf.dialects.target import Level, Target
from tlf.dialects.types import is_half, like, tensor_type
from tlf.passes.graph.pointwise import is_pointwise

APPROXIMATE = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""Fast-math flags of functions of 16-bit floats, which need not be more exact."""


def widen(op: ElementwiseInterface, rounds: bool = False) -> None:
    """
    Let an operation of 16-bit floats compute in f32, and round what it computes. What a
    group leaves in memory it reads as it was, or else as the group `rounds` it.
    """
    builder = Builder(InsertPoint.before(op))
    program = TensorProgram(builder, f32)
    operands = [_widened(each, program, rounds) for each in op.operands]
    (result,) = op.results
    type_ = tensor_type(result)
    wide = like(type_, type_.get_shape(), f32) if is_half(type_.element_type) else type_
    made = op.tiled(operands, [wide])
    if isinstance(made, FunctionOperation):
        made.fastmath = made.fastmath or APPROXIMATE
    made.location = op.location
    value = builder.insert(made).results[0]
    value.name_hint = result.name_hint
    if wide != type_:
        value = builder.insert(graph.CastOp(value, type_.element_type)).result
    replace_op(op, [], [value])


def _widened(value: SSAValue, program: TensorProgram, rounds: bool) -> SSAValue:
    """A 16-bit float in f32: as it was before it was rounded, if that is known."""
    element, owner = tensor_type(value).element_type, value.owner
    if not is_half(element):
        return value
    if (before := _unrounded(value, rounds)) is not None:
        return before
    number = owner.splat() if isinstance(owner, ConstantInterface) else None
    if isinstance(number, FloatAttr):
        type_ = tensor_type(value)
        wide = like(type_, type_.get_shape(), f32)
        return program.insert(graph.ConstantOp.filled(number.value.data, wide))
    return program.widened(value)


def _unrounded(value: SSAValue, rounds: bool) -> SSAValue | None:
    """A value in f32 before it was rounded, if it is to be read so."""
    owner = value.owner
    if not isinstance(owner, graph.CastOp) or _element(owner.operand) != f32:
        return None
    is_left = any(isinstance(use.operation, graph.YieldOp) for use in value.uses)
    return None if rounds and is_left else owner.operand


def _element(value: SSAValue) -> Attribute:
    return tensor_type(value).element_type


def _is_narrow(op: Operation) -> bool:
    """
    Return `True` if an operation computes with 16-bit floats, and is not composed of
    several functions.
    """
    if not is_pointwise(op) or isinstance(op, graph.CastOp) or is_planned(op):
        return False
    if len(op.results) != 1 or not any(is_half(_element(e)) for e in op.operands):
        return False
    is_function = isinstance(op, FunctionOperation)
    return is_function or not any(map(is_slow, op.scalar_body().ops))


def keep_wide(group: graph.GroupOp, rounds: bool = False) -> None:
    """
    Compute what a group does with 16-bit floats in f32. What it leaves in memory it
    reads as it was before it was rounded, or else as it `rounds` it.
    """
    for op in list(group.body.block.ops):
        if _is_narrow(op) and isinstance(op, ElementwiseInterface):
            widen(op, rounds)
        elif isinstance(op, graph.CastOp) and _element(op.result) == f32:
            if (before := _unrounded(op.operand, rounds)) is not None:
                replace_op(op, [], [before])
    region_dce(group.body)


@dataclass(frozen=True)
class _Widening:
    """Widens groups as far as their tiles have room in a level."""

    target: Target
    level: Level

    def apply(self, group: graph.GroupOp) -> None:
        """Compute in f32, rounding results for the group as well if need be."""
        for rounds in False, True:
            trial = group.clone()
            keep_wide(trial, rounds)
            if misfit(members_of_group(trial), self.level, self.target) is None:
                keep_wide(group, rounds)
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
        target = Target.of(op) if Target.is_known(op) else None
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is not None:
                continue
            if target is None:
                keep_wide(group)
            else:
                _Widening(target, target.tile_levels[0]).apply(group)
