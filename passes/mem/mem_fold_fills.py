"""
The pass `mem-fold-fills`: sums that start themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.mem_liveness import users
from tlf.analysis.buffers.touches import root_of
from tlf.dialects import mem
from tlf.dialects.mem.numbers import number_attr


@dataclass(frozen=True)
class MemFoldFillsPass(ModulePass):
    """
    Let contractions and reductions overwrite buffers instead of filling these before.

    A fill with the neutral element goes where what touches the buffer next is a
    contraction or reduction into all of it. If loops stand around that and not around
    the fill, it overwrites in the first of all their iterations only: where the sum of
    their counters, each less its lower bound, is 0. Every one of these loops has to run
    at least once, by bounds that are numbers. A fill stays if anything else, a move or
    a mask, may touch the buffer first, and where the buffer is no allocation.
    """

    name = "mem-fold-fills"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _fold(function)


def _fold(function: func.FuncOp) -> None:
    found: dict[mem.AccumulatingOp, list[_Start]] = {}
    for op in function.body.walk():
        if isinstance(op, mem.FillOp) and (start := _start_of(op)) is not None:
            found.setdefault(start.op, []).append(start)
    for op, starts in found.items():
        loops = starts[0].loops
        outputs = {start.output for start in starts}
        agree = all(start.loops == loops for start in starts)
        if agree and len(outputs) == len(starts) == len(op.output_operands):
            _overwrite(op, loops)
            for start in starts:
                Rewriter.erase_op(start.fill)


@dataclass(frozen=True)
class _Start:
    """A fill, and what combines with it first."""

    fill: mem.FillOp
    op: mem.AccumulatingOp
    output: int
    loops: tuple[scf.ForOp, ...]
    """The loops around the operation, but not around the fill: outermost first."""


def _start_of(fill: mem.FillOp) -> _Start | None:
    """
    Return the first operation that accumulates into the elements of a fill, if it is
    known and can do without the fill; else None.
    """
    if fill.destination is None or fill.parent is None:
        return None
    root = root_of(fill.destination)
    if not isinstance(root.owner, mem.AllocOp):
        return None
    touching = set(users(root))
    if any(isinstance(r.type, MemRefType) for op in touching for r in op.results):
        return None
    loops: list[scf.ForOp] = []
    op = _first(fill.next_op, touching)
    while isinstance(op, scf.ForOp) and _runs(op):
        loops.append(op)
        op = _first(op.body.block.first_op, touching)
    if not isinstance(op, mem.AccumulatingOp) or op.overwrite is not None:
        return None
    inputs = {root_of(value) for value in op.input_operands}
    places = [
        number
        for number, output in enumerate(op.output_operands)
        if root_of(output) is root
    ]
    if root in inputs or len(places) != 1:
        return None
    (output,) = places
    is_neutral = fill.value == number_attr(op.neutral_numbers[output])
    if not is_neutral or not _is_all(op.output_operands[output], fill.destination):
        return None
    return _Start(fill, op, output, tuple(loops))


def _overwrite(op: mem.AccumulatingOp, loops: Sequence[scf.ForOp]) -> None:
    """Let an operation overwrite in the first iteration of all of some loops."""
    builder = Builder(InsertPoint.before(op))
    total: SSAValue | None = None
    for loop in loops:
        distance: SSAValue = loop.body.block.args[0]
        if _number(loop.lb) != 0:
            distance = builder.insert(arith.SubiOp(distance, loop.lb)).result
        if total is not None:
            distance = builder.insert(arith.AddiOp(total, distance)).result
        total = distance
    op.start(total)


def _first(op: Operation | None, touching: set[Operation]) -> Operation | None:
    """The first operation, from one on in its block, with one of some others in it."""
    while op is not None:
        if any(each in touching for each in op.walk()):
            return op
        op = op.next_op
    return None


def _runs(loop: scf.ForOp) -> bool:
    """Return `True` if a loop is known to run at least once."""
    lower, upper = _number(loop.lb), _number(loop.ub)
    return lower is not None and upper is not None and lower < upper


def _number(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _is_all(view: SSAValue, buffer: SSAValue) -> bool:
    """
    Return `True` if a view has all elements of a buffer, possibly in another shape.
    """
    if view is buffer:
        return True
    owner = view.owner
    if not isinstance(owner, memref.ReinterpretCastOp):
        return False
    if owner.offsets or owner.sizes or owner.strides:
        return False
    sizes = list(owner.static_sizes.get_values())
    in_order = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    type_ = cast(MemRefType[Attribute], owner.source.type)
    return (
        isinstance(type_.layout, NoneAttr)
        and list(owner.static_offsets.get_values()) == [0]
        and list(owner.static_strides.get_values()) == in_order
        and prod(sizes) == prod(type_.get_shape())
        and _is_all(owner.source, buffer)
    )
