"""
Lowering of iteration dims to loops and dims of an NPU instruction, with the byte
strides of its operands.
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


def view_and_domain_strides_of(
    view: BufferView, indexing: AffineMap
) -> tuple[BufferView, tuple[int, ...]]:
    """
    Return the view at the origin of the iteration domain, and its stride in bytes along
    each dim of the domain.
    """
    origin = [access.offset for access in mem.linear_accesses_of_map(indexing)]
    return view.view_from_element(origin), strides_over_domain(indexing, view.strides)


def merge_contiguous_dims(dims: Sequence[InstructionDim]) -> list[InstructionDim]:
    """Drop unit dims, and merge adjacent dims that are contiguous in every operand."""
    result: list[InstructionDim] = []
    for dim in dims:
        if dim.extent == 1:
            continue
        if result and _is_contiguous_with_inner(result[-1], dim):
            extent = result[-1].extent * dim.extent
            result[-1] = InstructionDim(extent, dim.strides, dim.role)
        else:
            result.append(dim)
    return result


def _is_contiguous_with_inner(outer: InstructionDim, inner: InstructionDim) -> bool:
    """Return `True` if two dims of equal role are contiguous in every operand."""
    return outer.role == inner.role and all(
        outer_stride == inner_stride * inner.extent
        for outer_stride, inner_stride in zip(outer.strides, inner.strides, strict=True)
    )


def strides_of_operand(dims: Sequence[InstructionDim], operand_index: int) -> list[int]:
    """Return the strides of one operand, in bytes."""
    return [dim.strides[operand_index] for dim in dims]


def build_loops_over_dims(
    op: Operation, views: Sequence[BufferView], dims: Sequence[InstructionDim]
) -> tuple[IndexBuilder, list[BufferView], list[SSAValue]]:
    """
    Build nested loops over `dims`, the first outermost, directly before an operation.

    Return the builder of the innermost body, the views at an iteration, and the
    induction variables, which start at 0.
    """
    index = index_builder_before(op)
    iteration_views = list(views)
    counters: list[SSAValue] = []
    for dim in dims:
        counter, index = _build_counted_loop(index, dim.extent)
        counters.append(counter)
        iteration_views = [
            replace(view, terms=(*view.terms, (counter, stride))) if stride else view
            for view, stride in zip(iteration_views, dim.strides, strict=True)
        ]
    return index, iteration_views, counters


def _build_counted_loop(
    index_builder: IndexBuilder, extent: int
) -> tuple[SSAValue, IndexBuilder]:
    """Build an `scf.for` from 0 to `extent`; return its counter and body builder."""
    zero, last, one = (index_builder.to_ssa_value(number) for number in (0, extent, 1))
    end = scf.YieldOp()
    body = Block([end], arg_types=[IndexType()])
    index_builder.builder.insert(scf.ForOp(zero, last, one, [], Region(body)))
    return body.args[0], IndexBuilder(Builder(InsertPoint.before(end)))


def split_loop_and_instruction_dims(
    dims: Sequence[InstructionDim], max_instruction_dims: int
) -> tuple[list[InstructionDim], list[InstructionDim]]:
    """Split dims into outer dims for loops and inner dims for an instruction."""
    split = max(0, len(dims) - max_instruction_dims)
    return list(dims[:split]), list(dims[split:])
