"""Pass `mem-plan`: static allocation of an address for every buffer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.mem_liveness import MemLiveness, users_of_buffer
from tlf.dialects import mem, target
from tlf.dialects.mixed_offsets import IntArray
from tlf.dialects.types import byte_count, memref_type
from tlf.passes.mem.early_waits import hoist_waits_to_free
from tlf.support.allocation import (
    Allocation,
    Buffer,
    Use,
    align,
    allocate_program,
    engine_stage,
    max_live_bytes,
)

ARGUMENTS_ATTRIBUTE = "tlf.arguments"
"""Attribute with the byte offset of every argument of a function."""

OFFSET_ATTRIBUTE = "tlf.offset"
"""Attribute with the byte offset of a `memref.global`."""

PEAK_ATTRIBUTE = "tlf.peak"
"""Attribute with the bytes that a function uses of every level."""


def argument_offsets(op: func.FuncOp) -> tuple[int, ...]:
    """
    Return the byte offset of every argument of a planned function. Raises
    `PassFailedException` if the function is not planned.
    """
    offsets = cast(IntArray | None, op.attributes.get(ARGUMENTS_ATTRIBUTE))
    if offsets is None or len(offsets) != len(op.args):
        raise PassFailedException(
            f"@{op.sym_name.data}: expected planned arguments "
            f"(`{ARGUMENTS_ATTRIBUTE}`): "
            "run `mem-plan` first"
        )
    return offsets.get_values()


def global_offsets(function: func.FuncOp) -> dict[str, int]:
    """
    Return the byte offset of every planned `memref.global` in the module of a function.
    """
    module = function.parent_op()
    offsets: dict[str, int] = {}
    for op in module.walk() if module else ():
        if isinstance(op, memref.GlobalOp) and OFFSET_ATTRIBUTE in op.attributes:
            offset = cast(IntegerAttr, op.attributes[OFFSET_ATTRIBUTE])
            offsets[op.sym_name.data] = offset.value.data
    return offsets


@dataclass(frozen=True)
class MemPlanPass(ModulePass):
    """
    Assign every buffer an address in the level of its type.

    Arguments come first in the outermost level, then constants, then allocations.
    An allocation is live from its first to its last use, for the whole of a loop around
    its uses, and until the wait for moves from and to it. Buffers of a level with
    disjoint live ranges share bytes only if the level is too small otherwise, and
    buffers of one loop only if the buffers of the loop do not fit. Recently freed bytes
    are avoided if other bytes are free. If buffers still do not fit, waits for moves
    out of the level are hoisted above later allocations, so that the sources are freed
    earlier. Sets `at` of every `mem.alloc`, `tlf.arguments` and `tlf.peak` of every
    function, and `tlf.offset` of every `memref.global`.

    Raises `PassFailedException` if a level is too small.
    """

    name = "mem-plan"

    share: bool = False
    """Share bytes even if all buffers fit without sharing."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = target.TargetSpec.of(op)
        functions = [
            function
            for function in op.walk()
            if isinstance(function, func.FuncOp) and not function.is_declaration
        ]
        outer = machine.outermost
        end = max(
            (_assign_argument_offsets(each, outer) for each in functions), default=0
        )
        for each in op.walk():
            if isinstance(each, memref.GlobalOp):
                end = _assign_global_offset(each, outer, end)
        for function in functions:
            _AllocationPlanner(function, machine, self.share).plan(end)


def _assign_argument_offsets(function: func.FuncOp, outer: target.Level) -> int:
    """
    Assign consecutive byte offsets to the arguments of a function, and return their
    end. Raises `PassFailedException` for arguments outside of the outermost level.
    """
    offsets: list[int] = []
    end = 0
    for argument in function.args:
        if mem.level_of(argument.type) != outer.name:
            raise PassFailedException(
                f"@{function.sym_name.data}: expected arguments in {outer.name}, got "
                f"{argument.type}"
            )
        offsets.append(align(end, outer.alignment))
        end = offsets[-1] + _byte_size_of(argument)
    function.attributes[ARGUMENTS_ATTRIBUTE] = DenseArrayBase.from_list(i64, offsets)
    return end


def _assign_global_offset(op: memref.GlobalOp, outer: target.Level, end: int) -> int:
    offset = align(end, outer.alignment)
    op.attributes[OFFSET_ATTRIBUTE] = IntegerAttr(offset, i64)
    return offset + byte_count(op.type)


def _byte_size_of(buffer: SSAValue) -> int:
    return byte_count(memref_type(buffer))


