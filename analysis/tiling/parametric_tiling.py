"""
Analysis of the tiles of a group for all tile sizes: closed forms of the extents and
offsets of all boxes, with the constraints under which they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar, cast

from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TiledOperation,
    TileLoop,
    TilingError,
)
from tlf.analysis.tiling.window_tile import RollingWindow
from tlf.support.affine.index_access import AffineSum, Box, Interval
from tlf.support.symbolic.traced_integer import Trace, TracedInteger, UntraceableError

TilingAnalysis: TypeAlias = Callable[[Sequence[int]], GroupTiling]
"""Analysis of a group for some tile sizes; raises `TilingError`."""

UNTRACED_CALLS = 2
"""
Number of analyses before the first trace, which takes as long as two: many groups are
analyzed only once or twice.
"""

Key = TypeVar("Key")


class _IntervalForm(NamedTuple):
    """Closed form of an interval: slots of its numbers in a trace."""

    constant: int
    terms: tuple[tuple[int, int], ...]
    """Position of each loop, and the slot of its factor."""
    size: int
    capacity: int


class _TiledOperationForm(NamedTuple):
    """A tiled operation, and the positions of its boxes."""

    tiled: TiledOperation
    box: int
    result: int
    reads: tuple[int | None, ...]


class _WindowForm(NamedTuple):
    """A rolling window, and the positions of its boxes."""

    window: RollingWindow
    whole_tile: int
    new_part: int
    prologue_part: int


class _BoxForms:
    """Closed forms of loops and boxes; an object used several times has one form."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._loops: list[tuple[int, int]] = []
        """Slots of the extent and of the tile size of each loop."""
        self._loop_positions: dict[TileLoop, int] = {}
        self._intervals: list[Interval] = []
        self._interval_forms: dict[int, _IntervalForm] = {}
        """Closed forms of the intervals that depend on the inputs, by position."""
        self._boxes: list[Box] = []
        self._box_forms: dict[int, tuple[int, ...]] = {}
        """Intervals of the boxes that depend on the inputs, by position."""
        self._positions: dict[int, int] = {}
        """Positions of intervals and boxes, by the identity of the object."""

    def add_loop(self, loop: TileLoop) -> int:
        """Record a loop, and return its position."""
        if loop not in self._loop_positions:
            self._loop_positions[loop] = len(self._loops)
            slots = self._trace.slot_of(loop.extent), self._trace.slot_of(loop.tile)
            self._loops.append(slots)
        return self._loop_positions[loop]

    def add_box(self, box: Box) -> int:
        """Record a box, and return its position."""
        if (known := self._positions.get(id(box))) is not None:
            return known
        intervals = tuple([self._add_interval(each) for each in box])
        position = self._positions[id(box)] = len(self._boxes)
        self._boxes.append(box)
        if not self._interval_forms.keys().isdisjoint(intervals):
            self._box_forms[position] = intervals
        return position

    def instantiate(self, values: Sequence[int]) -> tuple[list[TileLoop], list[Box]]:
        """Return the loops and the boxes for the values of all slots."""
        loops = [TileLoop(values[extent], values[tile]) for extent, tile in self._loops]
        intervals, boxes = self._intervals.copy(), self._boxes.copy()
        for at, (constant, terms, size, capacity) in self._interval_forms.items():
            factors = tuple([(loops[loop], values[factor]) for loop, factor in terms])
            offset = AffineSum(values[constant], factors)
            intervals[at] = Interval(offset, values[size], values[capacity])
        for at, members in self._box_forms.items():
            boxes[at] = tuple([intervals[each] for each in members])
        return loops, boxes

    def _add_interval(self, interval: Interval) -> int:
        if (known := self._positions.get(id(interval))) is not None:
            return known
        position = self._positions[id(interval)] = len(self._intervals)
        self._intervals.append(interval)
        offset = interval.offset
        numbers = offset.constant, interval.size, interval.capacity
        if offset.terms or any(isinstance(each, TracedInteger) for each in numbers):
            terms = [
                (self.add_loop(cast(TileLoop, loop)), self._trace.slot_of(factor))
                for loop, factor in offset.terms
            ]
            constant, size, capacity = map(self._trace.slot_of, numbers)
            self._interval_forms[position] = _IntervalForm(
                constant, tuple(terms), size, capacity
            )
        return position


class _TilingForm:
    """Closed forms of the parts of a tiling, and of the prologue of its windows."""

    def __init__(self, forms: _BoxForms, tiling: GroupTiling) -> None:
        self._tiling = tiling
        self._loops = _map_values(forms.add_loop, tiling.loops)
        self._inner_loops = _map_values(forms.add_loop, tiling.inner_loops)
        self._nested_loops = {
            op: _map_values(forms.add_loop, loops)
            for op, loops in tiling.nested_loops_by_op.items()
        }
        self._tiles = [
            _TiledOperationForm(
                each,
                forms.add_box(each.box),
                forms.add_box(each.result),
                tuple([None if e is None else forms.add_box(e) for e in each.reads]),
            )
            for each in tiling.tiles.values()
        ]
        self._reads = {
            at: [forms.add_box(box) for box in boxes]
            for at, boxes in tiling.reads.items()
        }
        self._result_tiles = [forms.add_box(box) for box in tiling.result_tiles]
        rolling = tiling.rolling_loop
        self._rolling_loop = None if rolling is None else forms.add_loop(rolling)
        self._windows = {
            at: _WindowForm(
                window,
                forms.add_box(window.whole_tile),
                forms.add_box(window.new_part),
                forms.add_box(window.prologue_part),
            )
            for at, window in tiling.windows.items()
        }
        prologue = tiling.prologue
        self._prologue = None if prologue is None else _TilingForm(forms, prologue)

    def instantiate(
        self, loops: Sequence[TileLoop], boxes: Sequence[Box]
    ) -> GroupTiling:
        """Return the tiling with some loops and boxes."""
        traced, rolling, prologue = self._tiling, self._rolling_loop, self._prologue
        return GroupTiling(
            traced.rules,
            traced.results,
            traced.op_facts,
            _select(loops, self._loops),
            _select(loops, self._inner_loops),
            {op: _select(loops, each) for op, each in self._nested_loops.items()},
            traced.anchor,
            traced.cascade,
            {each.tiled.op: _instantiate_tile(each, boxes) for each in self._tiles},
            {at: [boxes[each] for each in found] for at, found in self._reads.items()},
            [boxes[each] for each in self._result_tiles],
            traced.gathered_operations.copy(),
            None if rolling is None else loops[rolling],
            {at: _instantiate_window(e, boxes) for at, e in self._windows.items()},
            traced.prefetch_distances.copy(),
            None if prologue is None else prologue.instantiate(loops, boxes),
        )


