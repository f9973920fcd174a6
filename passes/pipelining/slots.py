"""
Slots: as many copies of a buffer as iterations of a loop are under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import mem
from tlf.dialects.cuts import row_major
from tlf.passes.pipelining.counters import Counter, applied, counters_of, number_of


def slot_number(loop: scf.ForOp, trips: int | None, slots: int) -> SSAValue:
    """
    The slot of each iteration of a loop that counts from 0 in steps of 1.

    It is the number of the iteration, counted on from one execution of the loop to the
    next, modulo the slots: then a slot is used again after the same number of
    iterations everywhere. Loops around it whose trips are no numbers start anew.
    """
    count = loop.body.block.args[0]
    first = loop.body.block.first_op
    assert first is not None
    inside = Builder(InsertPoint.before(first))
    number = AffineExpr.dimension(0)
    if (start := _start(loop, trips, slots)) is None:
        return applied(inside, number % slots, [count])
    total = (number + AffineExpr.dimension(1)) % slots
    return applied(inside, total, [count, start])


def _start(loop: scf.ForOp, trips: int | None, slots: int) -> SSAValue | None:
    """How many iterations, modulo the slots, there were before this execution."""
    terms: list[tuple[int, Counter]] = []
    executions = trips
    for counter in _around(loop):
        if executions is None or counter.numbers is None or counter.trips is None:
            break
        if executions % slots:
            terms.append((executions % slots, counter))
        executions *= counter.trips
    if not terms:
        return None
    total: AffineExpr = AffineExpr.constant(0)
    for position, (factor, counter) in enumerate(terms):
        lower, step = number_of(counter.lower), number_of(counter.step)
        assert lower is not None
        assert step is not None
        value: AffineExpr = AffineExpr.dimension(position)
        value = value - lower if lower else value
        value = value // step if step > 1 else value
        value = value * factor if factor > 1 else value
        total = value if position == 0 else total + value
    before = Builder(InsertPoint.before(loop))
    return applied(before, total % slots, [counter.variable for _, counter in terms])


def _around(loop: Operation) -> list[Counter]:
    """The loops around one, innermost first."""
    found: list[Counter] = []
    parent = loop.parent_op()
    while parent is not None:
        found += reversed(counters_of(parent))
        parent = parent.parent_op()
    return found


def give_slots(
    loop: scf.ForOp, alloc: mem.AllocOp, number: SSAValue, slots: int
) -> None:
    """
    Replace a buffer of a loop's body by one before the loop with several slots, of
    which each iteration uses the one of this number.
    """
    type_ = alloc.buffer_type
    before = Builder(InsertPoint.before(loop))
    whole = before.insert(mem.AllocOp(_with_slots(type_, slots))).buffer
    whole.name_hint = alloc.buffer.name_hint
    casts = [
        use.operation
        for use in alloc.buffer.uses
        if isinstance(use.operation, memref.ReinterpretCastOp)
    ]
    inside = _after(number, loop.body.block)
    for cast_ in casts:
        _replace(cast_, _slot(inside, _recast(before, whole, cast_, slots), number))
    if any(True for _ in alloc.buffer.uses):
        _replace(alloc, _slot(inside, whole, number))
    else:
        Rewriter.erase_op(alloc)


def _after(value: SSAValue, block: Block) -> Builder:
    """A builder behind the operation that computes a value, at the start of a block."""
    owner = value.owner
    assert isinstance(owner, Operation)
    assert owner.parent is block
    return Builder(InsertPoint.after(owner))


def _replace(op: Operation, value: SSAValue) -> None:
    value.name_hint = op.results[0].name_hint
    Rewriter.replace_op(op, [], [value])


def _bytes_apart(type_: MemRefType[Attribute]) -> tuple[list[int], int]:
    """The strides of a buffer, and the elements from one slot to the next."""
    strides = type_.get_strides()
    known = [each for each in strides or () if each is not None]
    return known, type_.element_count()


def _with_slots(type_: MemRefType[Attribute], slots: int) -> MemRefType[Attribute]:
    """The type of several buffers, one after the other."""
    shape = [slots, *type_.get_shape()]
    layout: Attribute = NoneAttr()
    if not isinstance(type_.layout, NoneAttr):
        strides, apart = _bytes_apart(type_)
        layout = StridedLayoutAttr([apart, *strides])
    return MemRefType(type_.element_type, shape, layout, type_.memory_space)


def _recast(
    builder: Builder, whole: SSAValue, op: memref.ReinterpretCastOp, slots: int
) -> SSAValue:
    """What a cast does to one buffer, done to all slots."""
    (offset,) = op.static_offsets.get_values()
    apart = cast(MemRefType[Attribute], op.source.type).element_count()
    shape = [slots, *op.static_sizes.get_values()]
    strides = [apart, *op.static_strides.get_values()]
    source = cast(MemRefType[Attribute], whole.type)
    layout: Attribute = NoneAttr()
    if offset or strides != list(row_major(shape)):
        layout = StridedLayoutAttr(strides, offset)
    type_ = MemRefType(source.element_type, shape, layout, source.memory_space)
    made = memref.ReinterpretCastOp.from_dynamic(whole, [offset], shape, strides, type_)
    return builder.insert(made).result


def _slot(builder: Builder, whole: SSAValue, number: SSAValue) -> SSAValue:
    """The slot of a number."""
    type_ = cast(MemRefType[Attribute], whole.type)
    slots, *shape = type_.get_shape()
    offsets: Sequence[SSAValue | int] = [number, *(0 for _ in shape)]
    strides = type_.get_strides() or ()
    result = MemRefType(
        type_.element_type,
        shape,
        StridedLayoutAttr([*strides[1:]], None),
        type_.memory_space,
    )
    ones = [1] * (slots and len(shape) + 1)
    made = memref.SubviewOp.get(whole, offsets, [1, *shape], ones, result)
    return builder.insert(made).result
