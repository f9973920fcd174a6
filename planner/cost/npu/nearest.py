"""Tiles for the nearest memory, where engines work: the fastest that fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import prod

from tlf.analysis.tiling.axes import Axes
from tlf.analysis.tiling.early import early_products
from tlf.analysis.tiling.group import Members, rules_of
from tlf.analysis.tiling.model import GroupTiling, Scope, TilingError
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, Target
from tlf.dialects.target.machine import machine_of
from tlf.machine.costs import Costs
from tlf.planner.cost.npu.footprint import TileBuffers
from tlf.planner.cost.npu.in_flight import SINGLE, InFlight
from tlf.planner.cost.npu.moves import Moves
from tlf.planner.cost.npu.nearest_grid import Grid
from tlf.planner.cost.npu.nest import NestProgram
from tlf.planner.cost.npu.program import Item, busy, chain, cycles_of
from tlf.planner.cost.npu.shortlist import Choice, Shortlist, Sizes, rank
from tlf.planner.cost.npu.sizes import options
from tlf.planner.cost.npu.steps import Steps
from tlf.planner.cost.npu.work import Instructions

STAGES = (1, 2, 3, 4)
"""Possible numbers of iterations in flight."""

TIMED = 8
"""Of so many choices, the best by estimate, the time is worked out."""

LITTLE = 2048
"""Of work that takes so few cycles in each core in all, nothing is to be hidden."""

GRID = 1024
"""The most points of the grid."""

ROUGH = 256
"""The most points of the grid where about the best will do."""

HIDDEN = 16
"""One part in so many of the work that may be hidden is taken not to be."""

SLOWER = 128
"""Tiles that take much less room may take one part in so many more time."""

NEAR = 8
"""Tiles that take at most one part in so many more time may be better among others."""


class Machinery:
    """Cost models of a target, between a level and the next outer one."""

    def __init__(self, target: Target, level: Level) -> None:
        names = list(target.levels)
        far = names[names.index(level.name) + 1]
        self.costs = Costs(machine_of(target))
        self.rules = rules_of(target, level.name)
        self.moves = Moves(self.costs, level.name, far, ordered=self.rules.ordered)
        self.work = Instructions(self.costs)
        self.burst = target.levels[far].burst
        self.capacity = level.capacity

    def program(
        self, tiling: GroupTiling, stages: InFlight, buffers: TileBuffers | None = None
    ) -> list[Item]:
        """The loops of a group; what `buffers` its tiles take, if that is known."""
        if early := early_products(tiling):
            buffers = buffers or TileBuffers(tiling)
            if buffers.footprint(stages).apart > self.capacity:
                early = []
        in_place = None if buffers is None else buffers.in_place
        nest = NestProgram(tiling, self.moves, self.work, stages, in_place, early)
        return nest.items()


@dataclass
class NearestSearch:
    """
    Looks for the fastest tiles of a group: on a grid of sizes by estimate, then around
    the best by the time that the event model gives.
    """

    members: Members
    axes: Axes
    level: Level
    machinery: Machinery
    executions: int = 1
    """Number of times that the loops around run the group."""
    stages: Sequence[int] = STAGES
    grid: int = GRID
    large: tuple[list[Sizes], list[Sizes]] = field(
        default_factory=lambda: (list[Sizes](), list[Sizes]())
    )
    """Sizes that do not fit, with sums in pieces, and with whole ones."""
    timed: dict[tuple[Sizes, InFlight], Choice | None] = field(
        default_factory=dict[tuple[Sizes, InFlight], "Choice | None"]
    )

    def __post_init__(self) -> None:
        self.steps = Steps(self.members.operations)
        self.counts = [InFlight(each, each) for each in self.stages]
        if self.axes.reduction:
            self.counts += map(InFlight, self.stages[:-1], self.stages[1:])
            if len(self._contractions) > 1:
                self.counts += map(InFlight, self.stages[:-2], self.stages[2:])

    @cached_property
    def _contractions(self) -> list[ContractionInterface]:
        operations = self.members.operations
        return [op for op in operations if isinstance(op, ContractionInterface)]

    def best(self) -> Choice | None:
        """The best choice, or None where nothing of the grid fits."""
        if (least := self._small()) is not None:
            return least
        found = self._best_of_grid(TIMED)
        return None if found is None else self._leaner(self._climb(found))

    def near(self, best: Choice) -> list[Choice]:
        """The choices known that take little more time than the best, and the best."""
        others = (each for each in self._within(best, NEAR) if each != best)
        return [best, *sorted(others, key=rank)]

    def _within(self, best: Choice, part: int) -> Iterator[Choice]:
        """The choices known that take at most one part in so many more time."""
        most = best.cycles + best.cycles // part
        for each in self.timed.values():
            if each is not None and each.cycles <= most:
                yield each

    def _leaner(self, best: Choice) -> Choice:
        """
        The best choice, or where that takes more than half of the memory, one of three
        quarters of its room that is hardly slower: the first tiles of what comes next
        can be loaded beside it.
        """
        if 2 * best.bytes <= self.level.capacity:
            return best
        known = self._within(best, SLOWER)
        leaner = (each for each in known if 4 * each.bytes <= 3 * best.bytes)
        return min(leaner, key=rank, default=best)

    def rough(self) -> Choice | None:
        """About the best choice, at a fraction of the price."""
        return self._small() or self._best_of_grid(1)

    def _best_of_grid(self, timed: int) -> Choice | None:
        """
        The best of the grid; the time is worked out of so many of each kind: sums that
        come whole or in pieces, with so many iterations in flight.
        """
        lists = [Shortlist(self.counts, timed) for _ in range(2)]
        for sizes in self.grid_sizes():
            best = lists[self._sums_whole(sizes)]
            for choice in self._estimated(sizes, best):
                best.add(choice)
        found = (
            self.time((*each.tile, *each.reduce), each.stages)
            for best in lists
            for each in best
        )
        known = [each for each in found if each is not None]
        return min(known, key=rank, default=None)

    def grid_sizes(self) -> list[Sizes]:
        """The sizes of the grids."""
        burst = self.machinery.burst
        return Grid(self.members, self.axes, self._contractions, burst).sizes(self.grid)

    def _sums_whole(self, sizes: Sizes) -> bool:
        """Return `True` if tiles of the given sizes have whole reductions."""
        return sizes[len(self.axes.parallel) :] == self.axes.reduction

    def _small(self) -> Choice | None:
        """Everything as one tile, if that leaves little to gain."""
        sizes = (*self.axes.parallel, *self.axes.reduction)
        if (buffers := self._buffers(sizes)) is None:
            return None
        if buffers.footprint(SINGLE).needed > self.level.capacity:
            return None
        work = sum(busy(self._program(buffers, SINGLE)).values())
        cores = self.machinery.costs.machine.cores
        if work * self.executions > LITTLE // cores:
            return None
        return self.time(sizes, SINGLE)

    def _estimated(self, sizes: Sizes, best: Shortlist) -> Iterator[Choice]:
        """
        Yield the estimated choices of some sizes, unless they cost more than the best
        known.
        """
        large = self.large[self._sums_whole(sizes)]
        if any(_dominates(sizes, misfit) for misfit in large):
            return
        tiling = self._tiling(sizes)
        if tiling is None or best.is_beaten(self.least(tiling)):
            return
        buffers = TileBuffers(tiling, steps=self.steps)
        if buffers.footprint(SINGLE).needed > self.level.capacity:
            large.append(sizes)
            return
        count = len(self.axes.parallel)
        program = self._program(buffers, SINGLE)
        for stages in self.counts:
            size = buffers.footprint(stages).needed
            if size <= self.level.capacity:
                time = _estimate(program, stages)
                yield Choice(sizes[:count], sizes[count:], stages, time, size)

    def least(self, tiling: GroupTiling) -> int:
        """The cycles of the products of all tiles that are whole."""
        total = 0
        for op, tiled in tiling.tiles.items():
            if isinstance(op, ContractionInterface):
                cycles = sum(each.cycles for each in self.machinery.work.of(tiled))
                total += cycles * _whole(tiling, tiled.scope)
        return total

    def _climb(self, best: Choice) -> Choice:
        """Go on to the best neighbour, or exchange, while there is a better one."""
        while True:
            sizes = (*best.tile, *best.reduce)
            better = self._best((sizes, *self._neighbours(sizes)), best)
            if better is best:
                better = self._best(self._exchanges(sizes), best)
            if better is best:
                return best
            best = better

    def _best(self, tried: Iterable[Sizes], best: Choice) -> Choice:
        """The best of some sizes, the given choice where none is better."""
        timed = (
            self.time(each, stages)
            for each in tried
            for stages in {best.stages: None, self.counts[-1]: None}
        )
        return min((best, *(e for e in timed if e is not None)), key=rank)

    def _neighbours(self, sizes: Sizes) -> Iterator[Sizes]:
        """Sizes with one axis one option up or down."""
        for axis in range(len(sizes)):
            for other in (*self._below(sizes, axis), *self._above(sizes, axis)):
                yield (*sizes[:axis], other, *sizes[axis + 1 :])

    def _exchanges(self, sizes: Sizes) -> Iterator[Sizes]:
        """Sizes with one axis one option up, and another one down."""
        for grown, cut in permutations(range(len(sizes)), 2):
            for more in self._above(sizes, grown):
                for less in self._below(sizes, cut):
                    found = list(sizes)
                    found[grown], found[cut] = more, less
                    yield tuple(found)

    def _below(self, sizes: Sizes, axis: int) -> Sizes:
        """The next smaller option of an axis, if there is one."""
        return tuple(e for e in self._options(axis) if e < sizes[axis])[-1:]

    def _above(self, sizes: Sizes, axis: int) -> Sizes:
        """The next larger option of an axis, if there is one."""
        return tuple(e for e in self._options(axis) if e > sizes[axis])[:1]

    def _options(self, axis: int) -> Sizes:
        extents = (*self.axes.parallel, *self.axes.reduction)
        free = (*self.axes.free, *self.axes.reduction_free)
        return options(extents[axis]) if free[axis] else (extents[axis],)

    def time(self, sizes: Sizes, stages: InFlight) -> Choice | None:
        """
        Return the timed choice of some sizes; `None` where they are illegal or do not
        fit.
        """
        key = sizes, stages
        if key not in self.timed:
            self.timed[key] = self._time(sizes, stages)
        return self.timed[key]

    def _time(self, sizes: Sizes, stages: InFlight) -> Choice | None:
        if (buffers := self._buffers(sizes)) is None:
            return None
        if (size := buffers.footprint(stages).needed) > self.level.capacity:
            return None
        program = self._program(buffers, stages)
        count = len(self.axes.parallel)
        cycles = cycles_of(program, self.machinery.costs)
        return Choice(sizes[:count], sizes[count:], stages, cycles, size)

    def _program(self, buffers: TileBuffers, stages: InFlight) -> list[Item]:
        return self.machinery.program(buffers.tiling, stages, buffers)

    def _buffers(self, sizes: Sizes) -> TileBuffers | None:
        """Return the buffers of tiles of some sizes; `None` where they are illegal."""
        tiling = self._tiling(sizes)
        return None if tiling is None else TileBuffers(tiling, steps=self.steps)

    def _tiling(self, sizes: Sizes) -> GroupTiling | None:
        """Tiles of some sizes, or None where they are illegal."""
        count = len(self.axes.parallel)
        tile, reduce = sizes[:count], sizes[count:]
        try:
            return self.members.tiling(tile, reduce, self.machinery.rules)
        except TilingError:
            return None


def _whole(tiling: GroupTiling, scope: Scope) -> int:
    """Return the number of whole tiles; one where there is none."""
    loops = [*tiling.loops.values()]
    if scope is Scope.INNER:
        loops += tiling.inner_loops.values()
    return prod(max(1, loop.extent // loop.tile) for loop in loops)


def _dominates(sizes: Sizes, other: Sizes) -> bool:
    """Return `True` if no size is smaller than in `other`."""
    return all(mine >= theirs for mine, theirs in zip(sizes, other, strict=True))


def _estimate(program: Sequence[Item], stages: InFlight) -> int:
    """
    About how long a program takes: what keeps its busiest part busy, and a share of
    all else, which is hidden behind it where iterations overlap. No more run at once
    than are in flight, and one that is loaded or stored beside them.
    """
    cycles = busy(program)
    most, total = max(cycles.values(), default=0), sum(cycles.values())
    if stages == SINGLE:
        return total
    at_once = max(stages.tiles, stages.pieces) + 1
    return max(most + (total - most) // HIDDEN, chain(program) // at_once)
