"""
Rewrite of the pass `mem-pipeline`: multi-buffering, with one copy (slot) of a buffer
for each iteration in flight.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.core_loops import is_core_loop
from tlf.analysis.buffers.normalized_loops import (
    LoopRange,
    loop_ranges_of,
)
from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of, insert_affine_apply
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.target import Level
from tlf.dialects.types import byte_count, dtype_of, memref_type


def _slot_index_of_iteration(
    loop: scf.ForOp, trip_count: int | None, slots: int
) -> SSAValue:
    """
    Return the index of the slot that an iteration of a normalized loop uses.

    The index is the ordinal of the iteration modulo `slots`. Iterations are counted
    across executions of the loop, so that a slot is always reused after the same number
    of iterations. The count restarts at each iteration of the innermost enclosing loop
    without constant bounds.
    """
    count = loop.body.block.args[0]
    first = loop.body.block.first_op
    assert first is not None
    builder = Builder(InsertPoint.before(first))
    iteration = AffineExpr.dimension(0)
    if (start := _iterations_before_execution(loop, trip_count, slots)) is None:
        return insert_affine_apply(builder, iteration % slots, [count])
    index = (iteration + AffineExpr.dimension(1)) % slots
    return insert_affine_apply(builder, index, [count, start])


def _iterations_before_execution(
    loop: scf.ForOp, trip_count: int | None, slots: int
) -> SSAValue | None:
    """
    Return the number of iterations before this execution of a loop, modulo `slots`;
    None if it is always 0.
    """
    terms: list[tuple[int, LoopRange]] = []
    executions = trip_count
    for counter in _enclosing_loops(loop):
        if (
            executions is None
            or counter.constant_bounds is None
            or counter.trips is None
        ):
            break
        if executions % slots:
            terms.append((executions % slots, counter))
        executions *= counter.trips
    if not terms:
        return None
    total: AffineExpr = AffineExpr.constant(0)
    for position, (factor, counter) in enumerate(terms):
        lower, step = constant_value_of(counter.lower), constant_value_of(counter.step)
        assert lower is not None
        assert step is not None
        value: AffineExpr = AffineExpr.dimension(position)
        value = value - lower if lower else value
        value = value // step if step > 1 else value
        value = value * factor if factor > 1 else value
        total = value if position == 0 else total + value
    builder = Builder(InsertPoint.before(loop))
    return insert_affine_apply(
        builder, total % slots, [counter.variable for _, counter in terms]
    )


def _enclosing_loops(loop: Operation) -> list[LoopRange]:
    """Return the loops around a loop, innermost first, without the loop over cores."""
    loops: list[LoopRange] = []
    parent = loop.parent_op()
    while parent is not None:
        if not is_core_loop(parent):
            loops += reversed(loop_ranges_of(parent))
        parent = parent.parent_op()
    return loops


def replace_by_multibuffers(
    loop: scf.ForOp,
    buffers: Sequence[Hashable],
    trip_count: int | None,
    slots: int,
    levels: Sequence[Level],
) -> None:
    """Replace buffers that a normalized loop's body allocates by multi-buffers."""
    slot = _slot_index_of_iteration(loop, trip_count, slots)
    alignments = {level.name: level.alignment for level in levels}
    for buffer in buffers:
        assert isinstance(buffer, OpResult)
        alloc = buffer.owner
        assert isinstance(alloc, mem.AllocOp)
        _replace_by_multibuffer(loop, alloc, slot, slots, alignments[alloc.level])


