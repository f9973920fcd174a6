"""Choose tile sizes that fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph, tile
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.target import Level, Target
from tlf.passes.cost.estimator import Estimator
from tlf.passes.cost.estimators import estimator_of
from tlf.passes.cost.freedom import Freedom
from tlf.passes.graph_group import level_named
from tlf.passes.tiling.group import Members, rules_of
from tlf.passes.tiling.largest import Chooser, Sizes
from tlf.passes.tiling.model import TilingError


def members_of_group(group: graph.GroupOp) -> Members:
    """The operations and results of a group."""
    operations: list[TilingInterface] = []
    for op in group.body.block.ops:
        if isinstance(op, graph.YieldOp):
            continue
        if not isinstance(op, TilingInterface):
            raise TilingError(op, "expected an operation that can be tiled")
        operations.append(op)
    if not operations:
        raise TilingError(group, "expected a group that computes something")
    return Members(tuple(operations), group.yielded)


STRATEGIES = ("fastest", "largest")


@dataclass(frozen=True)
class GraphChooseTilesPass(ModulePass):
    """
    Give every group without a plan tiles that fit into a memory level.

    For an NPU the fastest are chosen, and how many iterations are in flight: in the
    nearest memory, where its engines work, by the event model of its simulator, in
    others by a formula, and whether tiles roll. For a GPU the cheapest kernel by a
    roofline with waves is. Elsewhere, starting from whole axes, the axis is halved that
    saves most, until the tiles of all values fit at once. An axis along which a
    reduction of the group would have to be computed again is never cut.
    """

    name = "graph-choose-tiles"

    level: str | None = None
    """The memory level that tiles are brought to; the outermost one unless given."""

    strategy: str = "fastest"
    """`fastest`, where the target's time is known, or `largest`."""

    tile: tuple[int, ...] = ()
    """Tile sizes to use as they are, one for each parallel axis."""

    reduce: tuple[int, ...] = ()
    """Reduction sizes to use as they are, one for each reduction axis."""

    stages: int | None = None
    """
    How many iterations of loops over tiles may be under way at once, where the smallest
    tiles of so many fit. Unless given, as many as pay, or 1 where times are not known.
    """

    roll: bool = True
    """Whether tiles may keep what they share with the next one."""

    axes: tuple[int, ...] | None = None
    """The axes that tiles may cut, of the first result of a group; all unless given."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        level = level_named(target, self.level)
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise PassFailedException(
                f"expected a strategy among {known}, got {self.strategy}"
            )
        fastest = self.strategy == "fastest"
        estimator = estimator_of(target, level, self._freedom) if fastest else None
        self.choose(op, target, level, estimator)

    def choose(
        self, op: ModuleOp, target: Target, level: Level, estimator: Estimator | None
    ) -> None:
        """Give groups without a plan the best that is known, or else one that fits."""
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is not None:
                continue
            members = members_of_group(group)
            plan = None
            if estimator is not None and not self.tile:
                plan = estimator.plan(members)
            group.plan = plan or self._plan(group, level, target)

    @property
    def _freedom(self) -> Freedom:
        return Freedom(self.roll, self.stages, self.axes)

    def _plan(
        self, group: graph.GroupOp, level: Level, target: Target
    ) -> graph.PlanAttr:
        rules = rules_of(target, level.name)
        members = members_of_group(group)
        sizes, stages = Sizes(self.tile, self.reduce), self.stages or 1
        if not self.tile:
            axes = self._freedom.cut(members.axes(rules))
            chooser = Chooser(members, axes, level, target, rules, stages)
            stages = chooser.most_stages()
            sizes = replace(chooser, stages=stages).choose()
        is_grid = level.kind == "value" and group.parent_op() is not None
        mapping = tile.Mapping.GRID if is_grid else tile.Mapping.LOOP
        return graph.PlanAttr(
            level.name, sizes.tile, sizes.reduce, mapping, stages=stages
        )
