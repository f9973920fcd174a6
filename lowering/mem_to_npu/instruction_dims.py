"""
Iteration dims of an instruction of the NPU code generator, with the byte strides of its
operands.
"""

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
from tlf.support.affine.linear_access import strides_over_domain


@dataclass(frozen=True)
class InstructionDim:
    """One dim of an instruction: its extent and the byte stride of each operand."""

    extent: int
    strides: tuple[int, ...]
    role: str = ""
    """Only dims of equal role are merged."""


def operand_view(
    view: BufferView, indexing: AffineMap
) -> tuple[BufferView, tuple[int, ...]]:
    """
    Return the view at the origin of the iteration domain, and its stride in bytes along
    each dim of the domain.
    """
    origin = [access.offset for access in mem.access_functions(indexing)]
    return view.with_offsets(origin), strides_over_domain(indexing, view.strides)


def merge_dims(dims: Sequence[InstructionDim]) -> list[InstructionDim]:
    """Drop unit dims, and merge adjacent dims that are contiguous in every operand."""
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
        outer_stride == inner_stride * inner.extent
        for outer_stride, inner_stride in zip(outer.strides, inner.strides, strict=True)
    )


def operand_strides(dims: Sequence[InstructionDim], number: int) -> list[int]:
    """Return the strides of one operand, in bytes."""
    return [dim.strides[number] for dim in dims]


def build_loop_nest(
    op: Operation, views: Sequence[BufferView], dims: Sequence[InstructionDim]
) -> tuple[IndexBuilder, list[BufferView], list[SSAValue]]:
    """
    Build loops over `dims` before an operation.

    Return the builder of the innermost body, the views at an iteration, and the
    induction variables, which start at 0.
    """
    index = index_builder_before(op)
    iteration_views = list(views)
    counters: list[SSAValue] = []
    for dim in dims:
        counter, index = _build_loop(index, dim.extent)
        counters.append(counter)
        iteration_views = [
            replace(view, terms=(*view.terms, (counter, stride))) if stride else view
            for view, stride in zip(iteration_views, dim.strides, strict=True)
        ]
    return index, iteration_views, counters


def _build_loop(index: IndexBuilder, extent: int) -> tuple[SSAValue, IndexBuilder]:
    zero, last, one = (index.to_value(number) for number in (0, extent, 1))
    end = scf.YieldOp()
    body = Block([end], arg_types=[IndexType()])
    index.builder.insert(scf.ForOp(zero, last, one, [], Region(body)))
    return body.args[0], IndexBuilder(Builder(InsertPoint.before(end)))


def split_dims(
    dims: Sequence[InstructionDim], limit: int
) -> tuple[list[InstructionDim], list[InstructionDim]]:
    """Split dims into outer dims for loops and inner dims for an instruction."""
    split = max(0, len(dims) - limit)
    return list(dims[:split]), list(dims[split:])
