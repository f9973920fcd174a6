"""
All iterations of all loops of a program at once, as columns of numbers.

The rows of a column are the runs of a block. From the columns of what costs depend on,
rows that are alike are told apart from others, and become one plan. So a loop becomes a
sequence of plans.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tlf.machine.costs import Costs
from tlf.runtime.npu.demand import EXACT, Demands
from tlf.runtime.npu.patterns import patterns
from tlf.runtime.npu.plans import Action, Plan, Repeats, Synchronise, plan_of
from tlf.runtime.npu.program import (
    Instruction,
    Loop,
    Program,
    Scalar,
    Signal,
    Wait,
    kind_of,
)
from tlf.runtime.npu.regular import IrregularError, intervals
from tlf.runtime.npu.scalars import (
    Column,
    Columns,
    Numbers,
    calculate_all,
    distinct_rows,
    greater,
    least,
)
from tlf.runtime.npu.slots import column_of, cost_of, slots_of

_ROWS = 1 << 16
"""Rows of a column, at most."""


class Iterations:
    """
    Makes plans of the blocks of a program. Raises `IrregularError` if it is irregular.
    """

    def __init__(self, program: Program, costs: Costs) -> None:
        intervals(program.body)
        self._program = program
        self._costs = costs
        self._demands = Demands(program.machine)
        self._demands.block(program.body)
        self._plans: list[Plan] = []
        self._runs: list[tuple[Repeats, ...]] = []
        self._known: dict[tuple[int, Sequence[int] | bytes], int] = {}

    def plan(self) -> Plan:
        """Return the plan of the whole program. Raises `IrregularError`."""
        plans = self._block(0, self._program.body, 1, {})
        return self._plans[least(plans)]

    def _block(
        self, line: int, body: Sequence[Instruction], rows: int, before: Columns
    ) -> Column:
        """Return the number of a plan for every row; `line` names the block."""
        columns = dict(before)
        slots: list[Column] = []
        for op in body:
            match op:
                case Scalar() if op.line in self._demands.lines:
                    values = [column_of(value, columns) for value in op.operands]
                    if op.operation in ("div", "rem") and not np.all(values[1]):
                        raise IrregularError("integer division by zero")
                    columns[op.target] = calculate_all(op.operation, values)
                case Loop():
                    slots.append(self._loop(op, rows, columns))
                case _:
                    slots += slots_of(op, columns, self._program.machine)
        first, like = distinct_rows(slots, rows)
        found = [
            self._plan(line, body, [_at(slot, row) for slot in slots])
            for row in first.tolist()
        ]
        return _spread(found, like)

    def _plan(
        self, line: int, body: Sequence[Instruction], values: Sequence[int]
    ) -> int:
        key = line, tuple(values)
        if key not in self._known:
            left = iter(values)
            actions = [(kind_of(op), self._action(op, left)) for op in body]
            self._known[key] = len(self._plans)
            issue = self._program.machine.issue_cycles
            self._plans.append(plan_of(issue, actions))
        return self._known[key]

    def _loop(self, op: Loop, rows: int, columns: Columns) -> Column:
        """Return the number of a sequence of plans for every row."""
        lower, upper, step = (
            column_of(value, columns) for value in (op.lower, op.upper, op.step)
        )
        if least(step) < 1:
            raise IrregularError("a step below 1")
        trips = greater(-((lower - upper) // step), 0)
        demand = self._demands.loops[op.line]
        inputs: dict[str, Column] = {}
        for name, modulus in demand.items():
            column = lower if name == op.register else columns[name]
            inputs[name] = column if modulus == EXACT else column % modulus
        if op.register not in demand:
            step = 1
        slots = [trips, step, *inputs.values()]
        first, like = distinct_rows(slots, rows)
        trips, step, *taken = (
            slot if isinstance(slot, int) else slot[first] for slot in slots
        )
        names = dict(zip(inputs, taken, strict=True))
        return _spread(self._sequences(op, len(first), trips, step, names), like)

    def _sequences(
        self, op: Loop, rows: int, trips: Column, step: Column, inputs: Columns
    ) -> list[int]:
        """`inputs` has the lower bounds under the register of the loop."""
        counts = np.broadcast_to(np.asarray(trips, np.int64), (rows,))
        if op.register not in inputs:
            ran = np.flatnonzero(counts)
            taken = {name: _pick(column, ran) for name, column in inputs.items()}
            plans = self._block(op.line, op.body, len(ran), taken) if len(ran) else 0
            every = np.zeros(rows, np.int64)
            every[ran] = plans
            return [
                self._sequence(op, (plan, count))
                for plan, count in zip(every.tolist(), counts.tolist(), strict=True)
            ]
        ends = np.cumsum(counts)
        starts = ends - counts
        total = int(ends[-1])
        plans = np.empty(total, np.int32)
        for begin in range(0, total, _ROWS):
            flat = np.arange(begin, min(begin + _ROWS, total))
            row = np.searchsorted(ends, flat, side="right")
            taken = {name: _pick(column, row) for name, column in inputs.items()}
            taken[op.register] = taken[op.register] + (flat - starts[row]) * _pick(
                step, row
            )
            plans[flat] = self._block(op.line, op.body, len(flat), taken)
        return [
            self._sequence(op, plans[start:end].tobytes())
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def _sequence(self, op: Loop, plans: bytes | tuple[int, int]) -> int:
        """
        Return the number of a sequence: of plans by their numbers, or of one plan and
        how often.
        """
        key = -op.line, plans
        if key not in self._known:
            if isinstance(plans, tuple):
                cut = [((plans[0],), plans[1])] if plans[1] else []
            else:
                cut = patterns(np.frombuffer(plans, np.int32).astype(np.int64))
            self._known[key] = len(self._runs)
            self._runs.append(
                tuple(
                    Repeats(tuple(self._plans[number] for number in pattern), count)
                    for pattern, count in cut
                )
            )
        return self._known[key]

    def _action(self, op: Instruction, values: Iterator[int]) -> Action | None:
        """Return what is to be done of an instruction with its slots known."""
        match op:
            case Signal() | Wait():
                queue = self._costs.queues[op.engine]
                return Synchronise(isinstance(op, Signal), queue, op.semaphore)
            case Loop():
                return self._runs[next(values)]
            case _:
                return cost_of(op, values, self._costs)


def _spread(numbers: Sequence[int], like: Numbers) -> Column:
    """Give every row the number of the one that it is like."""
    if len(numbers) == 1:
        return numbers[0]
    return np.array(numbers, np.int64)[like]


def _pick(column: Column, rows: Numbers) -> Column:
    return column if isinstance(column, int) else column[rows]


def _at(column: Column, row: int) -> int:
    return column if isinstance(column, int) else int(column[row])
