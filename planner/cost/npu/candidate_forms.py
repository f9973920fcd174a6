"""
Closed forms of the candidates of a tile search: estimate and peak bytes of a group for
all tile sizes, without a program or buffers for each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property, partial
from math import prod
from typing import NamedTuple, TypeAlias, cast

from xdsl.ir import SSAValue

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TiledOperation,
    TilingError,
)
from tlf.analysis.tiling.parametric_tiling import TilingForm
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.dialects.interfaces import IndexedReadInterface, TilingInterface
from tlf.machine.instruction_costs import Cost
from tlf.planner.cost.npu.event_program import Item, Loop
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.inner_cost_model import InnerCostModel
from tlf.planner.cost.npu.iterations_in_flight import SINGLE, IterationsInFlight
from tlf.planner.cost.npu.nest_program import NestProgram
from tlf.planner.cost.npu.program_estimate import ProgramEstimate
from tlf.planner.cost.npu.tile_footprint import TileBuffers
from tlf.planner.cost.npu.tile_instructions import TileInstructions
from tlf.planner.cost.npu.transfer_costs import TransferCosts
from tlf.support.affine.index_access import Box
from tlf.support.symbolic.traced_integer import Trace, UntraceableError

Numbers: TypeAlias = tuple[int, ...]

KnownCosts: TypeAlias = dict[Hashable, dict[Numbers, Cost]]
"""Costs of the instructions of a search, by kind of instruction and numbers."""


class CostForm(NamedTuple):
    """Cost of an instruction as a function of traced numbers."""

    kind: Hashable
    function: Callable[[Numbers], Cost]
    numbers: Numbers

    @staticmethod
    def create(
        kind: Hashable, function: Callable[[Numbers], Cost], numbers: Sequence[int]
    ) -> Cost:
        """Return the form, typed as the cost that it stands for."""
        return cast(Cost, CostForm(kind, function, tuple(numbers)))


class TracedTransfers(TransferCosts):
    """Transfer costs of traced boxes as closed forms."""

    def __init__(self, moves: TransferCosts) -> None:
        super().__init__(
            moves.costs, moves.near, moves.far, is_axis_ordered=moves.ordered
        )
        self._moves = moves

    def load_cost_of(self, value: SSAValue, box: Box) -> Cost:
        """Return the closed form of the cost of a load."""
        return self._move_form_of(self.load, value, box)

    def store_cost_of(self, value: SSAValue, box: Box) -> Cost:
        """Return the closed form of the cost of a store."""
        return self._move_form_of(self.store, value, box)

    def gather_cost_of(self, op: IndexedReadInterface, box: Box) -> Cost:
        """Return the closed form of the cost of a gather."""
        function = partial(self._moves.gather_cost_of_extents, op)
        return CostForm.create(op, function, _extents_of(box))

    def _move_form_of(self, engine: str, value: SSAValue, box: Box) -> Cost:
        function = partial(self._moves.move_cost_of_extents, engine, value)
        return CostForm.create((engine, value), function, _extents_of(box))


class TracedInstructions(TileInstructions):
    """Costs of the instructions of traced tiles as closed forms."""

    def __init__(self, work: TileInstructions) -> None:
        super().__init__(work.costs)
        self._work = work

    def _slow_operation_flags(
        self, op: TilingInterface, facts: OpFacts
    ) -> tuple[bool, ...]:
        return self._work._slow_operation_flags(op, facts)

    def cost_of_elementwise(self, count: int, is_slow: bool = False) -> Cost:
        """Return the closed form of the cost of a vector instruction."""

        def cost_of(numbers: Numbers) -> Cost:
            return self._work.cost_of_elementwise(numbers[0], is_slow)

        return CostForm.create(is_slow, cost_of, (count,))

    def product_cost_of(self, tiled: TiledOperation) -> Cost:
        """Return the closed form of the cost of a matrix product."""
        work, (extents, windows) = self._work, self.product_tile_of(tiled)
        return CostForm.create(
            (tiled.op, windows is None),
            lambda each: work.product_of_extents(tiled, each, windows)[1],
            extents,
        )


class _TaskForm(NamedTuple):
    """Equal instructions of a program: slots of a trace, and how often they run."""

    known: dict[Numbers, Cost]
    function: Callable[[Numbers], Cost]
    slots: tuple[int, ...]
    executions: int
    """Slot of the number of executions of each."""
    multiplicity: int


class _BufferForm(NamedTuple):
    """Bytes of a buffer: slots of a trace."""

    byte_count: int
    in_flight_bytes: int
    is_reduce_stage: bool


class CandidateForm:
    """Closed form of the estimate and the buffers of all tiles of a tiling's form."""

    def __init__(
        self,
        form: TilingForm,
        moves: TracedTransfers,
        work: TracedInstructions,
        steps: ExecutionSteps,
        known_costs: KnownCosts,
    ) -> None:
        """Raises `UntraceableError` if there is no closed form."""
        self._trace, tiling = form.trace, form.tiling
        self._trace.start_extension()
        program = NestProgram(tiling, moves, work, SINGLE, None).build_program()
        self._tasks = _task_forms_of(program, self._trace, known_costs)
        self._trips = [
            self._trace.slot_of(prod([loop.trips for loop in loops.values()]))
            for loops in (tiling.loops, tiling.inner_loops)
        ]
        self._buffers, self._live_sets = _buffer_forms_of(tiling, steps, self._trace)

    def candidate_with(self, values: list[int]) -> FormCandidate | None:
        """
        Return the candidate for the values of a form; `None` if the closed form does
        not hold for them.
        """
        return (
            FormCandidate(self, values)
            if self._trace.evaluate_extension(values)
            else None
        )

    def estimate_with(self, values: Sequence[int]) -> ProgramEstimate:
        """Return the totals of the program for the values of all slots."""
        serial, busy = 0, dict[int, int]()
        for known, function, slots, executions, count in self._tasks:
            numbers = tuple([values[slot] for slot in slots])
            if (cost := known.get(numbers)) is None:
                cost = known[numbers] = function(numbers)
            times = values[executions] * count
            serial += (cost.cycles + cost.latency) * times
            busy[cost.queue] = busy.get(cost.queue, 0) + cost.cycles * times
            for channel, cycles in cost.channel_occupancy:
                busy[-1 - channel] = busy.get(-1 - channel, 0) + cycles * times
        return ProgramEstimate.of_busy_cycles(serial, busy)

    def peak_bytes_with(
        self, values: Sequence[int], in_flight: IterationsInFlight
    ) -> int:
        """Return the peak bytes of iterations in flight for the values of all slots."""
        tiles, stages = (
            min(count, values[trips]) - 1
            for count, trips in zip(in_flight, self._trips, strict=True)
        )
        sizes = [
            values[size] + values[ahead] * (stages if is_reduce_stage else tiles)
            for size, ahead, is_reduce_stage in self._buffers
        ]
        return max(
            [sum([sizes[index] for index in live]) for live in self._live_sets],
            default=0,
        )


