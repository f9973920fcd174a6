"""
Cost model of GPU kernels as an estimator: search for the tile plan of a group with the
least kernel time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from math import inf, prod

from xdsl.ir import SSAValue

from tlf.analysis.operations.banded_matmul import MatmulWork
from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_analysis import GroupMembers, tile_rules_of
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.position_masks import key_of_positions
from tlf.analysis.tiling.structural_keys import structural_key_of
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.analysis.work.flops_and_bytes import accumulator_bytes_of
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    DelinearizedReadInterface,
)
from tlf.dialects.target import Level, LevelKind, TargetSpec
from tlf.dialects.tile import Mapping
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.gpu.busy_bound import min_busy_cycles_of
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_model import KernelModel
from tlf.planner.cost.gpu.kernel_search import (
    KernelCandidate,
    KernelSearch,
    Sizes,
    is_far_above,
)
from tlf.planner.search_space import UNRESTRICTED, SearchSpace
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.planner.settings.search_budgets import KERNEL_SEARCH
from tlf.planner.split_bound import SplitBound
from tlf.planner.tile_sizes.largest_tiles import TileSizeSelector


class GpuEstimator:
    """
    Plan search for the memory level of the tiles that kernel programs compute; groups
    of equal structure share one plan.
    """

    def __init__(
        self,
        target: TargetSpec,
        level: Level,
        chip: Chip,
        search_space: SearchSpace = UNRESTRICTED,
        memo: Memo | None = None,
    ) -> None:
        memo = Memo() if memo is None else memo
        self.target = target
        self.level = level
        self.freedom = search_space
        self.kernels = KernelModel(chip, target)
        self.rules = tile_rules_of(target, level.name)
        configuration = repr((target.data, level.name, search_space))
        self._known: dict[Hashable, graph.PlanAttr | None] = memo.results_table_for(
            "plans", configuration
        )
        self._costs: dict[Hashable, KernelCost | None] = memo.results_table_for(
            "costs of plans", configuration
        )
        self._slow: dict[Hashable, int] = memo.results_table_for(
            "cycles above a limit", configuration
        )

    @property
    def can_estimate_cascades(self) -> bool:
        return True

    @staticmethod
    def create_for_level(
        target: TargetSpec,
        level: Level,
        search_space: SearchSpace = UNRESTRICTED,
        memo: Memo | None = None,
    ) -> GpuEstimator | None:
        """
        Return an estimator for a level, or `None` if there is no model of the target.
        """
        chip = Chip.from_target(target)
        if chip is None or level.kind is not LevelKind.VALUE:
            return None
        return GpuEstimator(target, level, chip, search_space, memo)

    def find_plan(self, members: GroupMembers) -> graph.PlanAttr | None:
        """Return the cheapest plan, or `None` if no evaluated candidate fits."""
        key = _key_of_group(members)
        if key not in self._known:
            self._record_plan(key, members, self._search_candidate(members))
        return self._known[key]

    def estimate_cycles(self, members: GroupMembers, limit: float = inf) -> int | None:
        """
        Return the cycles of a group as one kernel with its plan, or `None` without a
        plan; of another plan if the search for the best one ended above `limit`.
        """
        key = _key_of_group(members)
        if key not in self._known:
            slow = self._find_slow_cycles(key, members, limit)
            if slow is not None:
                return slow
        cost = self._known_cost(key, members)
        return None if cost is None else round(cost.cycles)

    def min_cycles_to_move_results(
        self, reductions: Sequence[AccumulatingInterface]
    ) -> float:
        """
        Return the minimum cycles in which partial results of reductions are stored, or
        loaded; 0 unless all of them are products by matrix instructions of the full
        rate, of factors with aligned rows. Others may compute parts of a product faster
        than the whole.
        """
        if not all(map(self._is_full_rate_product, reductions)):
            return 0.0
        stored = sum(map(accumulator_bytes_of, reductions))
        return stored / self.kernels.chip.memory.bandwidth

    def _is_full_rate_product(self, op: AccumulatingInterface) -> bool:
        """
        Return `True` if matrix instructions of the full rate compute a reduction, of
        factors with aligned rows.
        """
        chip = self.kernels.chip
        return (
            isinstance(op, ContractionInterface)
            and chip.has_matrix_instructions_for(op)
            and _has_min_extents(OpFacts(op), chip.gpu.matrix_rows)
            and all(map(_has_aligned_rows, op.operands[:2]))
        )

    def min_cycles_of_two_groups(self, members: GroupMembers) -> float | None:
        """Return a lower bound on the cycles of operations in two or more kernels."""
        chip = self.kernels.chip
        fixed = chip.gpu.launch + chip.memory.latency + chip.cache.latency
        return 2 * fixed + min_busy_cycles_of(members, chip)

    def find_split_bound(self, members: GroupMembers) -> SplitBound | None:
        """
        Return a bound on what a group saves if its reductions run in parallel parts, or
        None without a plan.
        """
        key = _key_of_group(members)
        if (cost := self._known_cost(key, members)) is None:
            return None
        return SplitBound(
            cost.fixed_cycles,
            cost.cycles - cost.fixed_cycles,
            min_busy_cycles_of(members, self.kernels.chip),
        )

    def _find_slow_cycles(
        self, key: Hashable, members: GroupMembers, limit: float
    ) -> int | None:
        """
        Return the cycles of tiles if all starts of the search exceed `limit`; None, and
        record the best plan, if they do not.
        """
        slow = self._slow.get(key)
        if slow is not None and is_far_above(slow, limit):
            return slow
        if key in self._costs:
            return None
        try:
            best = self._search_candidate(members, limit)
        except TilingError:
            self._costs[key] = None
            return None
        if best is not None and is_far_above(best.cost.cycles, limit):
            self._slow[key] = round(best.cost.cycles)
            return self._slow[key]
        self._record_plan(key, members, best)
        return None

    def _known_cost(self, key: Hashable, members: GroupMembers) -> KernelCost | None:
        """
        Return the cost of a group with its plan; None without a plan or if it has no
        legal tiles.
        """
        if key not in self._costs:
            try:
                best = self._search_candidate(members)
            except TilingError:
                self._costs[key] = None
            else:
                self._record_plan(key, members, best)
        return self._costs[key]

    def _record_plan(
        self, key: Hashable, members: GroupMembers, best: KernelCandidate | None
    ) -> None:
        """Record the plan and the cost of the best candidate of a search."""
        self._known[key] = best and self.to_plan_attribute(members, best)
        self._costs[key] = best and best.cost

    def evaluated_candidates_of(self, members: GroupMembers) -> list[KernelCandidate]:
        """Return the candidates that the plan search has evaluated, cheapest first."""
        search, starts = self._prepare_search(members)
        search.find_best(starts)
        candidates = (
            each for each in search.candidates_by_point.values() if each is not None
        )
        return sorted(candidates, key=lambda each: each.cost.cycles)

    def to_plan_attribute(
        self, members: GroupMembers, candidate: KernelCandidate
    ) -> graph.PlanAttr:
        """Build a plan attribute from a candidate, without attaching it to any IR."""
        count = len(members.tileable_axes(self.rules).parallel)
        stages = candidate.schedule.stages
        # `default_stages` is the default of loops that name no number of stages.
        is_usual = stages == KERNEL_SEARCH.default_stages
        return graph.PlanAttr(
            self.level.name,
            candidate.sizes[:count],
            candidate.sizes[count:],
            Mapping.PERSISTENT if candidate.cost.is_persistent else Mapping.GRID,
            stages=1 if is_usual else stages,
            warps=candidate.schedule.warps,
            unroll=candidate.schedule.unroll,
        )

    def _search_candidate(
        self, members: GroupMembers, limit: float = inf
    ) -> KernelCandidate | None:
        search, starts = self._prepare_search(members, limit)
        return search.find_best(starts)

    def _prepare_search(
        self, members: GroupMembers, limit: float = inf
    ) -> tuple[KernelSearch, list[Sizes]]:
        """
        Return a search and its starts: the tile sizes selected without a cost model.
        """
        axes = self.freedom.restrict_tileable_axes(members.tileable_axes(self.rules))
        search = KernelSearch(
            members,
            axes,
            self.level,
            self.target,
            self.rules,
            self.kernels,
            self.freedom.max_stages,
            self.freedom.max_warps,
            limit,
        )
        shape = members, axes, self.level, self.target, self.rules
        starts: list[tuple[int, ...]] = []
        for product in self._products_to_start_from(members):
            with suppress(TilingError):
                sizes = TileSizeSelector(
                    *shape, preferred_product=product
                ).select_sizes()
                starts.append((*sizes.parallel_sizes, *sizes.reduction_sizes))
        if self._can_unroll_reduction(members, axes):
            padded = [self.rules.padded_tile_extent(each) for each in axes.parallel]
            factors = [extent & -extent for extent in axes.parallel]
            unrolled = [self._unrolled_start(axes, each) for each in (padded, factors)]
            # Elements of a window that are in different threads are not contiguous.
            has_windows = any(
                isinstance(op, DelinearizedReadInterface) for op in members.operations
            )
            starts = unrolled if has_windows else [*starts, *unrolled]
        return search, starts

    def _can_unroll_reduction(self, members: GroupMembers, axes: TileableAxes) -> bool:
        """
        Return `True` if a group has a short reduction, without products, that can
        accumulate element by element.
        """
        if not axes.reduction or not all(axes.reduction_free):
            return False
        ops = members.accumulating_operations
        is_short = prod(axes.reduction) <= TRITON_CALIBRATION.max_unrolled_iterations
        return is_short and not any(isinstance(op, ContractionInterface) for op in ops)

    def _unrolled_start(self, axes: TileableAxes, limits: Sequence[int]) -> Sizes:
        """
        Return the start with which a reduction accumulates element by element: tiles
        of the preferred number of elements, with a limit along each axis but the first.
        """
        sizes, left = list[int](), self.target.tiling.tile_elements or 1
        for axis in reversed(range(len(limits))):
            extent = self.rules.padded_tile_extent(axes.parallel[axis])
            limit = limits[axis] if axis else extent
            size = min(limit, max(1, left)) if axes.free[axis] else extent
            sizes.insert(0, size)
            left //= size
        return (*sizes, *(1 for _ in axes.reduction))

    def _products_to_start_from(
        self, members: GroupMembers
    ) -> list[ContractionInterface | None]:
        """
        Return the products whose preferred tiles the search starts from: `None` for the
        first accumulating operation, then the first matrix product if it is another
        operation.
        """
        matrices = (
            op
            for op in members.accumulating_operations
            if isinstance(op, ContractionInterface) and self.has_mma_shape(members, op)
        )
        first = next(matrices, None)
        is_known = first is None or first is members.accumulating_operations[0]
        return [None] if is_known else [None, first]

    def has_mma_shape(self, members: GroupMembers, op: ContractionInterface) -> bool:
        """
        Return `True` if every axis of a contraction has the minimum extent of a matrix
        product.
        """
        facts = members.op_facts.facts_of(op)
        return _has_min_extents(facts, self.target.tiling.matrix_minimum)


def _has_min_extents(facts: OpFacts, min_extent: int) -> bool:
    """Return `True` if every axis of a matrix product has a minimum extent."""
    work = MatmulWork.of_iterators(facts.iterator_roles, facts.extents)
    return work.has_min_extents(min_extent)


def _has_aligned_rows(value: SSAValue) -> bool:
    """Return `True` if the rows of a tensor start at multiples of the widest load."""
    row = tensor_type(value).get_shape()[-1] * itemsize_of(value)
    return row % TRITON_CALIBRATION.vector_bytes == 0


def _key_of_group(members: GroupMembers) -> Hashable:
    """Return a key that is equal for groups with the same plans and costs."""
    structure = structural_key_of(members.operations, members.results)
    return structure, key_of_positions(members.operations)