class TilingForm:
    """Closed form of a tiling, for all tile sizes that satisfy its constraints."""

    def __init__(self, trace: Trace, tiling: GroupTiling) -> None:
        self.trace = trace
        self.tiling = tiling
        """The tiling with traced integers."""
        self._boxes = _BoxForms(trace)
        self._parts = _TilingForm(self._boxes, tiling)

    def instantiate(self, values: Sequence[int]) -> GroupTiling:
        """Return the tiling for the values of all slots of the trace."""
        return self._parts.instantiate(*self._boxes.instantiate(values))


@dataclass
class ParametricTiling:
    """
    Tiles of a group for all tile sizes. Each path that the analysis takes is traced
    once; analyses without a closed form are repeated for each tile size.
    """

    analyze: TilingAnalysis
    trace_count: int = 0
    """Number of traced paths."""
    analysis_count: int = 0
    """Number of analyses of single tile sizes."""
    is_traceable: bool = True
    """False if an analysis had no closed form."""
    _forms: list[TilingForm] = field(default_factory=list[TilingForm])
    _errors: list[tuple[Trace, TilingError]] = field(
        default_factory=list[tuple[Trace, TilingError]]
    )

    def tiling_of(self, sizes: Sequence[int]) -> GroupTiling:
        """Return the tiling for some tile sizes. Raises `TilingError`."""
        if (found := self.find_form(sizes)) is not None:
            form, values = found
            return form.instantiate(values)
        return self.analyze_new_path(sizes)

    def find_form(self, sizes: Sequence[int]) -> tuple[TilingForm, list[int]] | None:
        """
        Return the known closed form for some tile sizes, with the values of its slots;
        `None` if there is none. Raises `TilingError` if the sizes are known to be
        illegal.
        """
        for position, form in enumerate(self._forms):
            if (values := form.trace.evaluate(sizes)) is not None:
                if position:
                    # The next sizes are similar in most cases.
                    self._forms.insert(0, self._forms.pop(position))
                return form, values
        for trace, error in self._errors:
            if trace.evaluate(sizes) is not None:
                raise error.with_traceback(None)
        return None

    def analyze_new_path(self, sizes: Sequence[int]) -> GroupTiling:
        """
        Return the tiling for tile sizes without a known form. Raises `TilingError`.
        """
        if self.analysis_count < UNTRACED_CALLS or not self.is_traceable:
            return self._analyze_point(sizes)
        return self._trace_path(sizes)

    def _analyze_point(self, sizes: Sequence[int]) -> GroupTiling:
        self.analysis_count += 1
        return self.analyze(sizes)

    def _trace_path(self, sizes: Sequence[int]) -> GroupTiling:
        """Trace the path of some tile sizes, and return their tiling."""
        trace = Trace(len(sizes))
        try:
            tiling = self.analyze(trace.make_inputs(sizes))
        except TilingError as error:
            self._errors.append((trace, error))
            raise
        except UntraceableError:
            self.is_traceable = False
            return self._analyze_point(sizes)
        self.trace_count += 1
        form = TilingForm(trace, tiling)
        self._forms.append(form)
        values = trace.evaluate(sizes)
        assert values is not None
        return form.instantiate(values)


def _instantiate_tile(
    form: _TiledOperationForm, boxes: Sequence[Box]
) -> TiledOperation:
    op, _, _, level, facts, _, is_recomputed, is_moved = form.tiled
    reads = tuple([None if each is None else boxes[each] for each in form.reads])
    box, result = boxes[form.box], boxes[form.result]
    return TiledOperation(op, box, result, level, facts, reads, is_recomputed, is_moved)


def _instantiate_window(form: _WindowForm, boxes: Sequence[Box]) -> RollingWindow:
    window = form.window
    whole, new = boxes[form.whole_tile], boxes[form.new_part]
    fill, is_prefetched = window.fill, window.is_prefetched
    prologue = boxes[form.prologue_part]
    return RollingWindow(window.axis, whole, new, prologue, fill, is_prefetched)


def _map_values(
    function: Callable[[TileLoop], int], loops: Mapping[Key, TileLoop]
) -> dict[Key, int]:
    return {key: function(loop) for key, loop in loops.items()}


def _select(
    loops: Sequence[TileLoop], positions: Mapping[Key, int]
) -> dict[Key, TileLoop]:
    return {key: loops[position] for key, position in positions.items()}
