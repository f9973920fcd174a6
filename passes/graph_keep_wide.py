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
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.functions import FunctionOperation
from tlf.dialects.interfaces import ConstantInterface, ElementwiseInterface
from tlf.dialects.types import is_half, like, tensor_type
from tlf.passes.analysis.steps import is_slow
from tlf.passes.numerics import Numerics, numerics_of
from tlf.passes.pointwise import is_pointwise
from tlf.passes.replacement import is_planned

APPROXIMATE = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""What is told of functions of 16-bit floats: these need not be known more exactly."""


def widen(op: ElementwiseInterface) -> None:
    """Let an operation of 16-bit floats compute in f32, and round what it computes."""
    builder = Builder(InsertPoint.before(op))
    program = TensorProgram(builder, f32)
    operands = [_widened(each, program) for each in op.operands]
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
    Rewriter.replace_op(op, [], [value])


def _widened(value: SSAValue, program: TensorProgram) -> SSAValue:
    """A 16-bit float in f32: as it was before it was rounded, if that is known."""
    element, owner = tensor_type(value).element_type, value.owner
    if not is_half(element):
        return value
    if isinstance(owner, graph.CastOp) and _element(owner.operand) == f32:
        return owner.operand
    number = owner.splat() if isinstance(owner, ConstantInterface) else None
    if isinstance(number, FloatAttr):
        type_ = tensor_type(value)
        wide = like(type_, type_.get_shape(), f32)
        return program.insert(graph.ConstantOp.filled(number.value.data, wide))
    return program.widened(value)


def _element(value: SSAValue) -> Attribute:
    return tensor_type(value).element_type


def _is_narrow(op: Operation) -> bool:
    """Whether it computes with 16-bit floats, and is not made of several functions."""
    if not is_pointwise(op) or isinstance(op, graph.CastOp) or is_planned(op):
        return False
    if len(op.results) != 1 or not any(is_half(_element(e)) for e in op.operands):
        return False
    is_function = isinstance(op, FunctionOperation)
    return is_function or not any(map(is_slow, op.scalar_body().ops))


def keep_wide(group: graph.GroupOp) -> None:
    """Compute what a group does with 16-bit floats in f32."""
    for op in list(group.body.block.ops):
        if _is_narrow(op) and isinstance(op, ElementwiseInterface):
            widen(op)
        elif isinstance(op, graph.CastOp) and _element(op.result) == f32:
            before = op.operand.owner
            if isinstance(before, graph.CastOp) and _element(before.operand) == f32:
                Rewriter.replace_op(op, [], [before.operand])


@dataclass(frozen=True)
class GraphKeepWidePass(ModulePass):
    """
    Let groups compute in f32 with 16-bit floats that they neither read nor leave in
    memory, where numerics are relaxed: sums and products are then rounded once, when
    they are stored or multiplied as matrices. Functions such as the hyperbolic tangent
    may be approximate, as `fastmath<afn>` says: in f32 some take longer. What is made
    of functions stays as it is, as do groups with a plan.
    """

    name = "graph-keep-wide"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if numerics_of(op, self.name) is not Numerics.RELAXED:
            return
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is None:
                keep_wide(group)
        DeadCodeElimination().apply(ctx, op)
