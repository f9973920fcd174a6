"""Multi-buffering: several copies of a buffer, one for each iteration in flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.core_loops import is_core_loop
from tlf.analysis.buffers.normalized_loops import (
    LoopRange,
    constant_value_of,
    insert_apply,
    loop_ranges_of,
)
from tlf.dialects import mem
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.types import byte_count, dtype_of


def multibuffer_index(loop: scf.ForOp, trips: int | None, slots: int) -> SSAValue:
    """
    Return the index of the copy that each iteration of a loop uses; the loop counts
    from 0 in steps of 1.

    It is the number of the iteration, counted on from one execution of the loop to the
    next, modulo the slots: then a slot is used again after the same number of
    iterations everywhere. Loops around it whose trips are no numbers start anew.
    """
    count = loop.body.block.args[0]
    first = loop.body.block.first_op
    assert first is not None
    inside = Builder(InsertPoint.before(first))
    number = AffineExpr.dimension(0)
    if (start := _iterations_before(loop, trips, slots)) is None:
        return insert_apply(inside, number % slots, [count])
    total = (number + AffineExpr.dimension(1)) % slots
    return insert_apply(inside, total, [count, start])


def _iterations_before(
    loop: scf.ForOp, trips: int | None, slots: int
) -> SSAValue | None:
    """
    Return the number of iterations, modulo the copies, before this execution of a loop;
    None if it need not be added.
    """
    terms: list[tuple[int, LoopRange]] = []
    executions = trips
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
    before = Builder(InsertPoint.before(loop))
    return insert_apply(
        before, total % slots, [counter.variable for _, counter in terms]
    )


def _enclosing_loops(loop: Operation) -> list[LoopRange]:
    """Return the loops around one, innermost first, without the loop over cores."""
    found: list[LoopRange] = []
    parent = loop.parent_op()
    while parent is not None:
        if not is_core_loop(parent):
            found += reversed(loop_ranges_of(parent))
        parent = parent.parent_op()
    return found


def multibuffer_allocation(
    loop: scf.ForOp, alloc: mem.AllocOp, number: SSAValue, slots: int, alignment: int
) -> None:
    """
    Replace an allocation of a loop's body by a multi-buffer before the loop, of which
    each iteration uses the copy of an index. Slots start at multiples of `alignment`
    bytes.
    """
    found = MultiBuffer.allocate_before(loop, alloc, slots, alignment)
    owner = number.owner
    assert isinstance(owner, Operation)
    inside = Builder(InsertPoint.after(owner))
    for cast_ in list(_casts_of(alloc.buffer)):
        (offset,) = cast_.static_offsets.get_values()
        shape = cast_.static_sizes.get_values()
        strides = cast_.static_strides.get_values()
        _replace_keeping_name(
            cast_, found.view_of_copy(inside, number, shape, strides, offset)
        )
    if not any(True for _ in alloc.buffer.uses):
        Rewriter.erase_op(alloc)
        return
    shape, strides = alloc.buffer_type.get_shape(), alloc.buffer_type.get_strides()
    known = [each for each in strides or () if each is not None]
    _replace_keeping_name(alloc, found.view_of_copy(inside, number, shape, known))


def _casts_of(buffer: SSAValue) -> Iterator[memref.ReinterpretCastOp]:
    """Yield the reinterpreting casts of a buffer, nested ones first."""
    for use in list(buffer.uses):
        if isinstance(op := use.operation, memref.ReinterpretCastOp):
            yield from _casts_of(op.result)
            yield op


def _replace_keeping_name(op: Operation, value: SSAValue) -> None:
    value.name_hint = op.results[0].name_hint
    replace_op(op, [], [value])


@dataclass(frozen=True)
class MultiBuffer:
    """An allocation of several copies of a buffer, before the loop that uses them."""

    loop: scf.ForOp
    buffer: SSAValue
    copy_stride: int
    """The elements from one slot to the next."""

    @staticmethod
    def allocate_before(
        loop: scf.ForOp, alloc: mem.AllocOp, slots: int, alignment: int
    ) -> MultiBuffer:
        """Allocate the copies of a buffer before a loop."""
        type_ = alloc.buffer_type
        item = dtype_of(type_.element_type).itemsize
        apart = -(-byte_count(type_) // alignment) * alignment // item
        shape = [slots, *type_.get_shape()]
        if apart != type_.element_count() or not isinstance(type_.layout, NoneAttr):
            shape = [slots, apart]
        made = mem.AllocOp(
            MemRefType(type_.element_type, shape, NoneAttr(), type_.memory_space)
        )
        made.location = alloc.location
        made.buffer.name_hint = alloc.buffer.name_hint
        buffer = Builder(InsertPoint.before(loop)).insert(made).buffer
        return MultiBuffer(loop, buffer, apart)

    @property
    def type(self) -> MemRefType[Attribute]:
        return cast(MemRefType[Attribute], self.buffer.type)

    def view_of_copy(
        self,
        builder: Builder,
        number: SSAValue,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
    ) -> SSAValue:
        """Return a view of one copy, with a shape and strides from an offset on."""
        whole = self._view_of_all(shape, strides, offset)
        result = MemRefType(
            self.type.element_type,
            shape,
            StridedLayoutAttr(strides, None),
            self.type.memory_space,
        )
        start: Sequence[SSAValue | int] = [number, *(0 for _ in shape)]
        ones = [1] * len(start)
        made = memref.SubviewOp.get(whole, start, [1, *shape], ones, result)
        return builder.insert(made).result

    def _view_of_all(
        self, shape: Sequence[int], strides: Sequence[int], offset: int
    ) -> SSAValue:
        """Return a view of all copies, each of this shape."""
        sizes = [self.type.get_shape()[0], *shape]
        steps = [self.copy_stride, *strides]
        is_plain = not offset and steps == list(row_major_strides(sizes))
        if is_plain and sizes == list(self.type.get_shape()):
            return self.buffer
        layout = NoneAttr() if is_plain else StridedLayoutAttr(steps, offset)
        type_ = MemRefType(
            self.type.element_type, sizes, layout, self.type.memory_space
        )
        made = memref.ReinterpretCastOp.from_dynamic(
            self.buffer, [offset], sizes, steps, type_
        )
        return Builder(InsertPoint.before(self.loop)).insert(made).result
