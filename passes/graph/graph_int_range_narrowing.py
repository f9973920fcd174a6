"""Pass `graph-int-range-narrowing`: narrows 64-bit integers that fit into 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, integer_limits
from tlf.dialects.interfaces import IndexedReadInterface
from tlf.dialects.types import AnyTensor, tensor_type, tensor_type_like
from tlf.passes.graph.integer_bounds import INTEGER_RULES, IntegerBounds

MOVEMENT_OPS = (graph.BroadcastOp, graph.ReshapeOp, graph.SliceOp, graph.TransposeOp)

NARROWABLE_OPS = (*INTEGER_RULES, graph.IotaOp, graph.SelectOp, *MOVEMENT_OPS)
"""Operations that are computed in 32 bits if operands and results fit."""

READER_OPS = (graph.CastOp, graph.CompareOp, IndexedReadInterface)
"""Operations that read integers, and whose results are not narrowed."""


@dataclass(frozen=True)
class GraphIntRangeNarrowingPass(ModulePass):
    """
    Compute 64-bit integers in 32 bits if their ranges fit.

    Applies to sums, differences and distances of indices, and to the comparisons, casts
    and indexed operations that read them. Ranges follow from constants and iotas;
    ranges of arguments are unknown. Stored integers keep their type.
    """

    name = "graph-int-range-narrowing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bounds = IntegerBounds()
        candidates = [each for each in op.walk() if _can_narrow_to_i32(each, bounds)]
        for each in candidates:
            _narrow_operation_to_i32(each)


def _can_narrow_to_i32(op: Operation, bounds: IntegerBounds) -> bool:
    """
    Return `True` if all 64-bit integers that an operation reads and computes fit into
    32 bits.
    """
    if not isinstance(op, NARROWABLE_OPS + READER_OPS):
        return False
    if isinstance(op, graph.CastOp) and element_type_of_value(op.result) in (i32, i64):
        return False
    # Elements that are not selected may be out of range: they are not used.
    read = [] if isinstance(op, graph.SelectOp) else _narrowable_operands_of(op)
    wide = [*read, *_narrowable_results_of(op)]
    return bool(wide) and all(
        _is_within_i32(bounds.range_of_tensor(each)) for each in wide
    )


def _narrowable_operands_of(op: Operation) -> list[SSAValue]:
    """
    Return the 64-bit operands of an operation that can be narrowed: all operands, or
    only the indices of an indexed operation.
    """
    is_indexed = isinstance(op, IndexedReadInterface)
    operands = [op.operands[op.indices_operand_index]] if is_indexed else op.operands
    return [each for each in operands if element_type_of_value(each) == i64]


def _narrowable_results_of(op: Operation) -> list[SSAValue]:
    """Return the 64-bit results of an operation that can be narrowed."""
    if isinstance(op, READER_OPS):
        return []
    return [each for each in op.results if element_type_of_value(each) == i64]


def _is_within_i32(bounds: tuple[int, int] | None) -> bool:
    least, most = integer_limits(i32)
    return bounds is not None and least <= bounds[0] and bounds[1] <= most


def _narrow_operation_to_i32(op: Operation) -> None:
    """Replace an operation by one on 32-bit integers, between casts from and to i64."""
    builder, narrowed = Builder(InsertPoint.before(op)), _narrowable_results_of(op)
    narrow = {
        each: _narrow_value_to_i32(each, builder)
        for each in _narrowable_operands_of(op)
    }
    new = type(op).create(
        operands=[narrow.get(each, each) for each in op.operands],
        result_types=[
            _i32_type_of(each) if each in narrowed else each.type for each in op.results
        ],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    new.location = op.location
    builder.insert(new)
    for old, result in zip(op.results, new.results, strict=True):
        replacement = (
            builder.insert(graph.CastOp(result, i64)).result
            if old in narrowed
            else result
        )
        replacement.name_hint = old.name_hint
        old.replace_all_uses_with(replacement)
    Rewriter.erase_op(op)


def _narrow_value_to_i32(value: SSAValue, builder: Builder) -> SSAValue:
    """Return a value in 32 bits: a narrower constant for a constant, else a cast."""
    op = value.owner
    if isinstance(op, graph.ConstantOp) and not isinstance(
        op.value, graph.SideFileAttr
    ):
        return builder.insert(
            graph.ConstantOp(op.to_array(), _i32_type_of(value))
        ).result
    return builder.insert(graph.CastOp(value, i32)).result


def _i32_type_of(value: SSAValue) -> AnyTensor:
    type_ = tensor_type(value)
    return tensor_type_like(type_, type_.get_shape(), i32)