def _replace_by_multibuffer(
    loop: scf.ForOp,
    alloc: mem.AllocOp,
    slot_index: SSAValue,
    slots: int,
    alignment: int,
) -> None:
    """
    Replace an allocation of a loop's body by a multi-buffer before the loop. Each
    iteration uses slot `slot_index`. Slots start at multiples of `alignment` bytes.
    """
    multibuffer = MultiBuffer.allocate_before_loop(loop, alloc, slots, alignment)
    owner = slot_index.owner
    assert isinstance(owner, Operation)
    builder = Builder(InsertPoint.after(owner))
    for cast_ in list(_reinterpreting_casts_of(alloc.buffer)):
        (offset,) = cast_.static_offsets.get_values()
        shape = cast_.static_sizes.get_values()
        strides = cast_.static_strides.get_values()
        _replace_and_transfer_name_hint(
            cast_, multibuffer.view_of_copy(builder, slot_index, shape, strides, offset)
        )
    if not any(True for _ in alloc.buffer.uses):
        Rewriter.erase_op(alloc)
        return
    shape, strides = alloc.buffer_type.get_shape(), alloc.buffer_type.get_strides()
    static_strides = [each for each in strides or () if each is not None]
    _replace_and_transfer_name_hint(
        alloc, multibuffer.view_of_copy(builder, slot_index, shape, static_strides)
    )


def _reinterpreting_casts_of(buffer: SSAValue) -> Iterator[memref.ReinterpretCastOp]:
    """Yield the reinterpreting casts of a buffer, nested ones first."""
    for use in list(buffer.uses):
        if isinstance(op := use.operation, memref.ReinterpretCastOp):
            yield from _reinterpreting_casts_of(op.result)
            yield op


def _replace_and_transfer_name_hint(op: Operation, value: SSAValue) -> None:
    value.name_hint = op.results[0].name_hint
    replace_op(op, [], [value])


@dataclass(frozen=True)
class MultiBuffer:
    """An allocation of several copies of a buffer before the loop that uses them."""

    loop: scf.ForOp
    buffer: SSAValue
    copy_stride: int
    """Number of elements from one slot to the next."""

    @staticmethod
    def allocate_before_loop(
        loop: scf.ForOp, alloc: mem.AllocOp, slots: int, alignment: int
    ) -> MultiBuffer:
        """
        Insert one buffer with `slots` copies of `alloc` before `loop`; `alloc` remains.
        """
        type_ = alloc.buffer_type
        item = dtype_of(type_.element_type).itemsize
        copy_stride = -(-byte_count(type_) // alignment) * alignment // item
        shape = [slots, *type_.get_shape()]
        if copy_stride != type_.element_count() or not isinstance(
            type_.layout, NoneAttr
        ):
            shape = [slots, copy_stride]
        allocation = mem.AllocOp(
            MemRefType(type_.element_type, shape, NoneAttr(), type_.memory_space)
        )
        allocation.location = alloc.location
        allocation.buffer.name_hint = alloc.buffer.name_hint
        buffer = Builder(InsertPoint.before(loop)).insert(allocation).buffer
        return MultiBuffer(loop, buffer, copy_stride)

    @property
    def type(self) -> MemRefType[Attribute]:
        return memref_type(self.buffer)

    def view_of_copy(
        self,
        builder: Builder,
        copy_index: SSAValue,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
    ) -> SSAValue:
        """
        Return a view of copy `copy_index` with the given shape, strides and offset.
        """
        all_copies = self._view_of_all_copies(shape, strides, offset)
        result = MemRefType(
            self.type.element_type,
            shape,
            StridedLayoutAttr(strides, None),
            self.type.memory_space,
        )
        start: Sequence[SSAValue | int] = [copy_index, *(0 for _ in shape)]
        ones = [1] * len(start)
        subview = memref.SubviewOp.get(all_copies, start, [1, *shape], ones, result)
        return builder.insert(subview).result

    def _view_of_all_copies(
        self, shape: Sequence[int], strides: Sequence[int], offset: int
    ) -> SSAValue:
        """Return a view of all copies with the given shape, strides and offset each."""
        sizes = [self.type.get_shape()[0], *shape]
        steps = [self.copy_stride, *strides]
        is_contiguous = not offset and steps == list(row_major_strides(sizes))
        if is_contiguous and sizes == list(self.type.get_shape()):
            return self.buffer
        layout = NoneAttr() if is_contiguous else StridedLayoutAttr(steps, offset)
        type_ = MemRefType(
            self.type.element_type, sizes, layout, self.type.memory_space
        )
        reinterpreted = memref.ReinterpretCastOp.from_dynamic(
            self.buffer, [offset], sizes, steps, type_
        )
        return Builder(InsertPoint.before(self.loop)).insert(reinterpreted).result
