"""
Cost model of NPU tile programs: execution of a whole schedule on the event model of the
machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlf.machine.instruction_costs import InstructionCosts
from tlf.planner.cost.program.buffer_sharing import Sharing
from tlf.planner.cost.program.instruction_nests import Item
from tlf.planner.cost.program.issue_slots import IssueSlots
from tlf.planner.cost.program.multicore_clock import MulticoreClock
from tlf.planner.cost.program.schedule_clock import ScheduleClock
from tlf.planner.cost.program.timestamp_layout import TimestampLayout


def run_schedule(
    items: Sequence[Item],
    costs: InstructionCosts,
    sharing: Sharing,
    max_instructions: int | None = None,
) -> ScheduleClock:
    """
    Run a schedule from an idle machine; `sharing` are the buffers that share bytes.
    Raises `TooManyInstructionsError` if more than `max_instructions` instructions are
    executed.
    """
    clock_type = MulticoreClock if costs.machine.cores > 1 else ScheduleClock
    clock = clock_type(
        costs,
        TimestampLayout.from_schedule(items, sharing),
        IssueSlots.count_in_schedule(items, sharing),
        max_instructions,
    )
    clock.run_items(items)
    return clock
