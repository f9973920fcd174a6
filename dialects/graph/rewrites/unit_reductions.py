"""Rewrite rule of graph reductions: fold those along axes of extent 1."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import prod

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.elementwise import AddOp
from tlf.dialects.graph.mean import MeanOp
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp
from tlf.dialects.graph.remark_equations import format_term
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import is_float


def fold_unit_reduction(op: Operation) -> Iterable[Simplification]:
    """Fold a reduction of single elements into a reshape and a cast."""
    if not isinstance(op, ReduceOp | MeanOp):
        return
    axes = op.axes.get_values()
    if prod(shape_of(op.operand)[axis] for axis in axes) != 1:
        return
    if isinstance(op, ReduceOp) and op.init_value is not None:
        return
    is_sum = isinstance(op, MeanOp) or op.combination is ReduceKind.SUM
    build = partial(_build_reshape, op, is_sum and is_float(element_of(op.operand)))
    yield Simplification(f"{format_term(type(op), 'x')} of single elements = x", build)


def _build_reshape(op: ReduceOp | MeanOp, is_sum: bool, builder: Builder) -> SSAValue:
    """
    Build the operand in the shape and element type of the result. A sum adds 0, because
    sums start from 0, and the sum of -0 is 0.
    """
    value: SSAValue = op.operand
    if is_sum:
        zero = ConstantOp.from_splat(0, TensorType(element_of(value), []))
        value = builder.insert(AddOp(value, builder.insert(zero))).result
    if shape_of(value) != shape_of(op.result):
        value = builder.insert(ReshapeOp(value, shape_of(op.result))).result
    if element_of(value) != element_of(op.result):
        value = builder.insert(CastOp(value, element_of(op.result))).result
    return value
