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

from tlf.analysis.buffers.mem_liveness import (
    MemLiveness,
    to_allocation_buffer,
    users_of_buffer,
)
from tlf.dialects import mem, target
from tlf.dialects.mixed_offsets import IntArray
from tlf.dialects.types import byte_count, memref_type
from tlf.passes.mem.early_waits import hoist_waits_to_free_sources
from tlf.support.allocation import (
    Allocation,
    Buffer,
    BufferUse,
    align_offset,
    allocate_program_buffers,
    max_live_bytes,
    pipeline_stage_of_engine,
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
        machine = target.TargetSpec.read_from_module(op)
        functions = [
            function
            for function in op.walk()
            if isinstance(function, func.FuncOp) and not function.is_declaration
        ]
        outer = machine.outermost_level
        end = max(
            (_assign_argument_offsets(each, outer) for each in functions), default=0
        )
        for each in op.walk():
            if isinstance(each, memref.GlobalOp):
                end = _assign_global_offset(each, outer, end)
        for function in functions:
            _AllocationPlanner(
                function, machine, self.share
            ).assign_offsets_of_all_levels(end)


def _assign_argument_offsets(function: func.FuncOp, outer_level: target.Level) -> int:
    """
    Assign consecutive byte offsets to the arguments of a function, and return their
    end. Raises `PassFailedException` for arguments outside of the outermost level.
    """
    offsets: list[int] = []
    end = 0
    for argument in function.args:
        if mem.level_of(argument.type) != outer_level.name:
            raise PassFailedException(
                f"@{function.sym_name.data}: expected arguments in "
                f"{outer_level.name}, got "
                f"{argument.type}"
            )
        offsets.append(align_offset(end, outer_level.alignment))
        end = offsets[-1] + _byte_size_of(argument)
    function.attributes[ARGUMENTS_ATTRIBUTE] = DenseArrayBase.from_list(i64, offsets)
    return end


def _assign_global_offset(
    op: memref.GlobalOp, outer_level: target.Level, occupied_end: int
) -> int:
    offset = align_offset(occupied_end, outer_level.alignment)
    op.attributes[OFFSET_ATTRIBUTE] = IntegerAttr(offset, i64)
    return offset + byte_count(op.type)


def _byte_size_of(buffer: SSAValue) -> int:
    return byte_count(memref_type(buffer))


@dataclass
class _AllocationPlanner:
    """Planner that assigns each `mem.alloc` of one function an offset in its level."""

    function: func.FuncOp
    target_spec: target.TargetSpec
    shares_addresses: bool

    def assign_offsets_of_all_levels(self, occupied_outer_end: int) -> None:
        """
        Assign offsets to all allocations; the outermost level is occupied up to
        `occupied_outer_end`.
        """
        allocations: dict[str, list[mem.AllocOp]] = {}
        for each in self.function.body.walk():
            if isinstance(each, mem.AllocOp):
                allocations.setdefault(each.level, []).append(each)
        peaks: dict[str, Attribute] = {}
        for level in self.target_spec.levels.values():
            start = (
                occupied_outer_end if level is self.target_spec.outermost_level else 0
            )
            ops = allocations.pop(level.name, [])
            peaks[level.name] = IntegerAttr(
                self.assign_offsets_of_level(level, ops, start), i64
            )
        for ops in allocations.values():
            _raise_unknown_level(ops[0], self.target_spec)
        self.function.attributes[PEAK_ATTRIBUTE] = DictionaryAttr(peaks)

    def assign_offsets_of_level(
        self,
        level: target.Level,
        allocations: Sequence[mem.AllocOp],
        start: int,
    ) -> int:
        """
        Assign offsets to the allocations of a level from `start` on, and return their
        end.
        """
        start = align_offset(start, level.alignment) if allocations else start
        available = level.capacity - start
        placement = self._find_offsets_in_level(allocations, level, available)
        if placement.peak > available and hoist_waits_to_free_sources(
            self.function, level.name
        ):
            placement = self._find_offsets_in_level(allocations, level, available)
        peak = start + placement.peak
        if peak > level.capacity:
            live = max_live_bytes(
                self._to_allocation_buffers(
                    allocations, level, self._compute_liveness()
                )
            )
            _raise_level_too_small(self.function, level, peak, start + live)
        for op, offset in zip(allocations, placement.offsets, strict=True):
            op.offset = IntegerAttr(start + offset, i64)
        return peak

    def _find_offsets_in_level(
        self, ops: Sequence[mem.AllocOp], level: target.Level, available_bytes: int
    ) -> Allocation:
        """Return the offsets and peak of `ops` in a level, by current live ranges."""
        liveness = self._compute_liveness()
        levels = list(self.target_spec.levels)
        buffers, uses = list[Buffer](), list[BufferUse]()
        for op in ops:
            users = list(users_of_buffer(op.buffer))
            buffers.append(to_allocation_buffer(op, liveness, level.alignment, users))
            uses.append(first_and_last_use_of(op, liveness, levels, users))
        return allocate_program_buffers(
            buffers, available_bytes, uses, share=self.shares_addresses
        )

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


def _raise_level_too_small(
    op: func.FuncOp, level: target.Level, peak: int, live: int
) -> NoReturn:
    """Raise `PassFailedException` with the peak and live bytes of a level."""
    raise PassFailedException(
        f"@{op.sym_name.data}: expected buffers within the {level.capacity} bytes of "
        f"{level.name}, got a peak of {peak} bytes ({live} live at once)"
    )


def first_and_last_use_of(
    op: mem.AllocOp,
    liveness: MemLiveness,
    levels: Sequence[str],
    users: Sequence[Operation],
) -> BufferUse:
    """
    Return the first and last use of an allocation by its users; `levels` are the memory
    levels, innermost first.
    """
    waits = (mem.WaitOp, scf.ForOp)
    used = [each for each in users if not isinstance(each, waits)] or [op]
    used.sort(key=liveness.step_ranges.__getitem__)
    first, last = used[0], used[-1]
    return BufferUse(
        liveness.step_ranges[first][0],
        liveness.step_ranges[last][0],
        _engine_stage_of_operation(first, levels),
        _engine_stage_of_operation(last, levels),
        step_ranges_of_enclosing_loops(op, liveness),
    )


def _engine_stage_of_operation(op: Operation, levels: Sequence[str]) -> int:
    """Return the pipeline stage of the engine that runs a move or computation."""
    move = None
    if isinstance(op, mem.Move):
        source, destination = (
            levels.index(mem.level_of(end.type)) for end in (op.source, op.destination)
        )
        move = source, destination
    return pipeline_stage_of_engine(
        len(levels), move, is_product=isinstance(op, mem.ContractOp)
    )


def step_ranges_of_enclosing_loops(
    op: mem.AllocOp, liveness: MemLiveness
) -> list[tuple[int, int]]:
    """Return the step ranges of the loops around an allocation, outermost first."""
    ranges: list[tuple[int, int]] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        first, last = liveness.step_ranges[parent]
        ranges.append((first, last + 1))
        parent = parent.parent_op()
    return ranges[::-1]