class FormCandidate(NamedTuple):
    """Tiles of a group whose estimate and peak bytes follow from closed forms."""

    form: CandidateForm
    values: list[int]

    @property
    def estimate(self) -> ProgramEstimate:
        """Totals of the program."""
        return self.form.estimate_with(self.values)

    def peak_bytes_of(self, in_flight: IterationsInFlight) -> int:
        """Return the peak bytes of `in_flight` iterations."""
        return self.form.peak_bytes_with(self.values, in_flight)


class AnalyzedCandidate:
    """Tiles of a group whose estimate and peak bytes are those of their tiling."""

    def __init__(
        self, tiling: GroupTiling, cost_model: InnerCostModel, steps: ExecutionSteps
    ) -> None:
        self._tiling, self._steps = tiling, steps
        self.estimate = cost_model.estimate_program(tiling)

    @cached_property
    def _buffers(self) -> TileBuffers:
        return TileBuffers(self._tiling, steps=self._steps)

    def peak_bytes_of(self, in_flight: IterationsInFlight) -> int:
        """Return the peak bytes of `in_flight` iterations."""
        return self._buffers.peak_bytes_of(in_flight)


class CandidateForms:
    """
    Candidates of a group by tile sizes. Forms of tilings that are used more than once
    get closed forms of their estimates and buffers.
    """

    def __init__(
        self,
        members: GroupMembers,
        axes: TileableAxes,
        cost_model: InnerCostModel,
        steps: ExecutionSteps,
    ) -> None:
        self._model, self._steps = cost_model, steps
        self._tilings = members.parametric_tiling(
            cost_model.rules, len(axes.parallel), bool(axes.reduction)
        )
        self._moves = TracedTransfers(cost_model.moves)
        self._work = TracedInstructions(cost_model.work)
        self._costs: KnownCosts = {}
        self._forms: dict[TilingForm, CandidateForm | None] = {}
        """Closed forms of the candidates of each form; `None` if there is none."""

    def candidate_of(
        self, sizes: Sequence[int]
    ) -> FormCandidate | AnalyzedCandidate | None:
        """Return the candidate of some sizes; `None` if they are illegal."""
        try:
            found = self._tilings.find_form(sizes)
            if found is None:
                return self._candidate_of_tiling(self._tilings.analyze_new_path(sizes))
        except TilingError:
            return None
        form, values = found
        if form not in self._forms:
            self._forms[form] = self._find_closed_form(form)
            values = form.trace.evaluate(sizes) or values
        closed = self._forms[form]
        candidate = None if closed is None else closed.candidate_with(values)
        return candidate or self._candidate_of_tiling(form.instantiate(values))

    def _candidate_of_tiling(self, tiling: GroupTiling) -> AnalyzedCandidate:
        return AnalyzedCandidate(tiling, self._model, self._steps)

    def _find_closed_form(self, form: TilingForm) -> CandidateForm | None:
        """Return the closed form of the candidates of a form; `None` if it has none."""
        if self._model.costs.machine.cores > 1:
            return None
        try:
            return CandidateForm(
                form, self._moves, self._work, self._steps, self._costs
            )
        except UntraceableError:
            return None