@dataclass
class _AllocationPlanner:
    """Static allocation of the buffers of one function."""

    function: func.FuncOp
    machine: target.TargetSpec
    share: bool

    def plan(self, outer_end: int) -> None:
        """
        Assign offsets to all allocations; the outermost level is occupied up to
        `outer_end`.
        """
        allocations: dict[str, list[mem.AllocOp]] = {}
        for each in self.function.body.walk():
            if isinstance(each, mem.AllocOp):
                allocations.setdefault(each.level, []).append(each)
        peaks: dict[str, Attribute] = {}
        for level in self.machine.levels.values():
            start = outer_end if level is self.machine.outermost else 0
            ops = allocations.pop(level.name, [])
            peaks[level.name] = IntegerAttr(self.plan_level(level, ops, start), i64)
        for ops in allocations.values():
            _raise_unknown_level(ops[0], self.machine)
        self.function.attributes[PEAK_ATTRIBUTE] = DictionaryAttr(peaks)

    def plan_level(
        self,
        level: target.Level,
        ops: Sequence[mem.AllocOp],
        start: int,
    ) -> int:
        """
        Assign offsets to the allocations of a level from `start` on, and return their
        end.
        """
        start = align(start, level.alignment) if ops else start
        available = level.capacity - start
        placement = self._allocate_level(ops, level, available)
        if placement.peak > available and hoist_waits_to_free(
            self.function, level.name
        ):
            placement = self._allocate_level(ops, level, available)
        peak = start + placement.peak
        if peak > level.capacity:
            live = max_live_bytes(
                self._to_allocation_buffers(ops, level, self._compute_liveness())
            )
            _raise_too_small(self.function, level, peak, start + live)
        for op, offset in zip(ops, placement.offsets, strict=True):
            op.offset = IntegerAttr(start + offset, i64)
        return peak

    def _allocate_level(
        self, ops: Sequence[mem.AllocOp], level: target.Level, room: int
    ) -> Allocation:
        liveness = self._compute_liveness()
        buffers = self._to_allocation_buffers(ops, level, liveness)
        levels = list(self.machine.levels)
        uses = [to_buffer_use(op, liveness, levels) for op in ops]
        return allocate_program(buffers, room, uses, share=self.share)

    def _compute_liveness(self) -> MemLiveness:
        return MemLiveness.of(self.function.body)

    @staticmethod
    def _to_allocation_buffers(
        ops: Sequence[mem.AllocOp], level: target.Level, liveness: MemLiveness
    ) -> list[Buffer]:
        return [to_allocation_buffer(op, liveness, level.alignment) for op in ops]


def _raise_unknown_level(op: mem.AllocOp, machine: target.TargetSpec) -> NoReturn:
    raise PassFailedException(
        f"expected a level of {', '.join(machine.levels)}, got {op.level}"
    )


def _raise_too_small(
    op: func.FuncOp, level: target.Level, peak: int, live: int
) -> NoReturn:
    raise PassFailedException(
        f"@{op.sym_name.data}: expected buffers within the {level.capacity} bytes of "
        f"{level.name}, got a peak of {peak} bytes ({live} live at once)"
    )


def to_allocation_buffer(
    op: mem.AllocOp, liveness: MemLiveness, alignment: int
) -> Buffer:
    """
    Return an allocation as a buffer with a live range: the step of the allocation if
    the buffer has no uses.
    """
    interval = liveness.live_range_of(op.buffer)
    first, last = interval if interval is not None else liveness.step_ranges[op]
    return Buffer.live_during(_byte_size_of(op.buffer), first, last + 1, alignment)


def to_buffer_use(op: mem.AllocOp, liveness: MemLiveness, levels: Sequence[str]) -> Use:
    """
    Return the first and last use of an allocation; `levels` are the memory levels,
    innermost first.
    """
    waits = (mem.WaitOp, scf.ForOp)
    used = [
        each for each in users_of_buffer(op.buffer) if not isinstance(each, waits)
    ] or [op]
    used.sort(key=liveness.step_ranges.__getitem__)
    first, last = used[0], used[-1]
    return Use(
        liveness.step_ranges[first][0],
        liveness.step_ranges[last][0],
        _engine_stage(first, levels),
        _engine_stage(last, levels),
        loops_around(op, liveness),
    )


def _engine_stage(op: Operation, levels: Sequence[str]) -> int:
    move = None
    if isinstance(op, mem.Move):
        source, destination = (
            levels.index(mem.level_of(end.type)) for end in (op.source, op.destination)
        )
        move = source, destination
    return engine_stage(len(levels), move, product=isinstance(op, mem.ContractOp))


def loops_around(op: mem.AllocOp, liveness: MemLiveness) -> list[tuple[int, int]]:
    """Return the step ranges of the loops around an allocation, outermost first."""
    ranges: list[tuple[int, int]] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        first, last = liveness.step_ranges[parent]
        ranges.append((first, last + 1))
        parent = parent.parent_op()
    return ranges[::-1]
