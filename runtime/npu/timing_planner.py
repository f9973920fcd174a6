"""
Simulator: construction of timing plans of loops, vectorized over iterations.

The rows of a column are the executions of a block. Rows with equal cost parameters
share one plan. So a loop becomes a sequence of plans.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tlf.machine.instruction_costs import InstructionCosts
from tlf.runtime.npu.core_lanes import (
    CoreLane,
    LoopExecutions,
    copy_registers_to_inactive_lanes,
)
from tlf.runtime.npu.cost_parameters import (
    column_of_operand,
    cost_of_instruction,
    cost_parameters_of_instruction,
)
from tlf.runtime.npu.npu_program import (
    Cores,
    Instruction,
    Loop,
    Program,
    ScalarInstruction,
    Signal,
    Wait,
    instruction_kind_of,
)
from tlf.runtime.npu.register_intervals import IrregularError, compute_operand_intervals
from tlf.runtime.npu.scalar_arithmetic import (
    Column,
    Numbers,
    elementwise_column_maximum,
    evaluate_scalar_on_columns,
    find_distinct_rows,
    minimum_of_column,
)
from tlf.runtime.npu.timing_demand import EXACT, TimingDemand
from tlf.runtime.npu.timing_plan import (
    Action,
    RepeatedPlans,
    SignalOrWait,
    TimingPlan,
    build_timing_plan,
)

_PATTERN_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128)
_MIN_REPETITIONS = 4
"""Minimum number of repetitions of a pattern of more than one element."""

_ROWS = 1 << 16
"""Maximum number of rows of a column."""


class TimingPlanner:
    """
    Planner of the blocks of a program. Raises `IrregularError` for irregular programs.
    """

    def __init__(self, program: Program, costs: InstructionCosts) -> None:
        compute_operand_intervals(program.body)
        self._program = program
        self._costs = costs
        self._demands = TimingDemand(program.machine)
        self._demands.demand_before_block(program.body)
        self._plans: list[TimingPlan] = []
        self._runs: list[tuple[RepeatedPlans, ...]] = []
        self._known: dict[tuple[int, Sequence[int] | bytes], int] = {}

    def plan_program(self) -> TimingPlan:
        """Return the plan of the program. Raises `IrregularError`."""
        plans = self._plan_block(0, self._program.body, 1, (CoreLane(None, {}),))
        return self._plans[minimum_of_column(plans)]

    def _plan_block(
        self,
        line: int,
        body: Sequence[Instruction],
        row_count: int,
        lanes: Sequence[CoreLane],
    ) -> Column:
        """Return the plan index of every row; `line` identifies the block."""
        lanes = [replace(lane, columns=dict(lane.columns)) for lane in lanes]
        slots: list[Column] = [lane.active for lane in lanes]
        for op in body:
            match op:
                case ScalarInstruction():
                    for lane in lanes:
                        self._evaluate_scalar_on_columns(op, lane.columns)
                case Loop():
                    slots.append(self._plan_loop(op, row_count, lanes))
                case Cores():
                    slots.append(self._plan_cores(op, row_count, lanes[0]))
                case _:
                    for lane in lanes:
                        slots += cost_parameters_of_instruction(
                            op, lane.columns, self._program.machine
                        )
        first, inverse = find_distinct_rows(slots, row_count)
        cores = [lane.core for lane in lanes]
        plans = [
            self._intern_plan(
                line, body, cores, [_value_in_row(slot, row) for slot in slots]
            )
            for row in first.tolist()
        ]
        return _expand_distinct_rows(plans, inverse)

    def _evaluate_scalar_on_columns(
        self, op: ScalarInstruction, columns: dict[str, Column]
    ) -> None:
        """
        Set the target's column in `columns` for all rows, if time depends on the
        instruction.
        """
        if op.line not in self._demands.lines:
            return
        values = [column_of_operand(value, columns) for value in op.operands]
        if op.operation in ("div", "rem") and not np.all(values[1]):
            raise IrregularError("integer division by zero")
        columns[op.target] = evaluate_scalar_on_columns(op.operation, values)

    def _intern_plan(
        self,
        line: int,
        body: Sequence[Instruction],
        cores: Sequence[int | None],
        values: Sequence[int],
    ) -> int:
        """Return the index of the plan for `values` of a block, building it once."""
        key = line, tuple(values)
        if key not in self._known:
            remaining = iter(values)
            active = [next(remaining) for _ in cores]
            actions = [
                (
                    instruction_kind_of(op),
                    list(self._actions_of_instruction(op, cores, active, remaining)),
                )
                for op in body
            ]
            self._known[key] = len(self._plans)
            issue = self._program.machine.issue_cycles
            self._plans.append(build_timing_plan(issue, actions))
        return self._known[key]

    def _plan_cores(self, op: Cores, row_count: int, outer_lane: CoreLane) -> Column:
        """
        Plan a `cores` block; return, per row, the index of an interned sequence of its
        one plan.
        """
        lanes = [
            CoreLane(core, {**outer_lane.columns, op.register: core})
            for core in range(op.count)
        ]
        plans = self._plan_block(op.line, op.body, row_count, lanes)
        if isinstance(plans, int):
            return self._intern_plan_sequence(op, (plans, 1))
        return np.array(
            [self._intern_plan_sequence(op, (plan, 1)) for plan in plans.tolist()]
        )

    def _plan_loop(self, op: Loop, row_count: int, lanes: Sequence[CoreLane]) -> Column:
        """
        Plan distinct executions of a loop; return, per row, an index of an interned
        sequence.
        """
        runs = [self._loop_executions_of(op, lane) for lane in lanes]
        slots = [slot for run in runs for slot in run.distinguishing_columns()]
        first, inverse = find_distinct_rows(slots, row_count)
        return _expand_distinct_rows(
            self._plan_iteration_sequences(
                op, len(first), [r.select_execution_rows(first) for r in runs]
            ),
            inverse,
        )

    def _loop_executions_of(self, op: Loop, lane: CoreLane) -> LoopExecutions:
        """Return the trip counts and relevant registers of a loop, by row of `lane`."""
        lower, upper, step = (
            column_of_operand(value, lane.columns)
            for value in (op.lower, op.upper, op.step)
        )
        if minimum_of_column(step) < 1:
            raise IrregularError("a step below 1")
        trips = elementwise_column_maximum(-((lower - upper) // step), 0)
        demand = self._demands.loops[op.line]
        inputs: dict[str, Column] = {}
        for name, modulus in demand.items():
            column = lower if name == op.register else lane.columns[name]
            inputs[name] = column if modulus == EXACT else column % modulus
        if op.register not in demand:
            step = 1
        return LoopExecutions(lane.core, lane.active, trips, step, inputs)

    def _plan_iteration_sequences(
        self, op: Loop, row_count: int, executions_by_core: Sequence[LoopExecutions]
    ) -> list[int]:
        """
        Return, per row, the index of the interned sequence of iteration plans of a
        loop.
        """
        trips = [
            np.broadcast_to(np.asarray(run.trips), (row_count,))
            for run in executions_by_core
        ]
        counts = np.maximum.reduce(trips)
        is_alike = all(np.array_equal(each, counts) for each in trips)
        if is_alike and op.register not in executions_by_core[0].inputs:
            executed = np.flatnonzero(counts)
            lanes = [
                run.lane_of_uniform_iterations(executed) for run in executions_by_core
            ]
            plans = (
                self._plan_block(op.line, op.body, len(executed), lanes)
                if len(executed)
                else 0
            )
            plan_of_row = np.zeros(row_count, np.int64)
            plan_of_row[executed] = plans
            return [
                self._intern_plan_sequence(op, (plan, count))
                for plan, count in zip(
                    plan_of_row.tolist(), counts.tolist(), strict=True
                )
            ]
        return self._plan_each_iteration(op, counts, executions_by_core)

    def _plan_each_iteration(
        self, op: Loop, counts: Numbers, executions_by_core: Sequence[LoopExecutions]
    ) -> list[int]:
        """Return the index of a sequence for every row, planned by iteration."""
        ends = np.cumsum(counts)
        starts = ends - counts
        total = int(ends[-1])
        plans = np.empty(total, np.int32)
        for begin in range(0, total, _ROWS):
            flat = np.arange(begin, min(begin + _ROWS, total))
            row = np.searchsorted(ends, flat, side="right")
            iteration = flat - starts[row]
            lanes = copy_registers_to_inactive_lanes(
                [
                    run.lane_at_iteration(op.register, row, iteration)
                    for run in executions_by_core
                ]
            )
            plans[flat] = self._plan_block(op.line, op.body, len(flat), lanes)
        return [
            self._intern_plan_sequence(op, plans[start:end].tobytes())
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def _intern_plan_sequence(
        self, op: Loop | Cores, plans: bytes | tuple[int, int]
    ) -> int:
        """
        Return the index of a sequence, given as plan indices, or as one plan with its
        count.
        """
        key = -op.line, plans
        if key not in self._known:
            if isinstance(plans, tuple):
                repeats = [((plans[0],), plans[1])] if plans[1] else []
            else:
                repeats = find_repeated_patterns(
                    np.frombuffer(plans, np.int32).astype(np.int64)
                )
            self._known[key] = len(self._runs)
            self._runs.append(
                tuple(
                    RepeatedPlans(tuple(self._plans[index] for index in pattern), count)
                    for pattern, count in repeats
                )
            )
        return self._known[key]

    def _actions_of_instruction(
        self,
        op: Instruction,
        cores: Sequence[int | None],
        active: Sequence[int],
        values: Iterator[int],
    ) -> Iterator[Action]:
        """
        Yield the timed actions of an instruction on active cores, given its slot
        `values`.
        """
        if isinstance(op, Loop | Cores):
            yield self._runs[next(values)]
            return
        for core, is_active in zip(cores, active, strict=True):
            if isinstance(op, Signal | Wait):
                action = self._signal_or_wait_action(op, core)
            else:
                cost = cost_of_instruction(op, values, self._costs)
                action = cost and self._costs.move_cost_to_core(cost, core or 0)
            if is_active and action is not None:
                yield action

    def _signal_or_wait_action(
        self, op: Signal | Wait, core: int | None
    ) -> SignalOrWait:
        units = self._costs.queues_of(op.engine)
        queues = units if core is None else units[core : core + 1]
        return SignalOrWait(isinstance(op, Signal), queues, op.semaphore, core)


def _expand_distinct_rows(
    distinct_values: Sequence[int], inverse_rows: Numbers
) -> Column:
    """
    Return the value of each row, given the values of distinct rows and their inverse.
    """
    if len(distinct_values) == 1:
        return distinct_values[0]
    return np.array(distinct_values, np.int64)[inverse_rows]


def _value_in_row(column: Column, row: int) -> int:
    return column if isinstance(column, int) else int(column[row])


def find_repeated_patterns(plan_indices: Numbers) -> list[tuple[tuple[int, ...], int]]:
    """
    Split a sequence into patterns, each with its number of consecutive repetitions.
    """
    size = len(plan_indices)
    ends = {
        length: _ends_of_periodic_matches(plan_indices, length)
        for length in _PATTERN_LENGTHS
        if length < size
    }
    result: list[tuple[tuple[int, ...], int]] = []
    start = 0
    while start < size:
        length, count = 1, 1
        for each, end in ends.items():
            if start + each >= size:
                break
            # Elements match those `each` positions later up to `end`.
            times = (int(end[start]) + each - start) // each
            if (
                times > 1
                and (each == 1 or times >= _MIN_REPETITIONS)
                and times * each > count
            ):
                length, count = each, times
                break
        result.append((tuple(plan_indices[start : start + length].tolist()), count))
        start += length * count
    return result


def _ends_of_periodic_matches(numbers: Numbers, pattern_length: int) -> Numbers:
    """
    Return, for each position, the next one whose element differs from that
    `pattern_length` positions later.
    """
    same = numbers[:-pattern_length] == numbers[pattern_length:]
    positions = np.where(same, len(same), np.arange(len(same)))
    return np.minimum.accumulate(positions[::-1])[::-1]
