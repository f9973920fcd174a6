"""
Search for the tile sizes and warps of a group with the fastest estimated GPU kernel,
by hill climb.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from typing import TypeAlias

from tlf.analysis.tiling.group_analysis import GroupMembers, can_tiles_fit
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TilingError,
    count_elements_of_box,
)
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.triton import default_warp_count
from tlf.dialects.types import itemsize_of
from tlf.planner.cost.gpu.compute_model import count_scalar_products
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_model import KernelModel
from tlf.planner.cost.gpu.kernel_schedule import KernelSchedule
from tlf.planner.cost.gpu.window_unrolling import window_unrollings_of
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.planner.settings.search_budgets import KERNEL_SEARCH, TILE_SEARCH

Sizes: TypeAlias = tuple[int, ...]
"""Tile sizes of the parallel axes, then of the reduction if it has a loop."""

Point: TypeAlias = tuple[Sizes, int | None]
"""Tile sizes, and a number of warps; `None` if it follows from the sizes."""

DEPTHS = (2, 3, 4, 5)
"""Candidate numbers of iterations in flight of loops around matrix products."""

WARPS = default_warp_count(1)
"""Minimum number of warps of a program."""


@dataclass(frozen=True)
class KernelCandidate:
    """Tile sizes and the schedule of programs, and the cost of both."""

    sizes: Sizes
    schedule: KernelSchedule
    cost: KernelCost

    @property
    def warp_count(self) -> int:
        """Number of warps of a program."""
        return self.cost.resources.warp_count


@dataclass
class KernelSearch:
    """
    Hill climb over tile sizes and warps, one axis at a time, each with the cheapest
    number of stages. The result never costs more than the start.
    """

    members: GroupMembers
    axes: TileableAxes
    level: Level
    target: TargetSpec
    rules: TileRules
    kernel_model: KernelModel
    max_stages: int | None = None
    """Maximum number of iterations in flight."""
    max_warps: int | None = None
    """Maximum number of warps of a program."""
    cycle_limit: float = inf
    """Cycles that the best tiles must not exceed to be of use."""
    start_sizes: frozenset[Sizes] = frozenset()
    """Start sizes, which are exempt from the minimum tile size."""
    has_start_products: bool = False
    """True if matrix instructions compute a product at the start sizes."""
    candidates_by_point: dict[Point, KernelCandidate | None] = field(
        default_factory=dict[Point, KernelCandidate | None]
    )
    _min_cycles_by_point: dict[Point, float] = field(
        init=False, default_factory=dict[Point, float]
    )
    """Lower bounds of points."""
    _bound_counts: dict[Point, int] = field(
        init=False, default_factory=dict[Point, int]
    )
    """Number of closer bounds that were needed, as the first one was too low."""
    _fitting_tilings: dict[Sizes, GroupTiling | None] = field(
        init=False, default_factory=dict[Sizes, "GroupTiling | None"]
    )
    """Tilings of the sizes that were examined; None if they are illegal."""
    default_warp_counts: dict[Sizes, int] = field(default_factory=dict[Sizes, int])
    """Default numbers of warps of the sizes that were evaluated."""

    def find_best(self, start_sizes: Sequence[Sizes]) -> KernelCandidate | None:
        """
        Return the best candidate from several starts, or `None` if none is legal; the
        best start if all of them exceed the limit.
        """
        self.start_sizes = frozenset(start_sizes)
        self.has_start_products = any(map(self._has_matrix_product, start_sizes))
        legal = map(self._find_first_legal_candidate, dict.fromkeys(start_sizes))
        candidates = [each for each in legal if each is not None]
        starts = [each.cost.cycles for each in candidates]
        if not all(is_far_above(cycles, self.cycle_limit) for cycles in starts):
            candidates = [self._hill_climb(each) for each in candidates]
        best = min(candidates, key=_rank_of_candidate, default=None)
        return best and self._find_better_unrolled(best)

    def _find_better_unrolled(self, best: KernelCandidate) -> KernelCandidate:
        """
        Return the best candidate that unrolls a loop along overlapping windows, with
        the tiles of a candidate or shorter ones along the loop, if it gains
        `min_unroll_gain` on the candidate; or else that candidate.
        """
        found = min(
            self._unrolled_candidates(best), key=_rank_of_candidate, default=best
        )
        limit = best.cost.cycles * (1 - KERNEL_SEARCH.min_unroll_gain)
        return found if found.cost.cycles <= limit else best

    def _unrolled_candidates(self, best: KernelCandidate) -> Iterator[KernelCandidate]:
        """Yield the candidates that unroll a loop along overlapping windows."""
        sizes: Sizes | None = best.sizes
        while sizes is not None and (tiling := self._legal_tiling_for(sizes, None)):
            unrollings = window_unrollings_of(tiling)
            for each in unrollings:
                schedule = KernelSchedule(unroll=each.unroll_factors)
                resources = self.kernel_model.program_resources_of(tiling, schedule)
                if resources.is_within_limits(self.kernel_model.chip):
                    cost = self.kernel_model.estimate_cost(tiling, schedule)
                    yield KernelCandidate(sizes, schedule, cost)
            sizes = self._halve_axis(sizes, unrollings[0].axis) if unrollings else None

    def _find_first_legal_candidate(self, sizes: Sizes) -> KernelCandidate | None:
        """
        Return the first legal candidate: the given sizes, or these with the longest
        axes halved, last first; `None` if there is none.
        """
        while (candidate := self._cheapest_candidate_at((sizes, None))) is None:
            longest = sorted(
                enumerate(sizes), key=lambda each: each[::-1], reverse=True
            )
            halves = (self._halve_axis(sizes, axis) for axis, _ in longest)
            if (smaller := next((e for e in halves if e is not None), None)) is None:
                return None
            sizes = smaller
        return candidate

    def _hill_climb(self, start: KernelCandidate) -> KernelCandidate:
        """
        Return the local optimum over neighbouring sizes and warps, first over warps of
        `start`; or `start` if the fraction of cycles saved is below `min_tile_gain`.
        """
        best = self._find_better_of(start, self._warp_neighbours(start)) or start
        while (neighbour := self._find_better_neighbour(best)) is not None:
            best = neighbour
        is_worth = best.cost.cycles <= start.cost.cycles * (
            1 - KERNEL_SEARCH.min_tile_gain
        )
        return best if is_worth else start

    def _find_better_neighbour(
        self, candidate: KernelCandidate
    ) -> KernelCandidate | None:
        """
        Return the best neighbour in sizes that gains `min_step_gain`, or else in warps;
        `None` if there is none.
        """
        return self._find_better_of(
            candidate, self._size_neighbours(candidate)
        ) or self._find_better_of(candidate, self._warp_neighbours(candidate))

    def _find_better_of(
        self, candidate: KernelCandidate, points: Iterable[Point]
    ) -> KernelCandidate | None:
        """
        Return the best of some points if it gains `min_step_gain` on a candidate, the
        first of equal ones. Points are evaluated best first by a lower bound, until the
        bounds exceed the best candidate.
        """
        best: tuple[tuple[float, int, int], int, KernelCandidate] | None = None
        most = candidate.cost.cycles * (1 - KERNEL_SEARCH.min_step_gain)
        bounds = [
            (self._min_cycles_of(point), n, point) for n, point in enumerate(points)
        ]
        heapify(bounds)
        while bounds and bounds[0][0] <= most + TILE_SEARCH.rounding_tolerance:
            least, n, point = heappop(bounds)
            if (closer := self._closer_min_cycles_of(point)) is not None:
                heappush(bounds, (max(least, closer), n, point))
                continue
            found = self._cheapest_candidate_at(point)
            if found is None or found.cost.cycles > most:
                continue
            if not self._is_worth_its_warps(point, found):
                continue
            ranked = _rank_of_candidate(found), n, found
            if best is None or ranked[:2] < best[:2]:
                best, most = ranked, found.cost.cycles
        return None if best is None else best[2]

    def _size_neighbours(self, candidate: KernelCandidate) -> Iterator[Point]:
        """
        Yield neighbouring sizes with their default number of warps, and with that of a
        candidate.
        """
        for sizes in self._neighbour_sizes(candidate.sizes):
            yield sizes, None
            usual = self.default_warp_counts.get(sizes, candidate.warp_count)
            if usual != candidate.warp_count and self._may_have_registers_for(
                self.candidates_by_point.get((sizes, None)), candidate.warp_count
            ):
                yield sizes, candidate.warp_count

    def _warp_neighbours(self, candidate: KernelCandidate) -> Iterator[Point]:
        """
        Yield the sizes of a candidate with twice and half as many warps, if bounds on
        their time do not rule out that they gain `min_warps_gain`.
        """
        cost, warps = candidate.cost, candidate.warp_count
        most = cost.cycles * (1 - KERNEL_SEARCH.min_warps_gain)
        if cost.least_cycles_of_more_warps < most:
            yield candidate.sizes, 2 * warps
        if cost.least_cycles_of_fewer_warps < most and self._may_have_registers_for(
            candidate, warps // 2
        ):
            yield candidate.sizes, warps // 2

    def _may_have_registers_for(
        self, candidate: KernelCandidate | None, warps: int
    ) -> bool:
        """
        Return `False` if the values of a candidate exceed the registers of `warps`, or
        programs have more warps than that.
        """
        chip = self.kernel_model.chip
        if warps < chip.gpu.schedulers:
            return False
        if candidate is None:
            return True
        values = candidate.cost.resources.least_value_registers
        limit = chip.gpu.thread_registers + TRITON_CALIBRATION.max_spilled_registers
        return values <= limit * warps * chip.gpu.warp

    def _neighbour_sizes(self, sizes: Sizes) -> Iterator[Sizes]:
        """
        Yield the sizes with one axis halved or doubled, then those with one axis
        doubled and another one halved; a parallel axis also four times as long and
        another one a quarter, if halves of its tiles would compute as much padding.
        """
        for axis in range(len(sizes)):
            for one in (self._halve_axis(sizes, axis), self._double_axis(sizes, axis)):
                if one is not None:
                    yield one
        for axis in range(len(sizes)):
            if (more := self._double_axis(sizes, axis)) is None:
                continue
            for other in range(len(sizes)):
                if other == axis or (pair := self._halve_axis(more, other)) is None:
                    continue
                yield pair
                is_parallel = max(axis, other) < len(self.axes.parallel)
                if is_parallel and self._is_padded_in_halves(sizes, other):
                    longer = self._double_axis(pair, axis)
                    quarter = longer and self._halve_axis(longer, other)
                    if quarter is not None:
                        yield quarter

    def _is_padded_in_halves(self, sizes: Sizes, axis: int) -> bool:
        """
        Return `True` if tiles pad an axis, and tiles of half the size pad it as much.
        """
        extent = (*self.axes.parallel, *self.axes.reduction)[axis]
        tile = self.rules.padded_tile_extent(sizes[axis])
        padding = -extent % tile
        return tile > 2 and padding > 0 and padding == -extent % (tile // 2)

    def _halve_axis(self, sizes: Sizes, axis: int) -> Sizes | None:
        """
        Return the sizes with the padded size of one axis halved; None if it is 1 or
        fixed.
        """
        size = sizes[axis]
        if size == 1 or not self._can_resize_axis(axis):
            return None
        return (
            *sizes[:axis],
            self.rules.padded_tile_extent(size) // 2,
            *sizes[axis + 1 :],
        )

    def _double_axis(self, sizes: Sizes, axis: int) -> Sizes | None:
        """
        Return the sizes with the padded size of one axis doubled; None if it covers the
        axis already or is fixed.
        """
        size = sizes[axis]
        extent = (*self.axes.parallel, *self.axes.reduction)[axis]
        if size >= self.rules.padded_tile_extent(extent) or not self._can_resize_axis(
            axis
        ):
            return None
        return (
            *sizes[:axis],
            2 * self.rules.padded_tile_extent(size),
            *sizes[axis + 1 :],
        )

    def _can_resize_axis(self, axis: int) -> bool:
        return (*self.axes.free, *self.axes.reduction_free)[axis]

    def _is_worth_its_warps(self, point: Point, found: KernelCandidate) -> bool:
        """
        Return `True` if the candidate at a point has the default number of warps, or
        gains `min_warps_gain` on it.
        """
        sizes, warps = point
        if (
            warps is None
            or (usual := self._cheapest_candidate_at((sizes, None))) is None
        ):
            return True
        gain = KERNEL_SEARCH.min_warps_gain
        return found.cost.cycles <= usual.cost.cycles * (1 - gain)

    def _cheapest_candidate_at(self, point: Point) -> KernelCandidate | None:
        """Return the cheapest candidate at a point; None if it is not legal."""
        if point not in self.candidates_by_point:
            sizes, warps = point
            tiling = self._legal_tiling_for(sizes, warps)
            self.candidates_by_point[point] = (
                None
                if tiling is None
                else self._find_cheapest_candidate(sizes, warps, tiling)
            )
        return self.candidates_by_point[point]

    def _min_cycles_of(self, point: Point) -> float:
        """
        Return a lower bound on the cycles at a point: those of its candidate if that is
        known, infinite if it is not legal.
        """
        if point in self.candidates_by_point:
            known = self.candidates_by_point[point]
            return inf if known is None else known.cost.cycles
        if point not in self._min_cycles_by_point:
            sizes, warps = point
            if (tiling := self._legal_tiling_for(sizes, warps)) is None:
                self.candidates_by_point[point] = None
                return inf
            stages = self._max_stage_count(tiling)
            least = self.kernel_model.min_cycles_of(tiling, warps, stages)
            self._min_cycles_by_point[point] = least
        return self._min_cycles_by_point[point]

    def _closer_min_cycles_of(self, point: Point) -> float | None:
        """
        Return the next bound of a legal point, which is closer than those before and
        takes longer to compute: with its moves, then with its resources. None if there
        is no closer one.
        """
        sizes, warps = point
        tiling, known = self._fitting_tilings[sizes], self._bound_counts.get(point, 0)
        if point in self.candidates_by_point or tiling is None or known == 2:
            return None
        self._bound_counts[point] = known + 1
        model, stages = self.kernel_model, self._max_stage_count(tiling)
        if known == 0:
            closer = model.min_cycles_with_moves_of(tiling, warps, stages)
        else:
            counts = self._candidate_stage_counts(tiling)
            schedules = [KernelSchedule(each, warps) for each in counts]
            closer = model.min_cycles_with_resources_of(tiling, schedules, stages)
        self._min_cycles_by_point[point] = max(self._min_cycles_of(point), closer)
        return closer

    def _max_stage_count(self, tiling: GroupTiling) -> int:
        """Return an upper bound on the number of stages of a tiling's candidates."""
        counts = self._candidate_stage_counts(tiling)
        return max(*counts, KERNEL_SEARCH.default_stages)

    def _legal_tiling_for(self, sizes: Sizes, warps: int | None) -> GroupTiling | None:
        """
        Return the group's tiles for parallel, then reduction sizes; None if they are
        illegal, or less efficient than the start.
        """
        if sizes not in self._fitting_tilings:
            self._fitting_tilings[sizes] = self._fitting_tiling_for(sizes)
        if (tiling := self._fitting_tilings[sizes]) is None:
            return None
        is_start = sizes in self.start_sizes
        if not is_start and not self._is_as_efficient_as_start(tiling, warps):
            return None
        return tiling

    def _fitting_tiling_for(self, sizes: Sizes) -> GroupTiling | None:
        """
        Return the group's tiles for some sizes, and record their default number of
        warps; None if they are illegal, or exceed the limits of a program.
        """
        if (tiling := self._tiling_for(sizes)) is None:
            return None
        if not can_tiles_fit(
            tiling, self.level, self.target
        ) or not self._has_small_unrolled_products(tiling):
            return None
        usual = self.kernel_model.default_warp_count_of(tiling)
        self.default_warp_counts[sizes] = usual
        return tiling

    def _find_cheapest_candidate(
        self, sizes: Sizes, warps: int | None, tiling: GroupTiling
    ) -> KernelCandidate | None:
        """
        Return the candidate with the cheapest number of stages, or the default number
        if it costs little more; None if none has enough resources.
        """
        candidates = [
            KernelCandidate(sizes, each, self.kernel_model.estimate_cost(tiling, each))
            for each in self._candidate_schedules(sizes, tiling, warps)
            if self.kernel_model.program_resources_of(tiling, each).is_within_limits(
                self.kernel_model.chip
            )
        ]
        best = min(candidates, key=_rank_of_candidate, default=None)
        stages = KERNEL_SEARCH.default_stages
        usual_stages = (e for e in candidates if e.schedule.stages == stages)
        default = next(usual_stages, None)
        if best is None or default is None:
            return best
        return (
            best
            if best.cost.cycles
            < default.cost.cycles * (1 - KERNEL_SEARCH.min_stages_gain)
            else default
        )

    def _candidate_schedules(
        self, sizes: Sizes, tiling: GroupTiling, warps: int | None
    ) -> Iterator[KernelSchedule]:
        """
        Yield the schedules to evaluate; none if programs cannot have `warps`, or if
        that is the default number, which has a point of its own.
        """
        if warps is not None:
            counts = self.kernel_model.warp_counts_of(tiling, self.max_warps)
            if warps not in counts or warps == self.default_warp_counts[sizes]:
                return
        for stages in self._candidate_stage_counts(tiling):
            yield KernelSchedule(stages, warps)

    def _candidate_stage_counts(self, tiling: GroupTiling) -> Sequence[int]:
        """
        Return the numbers of iterations in flight to evaluate, ascending; 1 if no
        reduction loop has matrix products.
        """
        if not tiling.inner_loops or not self.kernel_model.has_matrix_products(tiling):
            return (1,)
        most = self.max_stages or DEPTHS[-1]
        return [each for each in DEPTHS if each <= most] or (1,)

    def _has_matrix_product(self, sizes: Sizes) -> bool:
        tiling = self._tiling_for(sizes)
        return tiling is not None and self.kernel_model.has_matrix_products(tiling)

    def _tiling_for(self, sizes: Sizes) -> GroupTiling | None:
        """
        Return the group's tiles for parallel, then reduction sizes; None if they are
        illegal.
        """
        count = len(self.axes.parallel)
        try:
            return self.members.analyze_tiles_of_sizes(
                sizes[:count], sizes[count:], self.rules
            )
        except TilingError:
            return None

    def _is_as_efficient_as_start(self, tiling: GroupTiling, warps: int | None) -> bool:
        """
        Return `True` if tiles are as efficient as the start sizes: threads move the
        maximum bytes per access, and matrix instructions are used where the start uses
        them.
        """
        if self.has_start_products and not self.kernel_model.has_matrix_products(
            tiling
        ):
            return False
        moved = [*tiling.input_tiles(), *tiling.output_tiles()]
        largest = max(
            count_elements_of_box(box) * itemsize_of(value) for value, box in moved
        )
        return (
            largest
            >= TRITON_CALIBRATION.vector_bytes
            * (warps or WARPS)
            * self.kernel_model.chip.gpu.warp
        )

    def _has_small_unrolled_products(self, tiling: GroupTiling) -> bool:
        """
        Return `True` if products without matrix instructions have at most the permitted
        number of elements.
        """
        demand, limit = (
            self.kernel_model.resource_demand_of(tiling),
            self.target.tiling.max_elements,
        )
        compute_model, fused = demand.compute_model, list[int]()
        for tiled in tiling.tiles.values():
            if not tiled.facts.is_product:
                continue
            product = compute_model.matrix_product_of(tiled)
            if compute_model.is_multiply_add_by_lanes(product):
                fused.append(count_scalar_products(product))
            elif not compute_model.has_mma_shape(product):
                if limit is not None and count_scalar_products(product) > limit:
                    return False
        most = (
            KERNEL_SEARCH.max_unrolled_steps
            if len(fused) < 2
            else KERNEL_SEARCH.max_fused_unrolled_steps
        )
        return sum(fused) <= most * demand.warp_count * compute_model.chip.gpu.warp


def is_far_above(cycles: float, limit: float) -> bool:
    """
    Return `True` if tiles take so many more cycles than a limit that the search does
    not start from them.
    """
    return cycles > KERNEL_SEARCH.max_limit_ratio * limit


def _rank_of_candidate(candidate: KernelCandidate) -> tuple[float, int, int]:
    """Return the rank of a candidate: its cycles, then its distance from defaults."""
    usual = abs(candidate.schedule.stages - KERNEL_SEARCH.default_stages)
    return candidate.cost.cycles, usual, candidate.cost.program_count
