"""Facts of decisions on folding, collected from the operations of a block of `mem`."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.awaited_moves import buffers_accessed_until_end_of
from tlf.analysis.buffers.map_operations import scalar_operations_of_map
from tlf.analysis.buffers.mem_liveness import users_of_buffer
from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem.number_literals import to_number_attribute
from tlf.dialects.types import is_16_bit_float, memref_type
from tlf.planner.folding.fold_facts import (
    AccumulatedOutput,
    AccumulationFacts,
    FillFacts,
    FoldOperation,
    ProductFacts,
    RoundingFacts,
)
from tlf.support.affine.linear_access import is_identity


def collect_fold_operations(block: Block) -> list[FoldOperation[Operation]]:
    """Return the facts of the operations of a block."""
    return [_facts_of(op) for op in block.ops]


def _facts_of(op: Operation) -> FoldOperation[Operation]:
    if isinstance(op, scf.ForOp | scf.ParallelOp):
        body = collect_fold_operations(op.body.block)
        accessed = frozenset(buffer for each in body for buffer in each.accessed)
        has_iterations = isinstance(op, scf.ForOp) and _has_iterations(op)
        return FoldOperation(op, accessed, body=body, has_iterations=has_iterations)
    return FoldOperation(
        op,
        frozenset(b for each in op.walk() for b in buffers_accessed_until_end_of(each)),
        _fill_facts_of(op) if isinstance(op, mem.FillOp) else None,
        _accumulation_facts_of(op) if isinstance(op, mem.AccumulatingOp) else None,
        _product_facts_of(op) if isinstance(op, mem.ContractOp) else None,
        _rounding_facts_of(op) if isinstance(op, mem.MapOp) else None,
    )


def _has_iterations(loop: scf.ForOp) -> bool:
    """Return `True` if a loop with constant bounds has at least one iteration."""
    lower, upper = constant_value_of(loop.lb), constant_value_of(loop.ub)
    return lower is not None and upper is not None and lower < upper


def _fill_facts_of(fill: mem.FillOp) -> FillFacts | None:
    """Return the facts of a fill of an allocation all of whose uses are known."""
    if fill.destination is None:
        return None
    root = root_buffer_of(fill.destination)
    if not isinstance(root.owner, mem.AllocOp):
        return None
    results = (result for op in users_of_buffer(root) for result in op.results)
    if any(isinstance(each.type, MemRefType) for each in results):
        return None
    return FillFacts(root, fill.destination, fill.value)


def _accumulation_facts_of(op: mem.AccumulatingOp) -> AccumulationFacts | None:
    """Return the facts of an accumulation that does not overwrite."""
    if op.overwrite is not None:
        return None
    return AccumulationFacts(
        frozenset(map(root_buffer_of, op.input_operands)),
        [
            AccumulatedOutput(
                root_buffer_of(output),
                frozenset(_whole_views_in(output)),
                to_number_attribute(neutral),
            )
            for output, neutral in zip(
                op.output_operands, op.neutral_elements, strict=True
            )
        ],
    )


def _whole_views_in(view: SSAValue) -> Iterator[SSAValue]:
    """
    Yield the views all of whose elements a view has, possibly in another shape,
    innermost first.
    """
    yield view
    owner = view.owner
    if isinstance(owner, memref.ReinterpretCastOp) and _is_reshape(owner):
        yield from _whole_views_in(owner.source)


def _is_reshape(op: memref.ReinterpretCastOp) -> bool:
    """Return `True` if a cast has all elements of its source, in their order."""
    if op.offsets or op.sizes or op.strides:
        return False
    sizes = list(op.static_sizes.get_values())
    row_major = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    type_ = memref_type(op.source)
    return (
        isinstance(type_.layout, NoneAttr)
        and list(op.static_offsets.get_values()) == [0]
        and list(op.static_strides.get_values()) == row_major
        and prod(sizes) == prod(type_.get_shape())
    )


def _product_facts_of(op: mem.ContractOp) -> ProductFacts | None:
    """
    Return the facts of a product of 16-bit factors that overwrites an allocation.
    """
    element = op.input_types[0].element_type
    if not op.is_always_overwriting or not is_16_bit_float(element):
        return None
    if (allocation := find_whole_allocation(op.acc)) is None:
        return None
    inputs = frozenset(map(root_buffer_of, op.input_operands))
    return ProductFacts(inputs, allocation.buffer, element)


def find_whole_allocation(buffer: SSAValue) -> mem.AllocOp | None:
    """
    Return the allocation that a buffer covers completely, in any shape; else None.
    """
    owner = buffer.owner
    base = owner.source if isinstance(owner, memref.ReinterpretCastOp) else buffer
    if not isinstance(base.owner, mem.AllocOp):
        return None
    shapes = [memref_type(each).get_shape() for each in (buffer, base)]
    return base.owner if prod(shapes[0]) == prod(shapes[1]) else None


def _rounding_facts_of(op: mem.MapOp) -> RoundingFacts | None:
    """
    Return the facts of a map that only truncates floats, to an allocation of the block.
    """
    if len(op.inputs) != 1 or len(op.outputs) != 1:
        return None
    (source,), (result,), body = op.inputs, op.outputs, scalar_operations_of_map(op)
    if [type(each) for each in body] != [arith.TruncFOp]:
        return None
    if not all(map(is_identity, (*op.input_maps, *op.output_maps))):
        return None
    if op.input_types[0].get_shape() != op.output_types[0].get_shape():
        return None
    if (
        not isinstance(result.owner, mem.AllocOp)
        or result.owner.parent is not op.parent
    ):
        return None
    return RoundingFacts(source, result, op.output_types[0].element_type)
