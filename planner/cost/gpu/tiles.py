"""Plans for groups, by the time that they take as kernels of a GPU."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress

from tlf.analysis.operations.bands import Work
from tlf.analysis.tiling.group import Members, rules_of
from tlf.analysis.tiling.model import TilingError
from tlf.analysis.tiling.structure import structure_of
from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, LevelKind, Target
from tlf.dialects.tile import Mapping
from tlf.planner.context import Memo
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.kernel import STAGES, Kernels
from tlf.planner.cost.gpu.search import Choice, Sizes, TileSearch
from tlf.planner.freedom import ANYTHING, Freedom
from tlf.planner.tiles.largest import Chooser


class GpuTiles:
    """
    Finds plans for the memory level whose tiles the programs of kernels work on; groups
    of one structure have one plan.
    """

    def __init__(
        self,
        target: Target,
        level: Level,
        chip: Chip,
        freedom: Freedom = ANYTHING,
        memo: Memo | None = None,
    ) -> None:
        memo = Memo() if memo is None else memo
        self.target = target
        self.level = level
        self.freedom = freedom
        self.kernels = Kernels(chip, target)
        self.rules = rules_of(target, level.name)
        circumstances = repr((target.data, level.name, freedom))
        self._known: dict[Hashable, graph.PlanAttr | None] = memo.table(
            "plans", circumstances
        )
        self._fastest: dict[Hashable, int | None] = memo.table("cycles", circumstances)

    @property
    def prices_cascades(self) -> bool:
        return True

    @staticmethod
    def of(
        target: Target,
        level: Level,
        freedom: Freedom = ANYTHING,
        memo: Memo | None = None,
    ) -> GpuTiles | None:
        """A finder for a level, or None where there is no model of the target."""
        chip = Chip.of(target)
        if chip is None or level.kind is not LevelKind.VALUE:
            return None
        return GpuTiles(target, level, chip, freedom, memo)

    def plan(self, members: Members) -> graph.PlanAttr | None:
        """The cheapest plan, or None where none of those tried fits."""
        return self._planned(structure_of(members.operations, members.results), members)

    def fastest(self, members: Members) -> int | None:
        """The cycles of a group as one kernel with this plan, if there is one."""
        key = structure_of(members.operations, members.results)
        if key not in self._fastest:
            self._fastest[key] = self._cycles(key, members)
        return self._fastest[key]

    def _planned(self, key: Hashable, members: Members) -> graph.PlanAttr | None:
        if key not in self._known:
            self._known[key] = self._plan(members)
        return self._known[key]

    def _cycles(self, key: Hashable, members: Members) -> int | None:
        try:
            if (plan := self._planned(key, members)) is None:
                return None
            tiling = members.tiling(plan.tile_sizes, plan.reduce_sizes, self.rules)
        except TilingError:
            return None
        return round(self.kernels.price(tiling, plan.stage_count).cycles)

    def choices(self, members: Members) -> list[Choice]:
        """
        Return the choices that the search for a plan has priced, the cheapest first.
        """
        search, starts = self._search(members)
        search.best(starts)
        found = (each for each in search.known.values() if each is not None)
        return sorted(found, key=lambda each: each.price.cycles)

    def attribute(self, members: Members, choice: Choice) -> graph.PlanAttr:
        """A choice as a plan."""
        count = len(members.axes(self.rules).parallel)
        # Loops that say nothing have so many in flight anyway.
        stages = 1 if choice.stages == STAGES else choice.stages
        return graph.PlanAttr(
            self.level.name,
            choice.sizes[:count],
            choice.sizes[count:],
            Mapping.GRID,
            stages=stages,
        )

    def _plan(self, members: Members) -> graph.PlanAttr | None:
        search, starts = self._search(members)
        best = search.best(starts)
        return None if best is None else self.attribute(members, best)

    def _search(self, members: Members) -> tuple[TileSearch, list[Sizes]]:
        """A search, and where it starts: at sizes that are taken without a model."""
        axes = self.freedom.cut(members.axes(self.rules))
        search = TileSearch(
            members,
            axes,
            self.level,
            self.target,
            self.rules,
            self.kernels,
            self.freedom.stages,
        )
        shape = members, axes, self.level, self.target, self.rules
        starts: list[tuple[int, ...]] = []
        for product in self._leading(members):
            with suppress(TilingError):
                sizes = Chooser(*shape, product=product).choose()
                starts.append((*sizes.tile, *sizes.reduce))
        return search, starts

    def _leading(self, members: Members) -> list[ContractionInterface | None]:
        """
        The products whose preferred tiles a search starts from: what accumulates first,
        and the first product of matrices where that is another one.
        """
        matrices = (
            op
            for op in members.accumulating
            if isinstance(op, ContractionInterface) and self.is_matrix(members, op)
        )
        first = next(matrices, None)
        is_known = first is None or first is members.accumulating[0]
        return [None] if is_known else [None, first]

    def is_matrix(self, members: Members, op: ContractionInterface) -> bool:
        """
        Return `True` if a contraction is long enough along each axis of a matrix
        product.
        """
        form = members.forms.of(op)
        least = self.target.tiling.matrix_minimum
        return Work.of(form.roles, form.extents).has_axes_of(least)
