"""Computing whole numbers that are known to be small in 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.tensors import element_of, integer_limits
from tlf.dialects.interfaces import IndexedInterface
from tlf.dialects.types import AnyTensor, like, tensor_type
from tlf.passes.graph.integer_bounds import RULES, IntegerBounds

MOVED = (graph.BroadcastOp, graph.ReshapeOp, graph.SliceOp, graph.TransposeOp)

COMPUTED = (*RULES, graph.IotaOp, graph.SelectOp, *MOVED)
"""Operations that are computed in 32 bits where operands and results are small."""

READ = (graph.CastOp, graph.CompareOp, IndexedInterface)
"""Operations that only read numbers in 32 bits."""


@dataclass(frozen=True)
class GraphIntRangeNarrowingPass(ModulePass):
    """
    Compute whole numbers in 32 bits instead of 64 where they are known to fit: sums,
    differences and distances of indices along axes, and what compares them, converts
    them, or is named by them. Constants and iotas tell how large numbers get; of
    arguments nothing is known. Numbers that are stored keep their type.
    """

    name = "graph-int-range-narrowing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bounds = IntegerBounds()
        found = [each for each in op.walk() if _is_candidate(each, bounds)]
        for each in found:
            _narrow(each)


def _is_candidate(op: Operation, bounds: IntegerBounds) -> bool:
    """
    Return `True` if all 64-bit numbers that an operation reads and computes are small.
    """
    if not isinstance(op, COMPUTED + READ):
        return False
    if isinstance(op, graph.CastOp) and element_of(op.result) in (i32, i64):
        return False
    # What is not chosen may be anything: none of its bits are seen.
    read = [] if isinstance(op, graph.SelectOp) else _read(op)
    wide = [*read, *_made(op)]
    return bool(wide) and all(_is_small(bounds.of(each)) for each in wide)


def _read(op: Operation) -> list[SSAValue]:
    """The operands of 64 bits that are numbers to be computed with, or indices."""
    is_indexed = isinstance(op, IndexedInterface)
    operands = [op.operands[op.index_operand]] if is_indexed else op.operands
    return [each for each in operands if element_of(each) == i64]


def _made(op: Operation) -> list[SSAValue]:
    """The results of 64 bits that are computed of such numbers."""
    if isinstance(op, READ):
        return []
    return [each for each in op.results if element_of(each) == i64]


def _is_small(bounds: tuple[int, int] | None) -> bool:
    least, most = integer_limits(i32)
    return bounds is not None and least <= bounds[0] and bounds[1] <= most


def _narrow(op: Operation) -> None:
    """Let an operation work on numbers of 32 bits."""
    builder, made = Builder(InsertPoint.before(op)), _made(op)
    narrow = {each: _narrowed(each, builder) for each in _read(op)}
    new = type(op).create(
        operands=[narrow.get(each, each) for each in op.operands],
        result_types=[
            _type(each) if each in made else each.type for each in op.results
        ],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    new.location = op.location
    builder.insert(new)
    for old, result in zip(op.results, new.results, strict=True):
        kept = (
            builder.insert(graph.CastOp(result, i64)).result if old in made else result
        )
        kept.name_hint = old.name_hint
        old.replace_all_uses_with(kept)
    Rewriter.erase_op(op)


def _narrowed(value: SSAValue, builder: Builder) -> SSAValue:
    """A value in 32 bits; a constant as one."""
    op = value.owner
    if isinstance(op, graph.ConstantOp) and not isinstance(op.value, graph.FileAttr):
        return builder.insert(graph.ConstantOp(op.array(), _type(value))).result
    return builder.insert(graph.CastOp(value, i32)).result


def _type(value: SSAValue) -> AnyTensor:
    type_ = tensor_type(value)
    return like(type_, type_.get_shape(), i32)
