"""
Search for the fastest tiles of a group in the innermost NPU memory level, by estimate
and simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import inf, prod

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_tiling import GroupTiling, TilingError
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level
from tlf.planner.cost.npu.candidate_forms import CandidateForms
from tlf.planner.cost.npu.candidate_shortlist import (
    Shortlist,
    Sizes,
    TileCandidate,
    rank_of_candidate,
)
from tlf.planner.cost.npu.event_program import Item
from tlf.planner.cost.npu.event_simulation import (
    busy_cycles_by_engine,
    simulate_cycles,
)
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.inner_candidates import CandidateGrid
from tlf.planner.cost.npu.inner_cost_model import InnerCostModel
from tlf.planner.cost.npu.iterations_in_flight import (
    SINGLE,
    IterationsInFlight,
    limit_reduce_stages,
)
from tlf.planner.cost.npu.tile_footprint import TileBuffers
from tlf.planner.cost.npu.tile_size_options import (
    min_product_extent_in,
    tile_size_options,
)
from tlf.planner.settings.search_budgets import TILE_SEARCH

STAGES = (1, 2, 3, 4)
"""Candidate numbers of iterations in flight."""


@dataclass
class InnerSearch:
    """Search for the fastest tiles: grid by estimate, then hill climb by simulation."""

    members: GroupMembers
    axes: TileableAxes
    level: Level
    cost_model: InnerCostModel
    execution_count: int = 1
    """Number of times that the surrounding loops run the group."""
    stages: Sequence[int] = STAGES
    max_grid_points: int = TILE_SEARCH.max_grid_points
    oversized_sizes: tuple[list[Sizes], list[Sizes]] = field(
        default_factory=lambda: (list[Sizes](), list[Sizes]())
    )
    """Sizes that do not fit, with tiled and with whole reductions."""
    simulated_candidates: dict[
        tuple[Sizes, IterationsInFlight], TileCandidate | None
    ] = field(
        default_factory=dict[tuple[Sizes, IterationsInFlight], "TileCandidate | None"]
    )
    _known_cycles: dict[tuple[Sizes, IterationsInFlight], tuple[int, int] | None] = (
        field(
            default_factory=dict[
                tuple[Sizes, IterationsInFlight], "tuple[int, int] | None"
            ]
        )
    )
    """Simulated cycles and peak bytes; the reduce stages are those that there are."""
    _known_buffers: dict[Sizes, TileBuffers | None] = field(
        default_factory=dict[Sizes, "TileBuffers | None"]
    )
    """Buffers of the sizes that are simulated."""
    _known_busiest: dict[Sizes, int] = field(default_factory=dict[Sizes, int])
    """Cycles of the busiest engine or channel, a lower bound of the cycles."""
    _fastest_cycles: float = inf
    """Cycles of the fastest candidate that was simulated."""

    def __post_init__(self) -> None:
        self.steps = ExecutionSteps(self.members.operations)
        self.counts = [IterationsInFlight(each, each) for each in self.stages]
        if self.axes.reduction:
            self.counts += map(IterationsInFlight, self.stages[:-1], self.stages[1:])
            if len(self._contractions) > 1:
                self.counts += map(
                    IterationsInFlight, self.stages[:-2], self.stages[2:]
                )

    @cached_property
    def _forms(self) -> CandidateForms:
        """Closed forms of the candidates of the grid."""
        return CandidateForms(self.members, self.axes, self.cost_model, self.steps)

    @cached_property
    def _contractions(self) -> list[ContractionInterface]:
        operations = self.members.operations
        return [op for op in operations if isinstance(op, ContractionInterface)]

    def find_best(self) -> TileCandidate | None:
        """
        Return the best candidate, or `None` if no point of the grid fits. With little
        work, only sizes near those of a single tile are candidates.
        """
        if (single := self._single_tile_candidate()) is not None:
            best = self._best_near_single_tile(single)
        else:
            best = self._search_grid(TILE_SEARCH.max_simulated)
        return (
            None if best is None else self._prefer_less_memory(self._hill_climb(best))
        )

    def candidates_near_best(self, best: TileCandidate) -> list[TileCandidate]:
        """
        Return the best candidate, then the known ones at most 1 / `alternative_divisor`
        slower.
        """
        alternatives = (
            each
            for each in self._candidates_slightly_slower(
                best, TILE_SEARCH.alternative_divisor
            )
            if each != best
        )
        return [best, *sorted(alternatives, key=rank_of_candidate)]

    def _candidates_slightly_slower(
        self, best: TileCandidate, divisor: int
    ) -> Iterator[TileCandidate]:
        """
        Yield the known candidates that are at most `1 / part` slower than the best.
        """
        limit = best.cycles + best.cycles // divisor
        for each in self.simulated_candidates.values():
            if each is not None and each.cycles <= limit:
                yield each

    def _prefer_less_memory(self, best: TileCandidate) -> TileCandidate:
        """
        Return a candidate of similar time that takes less memory, or has fewer tiles if
        the best one takes little; otherwise the best one.
        """
        if 2 * best.moved_bytes <= self.level.capacity:
            return self._prefer_fewer_tiles(best)
        known = self._candidates_slightly_slower(best, TILE_SEARCH.slowdown_divisor)
        smaller = (
            each for each in known if 4 * each.moved_bytes <= 3 * best.moved_bytes
        )
        return min(smaller, key=rank_of_candidate, default=best)

    def _prefer_fewer_tiles(self, best: TileCandidate) -> TileCandidate:
        """
        Return the candidate of equal time with the largest tiles, of at least twice the
        elements of the best one, which it returns otherwise. Short moves and
        instructions take longer beside those of other levels, which are not simulated.
        """
        least = 2 * prod(_sizes_of(best))
        larger = (
            each
            for each in self._candidates_slightly_slower(
                best, TILE_SEARCH.equal_time_divisor
            )
            if 2 * each.moved_bytes <= self.level.capacity
            and prod(_sizes_of(each)) >= least
        )
        return min(larger, key=_rank_of_large_tiles, default=best)

    def find_approximate_best(self) -> TileCandidate | None:
        """Return an approximately best candidate at a fraction of the search cost."""
        return self._single_tile_candidate() or self._search_grid(1)

    def _search_grid(self, simulated_count: int) -> TileCandidate | None:
        """
        Return the best candidate of the grid. The `simulated_count` best estimates are
        simulated of each kind: whole or tiled reductions, by number of iterations in
        flight.
        """
        shortlists = [Shortlist(self.counts, simulated_count) for _ in range(2)]
        for sizes in self.grid_sizes():
            shortlist = shortlists[self._has_whole_reductions(sizes)]
            for candidate in self._estimate_candidates(sizes, shortlist):
                shortlist.add_candidate(candidate)
        listed = [each for shortlist in shortlists for each in shortlist]
        if fastest := min(listed, key=rank_of_candidate, default=None):
            # The time of the first one rules out more of the others.
            self._simulate_candidate(_sizes_of(fastest), fastest.stages)
        candidates = (
            self.simulated_candidate_for(_sizes_of(each), each.stages)
            for each in listed
        )
        known = [each for each in candidates if each is not None]
        return min(known, key=rank_of_candidate, default=None)

    def grid_sizes(self) -> list[Sizes]:
        """Return the candidate tile sizes, one tuple per point of the search grid."""
        burst = self.cost_model.burst
        least = min_product_extent_in(self.level.capacity)
        return CandidateGrid(
            self.members, self.axes, self._contractions, burst, least
        ).candidate_sizes(self.max_grid_points)

    def _has_whole_reductions(self, sizes: Sizes) -> bool:
        """Return `True` if tiles of the given sizes have whole reductions."""
        return sizes[len(self.axes.parallel) :] == self.axes.reduction

    def _single_tile_candidate(self) -> TileCandidate | None:
        """Return the candidate with a single tile if overlap can gain few cycles."""
        sizes = (*self.axes.parallel, *self.axes.reduction)
        if (buffers := self._buffers_for(sizes)) is None:
            return None
        if buffers.peak_bytes_of(SINGLE) > self.level.capacity:
            return None
        work = sum(busy_cycles_by_engine(self._build_program(buffers, SINGLE)).values())
        cores = self.cost_model.costs.machine.cores
        if work * self.execution_count > TILE_SEARCH.serial_cycles // cores:
            return None
        return self.simulated_candidate_for(sizes, SINGLE)

    def _estimate_candidates(
        self, sizes: Sizes, shortlist: Shortlist
    ) -> Iterator[TileCandidate]:
        """Yield the estimated candidates of some sizes that may enter the shortlist."""
        large = self.oversized_sizes[self._has_whole_reductions(sizes)]
        if any(_has_no_smaller_size(sizes, misfit) for misfit in large):
            return
        if (candidate := self._forms.candidate_of(sizes)) is None:
            return
        estimate = candidate.estimate
        cycles_by_stages = {
            stages: cycles
            for stages in self.counts
            if not shortlist.is_full_of_faster(
                stages, cycles := estimate.cycles_with_stages(stages)
            )
        }
        if not cycles_by_stages:
            return
        if candidate.peak_bytes_of(SINGLE) > self.level.capacity:
            large.append(sizes)
            return
        self._known_busiest[sizes] = estimate.busiest
        count = len(self.axes.parallel)
        for stages, cycles in cycles_by_stages.items():
            size = candidate.peak_bytes_of(stages)
            if size <= self.level.capacity:
                yield TileCandidate(sizes[:count], sizes[count:], stages, cycles, size)

    def _hill_climb(self, best: TileCandidate) -> TileCandidate:
        """Return the local optimum: no neighbour and no exchange is better."""
        while True:
            sizes = _sizes_of(best)
            better = self._select_best_candidate(
                (sizes, *self._neighbour_sizes(sizes)), best
            )
            if better is best:
                better = self._select_best_candidate(self._exchanged_sizes(sizes), best)
            if better is best:
                return best
            best = better

    def _select_best_candidate(
        self, candidate_sizes: Iterable[Sizes], best: TileCandidate
    ) -> TileCandidate:
        """Return the best candidate of some sizes, or `best` if none is better."""
        timed = (
            self.simulated_candidate_for(each, stages)
            for each in candidate_sizes
            for stages in {best.stages: None, self.counts[-1]: None}
        )
        return min((best, *(e for e in timed if e is not None)), key=rank_of_candidate)

    def _best_near_single_tile(self, single: TileCandidate) -> TileCandidate:
        """
        Return the best candidate with a single tile divided along one axis, and as many
        iterations in flight as possible, or the one with a single tile.
        """
        divided = (
            self.simulated_candidate_for(each, self.counts[-1])
            for each in self._divided_sizes(_sizes_of(single))
        )
        known = [single, *(each for each in divided if each is not None)]
        return min(known, key=rank_of_candidate)

    def _divided_sizes(self, sizes: Sizes) -> Iterator[Sizes]:
        """Yield the sizes with one of the next smaller options of an axis."""
        for axis, size in enumerate(sizes):
            smaller = [e for e in self._size_options_along(axis) if e < size]
            for option in reversed(smaller[-TILE_SEARCH.divided_sizes :]):
                yield (*sizes[:axis], option, *sizes[axis + 1 :])

    def _neighbour_sizes(self, sizes: Sizes) -> Iterator[Sizes]:
        """Yield the sizes with one axis one option up or down."""
        for axis in range(len(sizes)):
            for other in (
                *self._next_smaller_sizes(sizes, axis),
                *self._next_larger_sizes(sizes, axis),
            ):
                yield (*sizes[:axis], other, *sizes[axis + 1 :])

    def _exchanged_sizes(self, sizes: Sizes) -> Iterator[Sizes]:
        """Yield the sizes with one axis one option up and another one down."""
        for grown, shrunk in permutations(range(len(sizes)), 2):
            for more in self._next_larger_sizes(sizes, grown):
                for less in self._next_smaller_sizes(sizes, shrunk):
                    traded = list(sizes)
                    traded[grown], traded[shrunk] = more, less
                    yield tuple(traded)

    def _next_smaller_sizes(self, sizes: Sizes, axis: int) -> Sizes:
        """Return the next smaller option of an axis, if there is one."""
        return tuple(e for e in self._size_options_along(axis) if e < sizes[axis])[-1:]

    def _next_larger_sizes(self, sizes: Sizes, axis: int) -> Sizes:
        """Return the next larger option of an axis, if there is one."""
        return tuple(e for e in self._size_options_along(axis) if e > sizes[axis])[:1]

    def _size_options_along(self, axis: int) -> Sizes:
        extents = (*self.axes.parallel, *self.axes.reduction)
        free = (*self.axes.free, *self.axes.reduction_free)
        return tile_size_options(extents[axis]) if free[axis] else (extents[axis],)

    def simulated_candidate_for(
        self, sizes: Sizes, in_flight_counts: IterationsInFlight
    ) -> TileCandidate | None:
        """
        Return the simulated candidate of some sizes; `None` if they are illegal, do not
        fit, or are known to be too slow for an alternative.
        """
        key = sizes, in_flight_counts
        if key not in self.simulated_candidates:
            self.simulated_candidates[key] = self._simulate_candidate(
                sizes, in_flight_counts
            )
        return self.simulated_candidates[key]

    def _simulate_candidate(
        self, sizes: Sizes, in_flight_counts: IterationsInFlight
    ) -> TileCandidate | None:
        """
        Return a candidate with its simulated cycles and peak bytes; `None` if its sizes
        are illegal, exceed the level's capacity, or are too slow for an alternative.
        """
        if self._is_too_slow(sizes):
            return None
        if (buffers := self._buffers_for(sizes)) is None:
            return None
        effective = limit_reduce_stages(buffers.tiling, in_flight_counts)
        key = sizes, effective
        if key not in self._known_cycles:
            self._known_cycles[key] = self._simulate_buffers(buffers, effective)
        if (found := self._known_cycles[key]) is None:
            return None
        self._fastest_cycles = min(self._fastest_cycles, found[0])
        count = len(self.axes.parallel)
        return TileCandidate(sizes[:count], sizes[count:], in_flight_counts, *found)

    def _is_too_slow(self, sizes: Sizes) -> bool:
        """
        Return `True` if an engine or channel is busy for longer than any alternative
        takes.
        """
        if (limit := self._max_cycles_of_alternatives) == inf:
            return False
        if sizes not in self._known_busiest:
            candidate = self._forms.candidate_of(sizes)
            busiest = 0 if candidate is None else candidate.estimate.busiest
            self._known_busiest[sizes] = busiest
        return self._known_busiest[sizes] > limit

    @property
    def _max_cycles_of_alternatives(self) -> float:
        """
        Cycles of the slowest alternatives of the fastest candidate so far, or of one of
        similar time that takes less memory.
        """
        slowest = self._fastest_cycles * (1 + 1 / TILE_SEARCH.slowdown_divisor)
        return slowest * (1 + 1 / TILE_SEARCH.alternative_divisor)

    def _simulate_buffers(
        self, buffers: TileBuffers, in_flight_counts: IterationsInFlight
    ) -> tuple[int, int] | None:
        """
        Return the simulated cycles and the peak bytes of some buffers; `None` if these
        exceed the level's capacity.
        """
        size = buffers.peak_bytes_of(in_flight_counts)
        if size > self.level.capacity:
            return None
        program = self._build_program(buffers, in_flight_counts)
        return simulate_cycles(program, self.cost_model.costs), size

    def _build_program(
        self, buffers: TileBuffers, in_flight_counts: IterationsInFlight
    ) -> list[Item]:
        return self.cost_model.build_program(buffers.tiling, in_flight_counts, buffers)

    def _buffers_for(self, sizes: Sizes) -> TileBuffers | None:
        """
        Return the buffers of tiles of some sizes, created once; `None` if they are
        illegal.
        """
        if sizes not in self._known_buffers:
            tiling = self._tiling_for(sizes)
            self._known_buffers[sizes] = (
                None if tiling is None else TileBuffers(tiling, steps=self.steps)
            )
        return self._known_buffers[sizes]

    def _tiling_for(self, sizes: Sizes) -> GroupTiling | None:
        """Return the tiling of some sizes, or `None` if they are illegal."""
        count = len(self.axes.parallel)
        tile, reduce = sizes[:count], sizes[count:]
        try:
            return self.members.analyze_tiles_of_sizes(
                tile, reduce, self.cost_model.rules
            )
        except TilingError:
            return None


def _sizes_of(candidate: TileCandidate) -> Sizes:
    """Return the sizes of a candidate, as for the search."""
    return *candidate.tile_sizes, *candidate.reduction_tile_sizes


def _rank_of_large_tiles(candidate: TileCandidate) -> tuple[int, int, int]:
    """Return the sort key of candidates: the largest tiles, then cycles and bytes."""
    return -prod(_sizes_of(candidate)), *rank_of_candidate(candidate)


def _has_no_smaller_size(sizes: Sizes, min_sizes: Sizes) -> bool:
    """Return `True` if no size is smaller than in `min_sizes`."""
    return all(mine >= theirs for mine, theirs in zip(sizes, min_sizes, strict=True))
