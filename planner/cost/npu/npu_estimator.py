"""
Cost model of NPUs as an estimator: search for the tile plan of a group with the least
estimated time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf, prod
from typing import TypeAlias, TypeVar

from xdsl.ir import Operation

from tlf.analysis.affine_loops.iteration_systems import loop_bounds_of
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.structural_keys import StructuralKeys, structural_key_of
from tlf.dialects import graph, tile
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.tile import Mapping
from tlf.planner.context import Memo
from tlf.planner.cost.npu.candidate_shortlist import TileCandidate
from tlf.planner.cost.npu.inner_cost_model import InnerCostModel
from tlf.planner.cost.npu.inner_search import STAGES, InnerSearch
from tlf.planner.cost.npu.nest_prediction import NestPredictor, Nests
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.fusion.cascade_fusion import CascadeFusion
from tlf.planner.search_space import UNRESTRICTED, SearchSpace
from tlf.planner.settings.search_budgets import TILE_SEARCH
from tlf.planner.split_bound import SplitBound

T = TypeVar("T")


Plans: TypeAlias = tuple[graph.PlanAttr, ...]


def has_timing_model(target: TargetSpec) -> bool:
    """Return `True` if there is a timing model of a target."""
    engines = {"matrix", "vector"}
    return target.backend == "npu" and engines <= set(target.engines)


class NpuEstimator:
    """Estimator of plans for one memory level of an NPU, cached by structure."""

    def __init__(
        self,
        target: TargetSpec,
        level: Level,
        search_space: SearchSpace = UNRESTRICTED,
        memo: Memo | None = None,
    ) -> None:
        memo = Memo() if memo is None else memo
        self.target = target
        self.level = level
        self.freedom = search_space
        self.is_nearest = level is next(iter(target.levels.values()))
        self.machinery = InnerCostModel(target, level)
        if not self.is_nearest:
            self.outer = OuterCostModel(target, level)
            self.nesting = nest_predictor_on(target, memo)
        self._structures = StructuralKeys()
        self._known: dict[Hashable, Plans] = {}
        configuration = repr((target.data, level.name, search_space))
        self._answers: dict[Hashable, int | None] = memo.results_table_for(
            "cycles", configuration
        )
        self._plans: dict[Hashable, Plans] = memo.results_table_for(
            "plans", configuration
        )

    @cached_property
    def machinery_of_one_core(self) -> InnerCostModel:
        """Cost models of the target with one core."""
        return InnerCostModel(replace(self.target, cores=1), self.level)

    @property
    def can_estimate_cascades(self) -> bool:
        """
        True at the innermost level, whose loops the event model runs; tiles of outer
        levels are not simulated.
        """
        return self.is_nearest

    @staticmethod
    def create_for_level(
        target: TargetSpec,
        level: Level,
        search_space: SearchSpace = UNRESTRICTED,
        memo: Memo | None = None,
    ) -> NpuEstimator | None:
        """
        Return an estimator for a level, or `None` if there is no model of the target.
        """
        return (
            NpuEstimator(target, level, search_space, memo)
            if has_timing_model(target)
            else None
        )

    def find_plan(self, members: GroupMembers) -> graph.PlanAttr | None:
        """Return the fastest plan, or `None` if no evaluated candidate fits."""
        return next(iter(self.find_plans(members)), None)

    def find_plans(self, members: GroupMembers) -> Plans:
        """
        Return the fastest plan, then alternatives that take little longer, if known.
        """
        structure = self._structures.structural_key_of(
            members.operations, members.results
        )
        key = structure, _execution_count(members.root)
        if key not in self._known:
            find = self._find_inner_plans if self.is_nearest else self._find_outer_plans
            self._known[key] = _memoize_by_structure(self._plans, members, find)
        return self._known[key]

    def estimate_cycles(self, members: GroupMembers, limit: float = inf) -> int | None:
        """Return the approximate cycles of a group by itself with its best tiles."""
        find = (
            self._estimate_inner_cycles
            if self.is_nearest
            else self._estimate_outer_cycles
        )
        return _memoize_by_structure(self._answers, members, find)

    def min_cycles_to_move_results(
        self, reductions: Sequence[AccumulatingInterface]
    ) -> float:
        """Return 0: the model has no bound on parts of reductions."""
        return 0.0

    def min_cycles_of_two_groups(self, members: GroupMembers) -> float | None:
        """Return None: the model has no bound on several groups."""
        return None

    def find_split_bound(self, members: GroupMembers) -> SplitBound | None:
        """Return None: parts of a reduction have no bound in this model."""
        return None

    def _estimate_inner_cycles(self, members: GroupMembers) -> int | None:
        """
        Return the simulated cycles of a group at the innermost level by a coarse
        search; `None` if no tiles are legal and fit.
        """
        try:
            candidate = self._inner_search_of(
                members, TILE_SEARCH.max_coarse_points
            ).find_approximate_best()
        except TilingError:
            return None
        return None if candidate is None else candidate.cycles

    def _estimate_outer_cycles(self, members: GroupMembers) -> int | None:
        plan = self._find_outer_plan(members)
        return None if plan is None else plan.cost.total_cycles

    def _find_inner_plans(self, members: GroupMembers) -> Plans:
        """
        Search for tiles at the innermost level; return the best plan, then alternatives
        of similar time, empty if none fits.
        """
        search = self._inner_search_of(members)
        if (best := search.find_best()) is None:
            return ()
        candidates = search.candidates_near_best(best)[
            : TILE_SEARCH.alternative_plans + 1
        ]
        if self.target.cores == 1:
            return tuple(self._to_plan_attribute(each) for each in candidates)
        plans = [self._to_plan_attribute(each, Mapping.CORE) for each in candidates]
        if (serial := self._candidate_on_one_core(members, best)) is not None:
            position = int(serial.cycles >= best.cycles)
            plans.insert(position, self._to_plan_attribute(serial))
        return tuple(plans)

    def _candidate_on_one_core(
        self, members: GroupMembers, best: TileCandidate
    ) -> TileCandidate | None:
        """
        Return the tiles of the best candidate on one core, which need not share its
        port, or None if they take much longer.
        """
        search = self._inner_search_of(members, machinery=self.machinery_of_one_core)
        sizes = (*best.tile_sizes, *best.reduction_tile_sizes)
        found = search.simulated_candidate_for(sizes, best.stages)
        limit = best.cycles + best.cycles // TILE_SEARCH.alternative_divisor
        return None if found is None or found.cycles > limit else found

    def _to_plan_attribute(
        self, candidate: TileCandidate, mapping: Mapping = Mapping.LOOP
    ) -> graph.PlanAttr:
        """Return the plan of a candidate for this level."""
        return graph.PlanAttr(
            self.level.name,
            candidate.tile_sizes,
            candidate.reduction_tile_sizes,
            mapping,
            stages=candidate.stages.tiles,
            reduce_stages=candidate.stages.reduce_stages,
        )

    def _inner_search_of(
        self,
        members: GroupMembers,
        max_grid_points: int = TILE_SEARCH.max_grid_points,
        machinery: InnerCostModel | None = None,
    ) -> InnerSearch:
        """
        Build, but do not run, a tile search for a group at the innermost level, by the
        cost models `machinery`, or else by those of the target.
        """
        axes = self.freedom.restrict_tileable_axes(
            members.tileable_axes(self.machinery.rules)
        )
        stages = self.freedom.restrict_stage_counts(STAGES)
        executions = _execution_count(members.root)
        return InnerSearch(
            members,
            axes,
            self.level,
            machinery or self.machinery,
            executions,
            stages,
            max_grid_points,
        )

    def _find_outer_plans(self, members: GroupMembers) -> Plans:
        best = self._find_outer_plan(members)
        return () if best is None else (best.to_plan_attribute(self.level.name),)

    def _find_outer_plan(self, members: GroupMembers) -> OuterPlan | None:
        """
        Search for the fastest plan at this outer level, with the nests predicted inside
        of it; `None` if none fits.
        """
        nests = self.nesting.predict_nests(members)
        search = OuterSearch(
            members, nests, self.outer, self.level.capacity, search_space=self.freedom
        )
        return search.find_best()


def nest_predictor_on(target: TargetSpec, memo: Memo | None = None) -> NestPredictor:
    """
    Return a predictor of the nests that `graph-group` forms for the innermost memory.
    """
    innermost = next(iter(target.levels.values()))
    estimator = NpuEstimator.create_for_level(target, innermost, memo=memo)
    return NestPredictor(
        target, None if estimator is None else CascadeFusion(target, estimator)
    )


def predict_nests_of(
    members: GroupMembers, target: TargetSpec, memo: Memo | None = None
) -> Nests:
    """Return the nests of one group."""
    return nest_predictor_on(target, memo).predict_nests(members)


def _memoize_by_structure(
    cache: dict[Hashable, T], members: GroupMembers, find: Callable[[GroupMembers], T]
) -> T:
    """
    Return the result of `find` for a group, computed once for all groups of equal
    structure and execution count.
    """
    structure = structural_key_of(members.operations, members.results)
    key = structure, _execution_count(members.root)
    if key not in cache:
        cache[key] = find(members)
    return cache[key]


def _execution_count(op: Operation) -> int:
    """
    Return how many times the surrounding loops run an operation; a loop of unknown trip
    count counts once.
    """
    count, parent = 1, op.parent_op()
    while parent is not None:
        if isinstance(parent, tile.WhileOp):
            count *= prod(loop.trips or 1 for loop in loop_bounds_of(parent))
        parent = parent.parent_op()
    return count