def _extents_of(box: Box) -> list[int]:
    return [interval.tile_extent for interval in box]


def _task_forms_of(
    program: Sequence[Item], trace: Trace, known_costs: KnownCosts
) -> list[_TaskForm]:
    """Return the instructions of a program of closed forms, equal ones together."""
    counts: dict[tuple[Hashable, Numbers, int], int] = {}
    functions: dict[Hashable, Callable[[Numbers], Cost]] = {}
    for form, executions in _instructions_of(program, 1):
        slots = tuple([trace.slot_of(each) for each in form.numbers])
        key = form.kind, slots, trace.slot_of(executions)
        counts[key] = counts.get(key, 0) + 1
        functions[form.kind] = form.function
    return [
        _TaskForm(
            known_costs.setdefault(kind, {}), functions[kind], slots, executions, count
        )
        for (kind, slots, executions), count in counts.items()
    ]


def _instructions_of(
    items: Sequence[Item], executions: int
) -> Iterator[tuple[CostForm, int]]:
    """Yield the instructions of a program with their numbers of executions."""
    for item in items:
        if isinstance(item, Loop):
            yield from _instructions_of(item.body, executions * item.trips)
        else:
            yield cast(CostForm, item.cost), executions


def _buffer_forms_of(
    tiling: GroupTiling, steps: ExecutionSteps, trace: Trace
) -> tuple[list[_BufferForm], list[tuple[int, ...]]]:
    """Return the buffers of traced tiles, and the largest sets of live ones."""
    rows = TileBuffers(tiling, steps=steps).rows
    forms = [
        _BufferForm(
            trace.slot_of(row.byte_count),
            trace.slot_of(row.in_flight_bytes),
            row.is_reduce_stage,
        )
        for row in rows
    ]
    live_sets = {
        frozenset(
            index
            for index, row in enumerate(rows)
            if row.start_step <= start.start_step < row.end_step
        )
        for start in rows
    }
    largest = [
        tuple(sorted(each))
        for each in live_sets
        if not any(each < other for other in live_sets)
    ]
    return forms, largest
