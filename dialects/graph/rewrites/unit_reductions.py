"""
Rewrite rule of the reductions of the `graph` dialect: fold those along axes of extent
1.
"""

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
from tlf.dialects.graph.remark_equations import format_operation_term
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
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
    is_sum = isinstance(op, MeanOp) or op.reduce_kind is ReduceKind.SUM
    build = partial(
        _build_reshape_and_cast,
        op,
        is_sum and is_float(element_type_of_value(op.operand)),
    )
    yield Simplification(
        f"{format_operation_term(type(op), 'x')} of single elements = x", build
    )


def _build_reshape_and_cast(
    op: ReduceOp | MeanOp, is_sum: bool, builder: Builder
) -> SSAValue:
    """
    Build the operand in the shape and element type of the result. A sum adds 0, because
    sums start from 0, and the sum of -0 is 0.
    """
    value: SSAValue = op.operand
    if is_sum:
        zero = ConstantOp.from_splat(0, TensorType(element_type_of_value(value), []))
        value = builder.insert(AddOp(value, builder.insert(zero))).result
    if shape_of(value) != shape_of(op.result):
        value = builder.insert(ReshapeOp(value, shape_of(op.result))).result
    if element_type_of_value(value) != element_type_of_value(op.result):
        value = builder.insert(CastOp(value, element_type_of_value(op.result))).result
    return value
