"""Iteration dimensions of an instruction, with the byte strides of its operands."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint

from tlf.dialects import mem
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.memref_views import BufferView, index_builder_before


@dataclass(frozen=True)
class InstructionDim:
    """
    One dimension: its extent, and the step in bytes of every operand.
    """

    extent: int
    strides: tuple[int, ...]
    role: str = ""
    """Dimensions of different roles stay apart."""


def operand_view(
    view: BufferView, indexing: AffineMap
) -> tuple[BufferView, tuple[int, ...]]:
    """
    Return the view that starts where the iteration domain does, and its stride in bytes
    along every dimension of the domain.
    """
    strides = [0] * indexing.num_dims
    offset = view.offset
    for access, stride in zip(
        mem.access_functions(indexing), view.strides, strict=True
    ):
        offset += access.constant * stride
        for dimension, coefficient in enumerate(access.coefficients):
            strides[dimension] += coefficient * stride
    return replace(view, offset=offset), tuple(strides)


def merge_dims(dims: Sequence[InstructionDim]) -> list[InstructionDim]:
    """Drop dimensions of extent 1, and merge those contiguous in every operand."""
    result: list[InstructionDim] = []
    for dim in dims:
        if dim.extent == 1:
            continue
        if result and _is_mergeable(result[-1], dim):
            extent = result[-1].extent * dim.extent
            result[-1] = InstructionDim(extent, dim.strides, dim.role)
        else:
            result.append(dim)
    return result


def _is_mergeable(outer: InstructionDim, inner: InstructionDim) -> bool:
    return outer.role == inner.role and all(
        far == near * inner.extent
        for far, near in zip(outer.strides, inner.strides, strict=True)
    )


def operand_strides(dims: Sequence[InstructionDim], number: int) -> list[int]:
    """
    Return the strides of one operand.
    """
    return [dim.strides[number] for dim in dims]


def build_loop_nest(
    op: Operation, views: Sequence[BufferView], dims: Sequence[InstructionDim]
) -> tuple[IndexBuilder, list[BufferView], list[SSAValue]]:
    """
    Build loops over some dimensions before an operation.

    Returns where to build the innermost body, the views at one iteration, and the
    counters of the loops, which start from 0.
    """
    index = index_builder_before(op)
    moved = list(views)
    counters: list[SSAValue] = []
    for dim in dims:
        counter, index = _build_loop(index, dim.extent)
        counters.append(counter)
        moved = [
            replace(view, terms=(*view.terms, (counter, stride))) if stride else view
            for view, stride in zip(moved, dim.strides, strict=True)
        ]
    return index, moved, counters


def _build_loop(index: IndexBuilder, extent: int) -> tuple[SSAValue, IndexBuilder]:
    zero, last, one = (index.to_value(number) for number in (0, extent, 1))
    end = scf.YieldOp()
    body = Block([end], arg_types=[IndexType()])
    index.builder.insert(scf.ForOp(zero, last, one, [], Region(body)))
    return body.args[0], IndexBuilder(Builder(InsertPoint.before(end)))


def split_dims(
    dims: Sequence[InstructionDim], limit: int
) -> tuple[list[InstructionDim], list[InstructionDim]]:
    """Split dimensions into those of loops and the innermost ones of an instruction."""
    cut = max(0, len(dims) - limit)
    return list(dims[:cut]), list(dims[cut:])
