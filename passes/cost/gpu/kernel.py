"""A tiled group as the programs of one kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from tlf.dialects.interfaces import ContractionInterface, IndexedInterface
from tlf.dialects.target import Target
from tlf.passes.cost.gpu.accesses import Accesses, Traffic
from tlf.passes.cost.gpu.arithmetic import Arithmetic
from tlf.passes.cost.gpu.busy import NOTHING, Busy
from tlf.passes.cost.gpu.chip import Chip
from tlf.passes.cost.gpu.price import Price, Work, price_of
from tlf.passes.cost.gpu.resources import Resources, resources_of
from tlf.passes.cost.gpu.reuse import Grid
from tlf.passes.tiling.model import GroupTiling, Scope, TiledOperation

STAGES = 3
"""Iterations in flight of loops around matrix products that say nothing themselves."""

KEPT = 0.5
"""The share of the cache in which tensors that are read again are taken to stay."""


@dataclass
class Kernels:
    """Prices tiled groups as kernels of a GPU."""

    chip: Chip
    target: Target
    arithmetic: Arithmetic = field(init=False)

    def __post_init__(self) -> None:
        self.arithmetic = Arithmetic(self.chip, self.target)

    def price(self, tiling: GroupTiling, stages: int = 1) -> Price:
        """What a group costs, `stages` being those of its plan."""
        return price_of(self.work(tiling, stages), self.chip)

    def resources(self, tiling: GroupTiling, stages: int = 1) -> Resources:
        """What one program takes."""
        return resources_of(tiling, self.arithmetic, self._stages(tiling, stages))

    def work(self, tiling: GroupTiling, stages: int = 1) -> Work:
        """What the programs of a group do."""
        resources = self.resources(tiling, stages)
        return _Kernel(self.chip, self.arithmetic, tiling, resources).work()

    def _stages(self, tiling: GroupTiling, stages: int) -> int:
        """Iterations in flight: without a plan, those around matrix products."""
        if stages > 1:
            return stages
        return STAGES if self.has_products(tiling) else 1

    def has_products(self, tiling: GroupTiling) -> bool:
        """Whether matrix instructions compute something of a group."""
        return any(
            self.arithmetic.is_matrix(self.arithmetic.product(tiled))
            for tiled in tiling.tiles.values()
            if isinstance(tiled.op, ContractionInterface)
        )


@dataclass
class _Kernel:
    """One kernel, while its work is added up."""

    chip: Chip
    arithmetic: Arithmetic
    tiling: GroupTiling
    resources: Resources

    def __post_init__(self) -> None:
        loops = tuple(self.tiling.loops.values())
        self.grid = Grid(loops, self._is_grouped())
        self.steps = prod(loop.trips for loop in self.tiling.inner_loops.values())
        threads = self.resources.warps * self.chip.gpu.warp
        self.accesses = Accesses(self.tiling, self.chip.sector, threads)

    def work(self) -> Work:
        """All programs, and one of them."""
        outer = list(self._moves(Scope.OUTER))
        inner = list(self._moves(Scope.INNER))
        every = [*outer, *inner]
        programs = self.grid.programs
        once = self._computed(Scope.OUTER) + self._moved(outer)
        repeated = self._computed(Scope.INNER) + self._moved(inner)
        fill = self._fill()
        step = repeated * (1 / self.steps)
        return Work(
            programs,
            self._memory(every),
            sum(each.bus for each in every),
            once + repeated,
            fill + once.total + self._loop(step) + self._waits(),
            fill,
            self.resources,
            sum(each.payload for each in every),
        )

    def _is_grouped(self) -> bool:
        """Whether programs run in groups, as around matrix products."""
        contractions = (
            tiled
            for tiled in self.tiling.tiles.values()
            if isinstance(tiled.op, ContractionInterface)
        )
        return any(
            self.arithmetic.is_matrix(self.arithmetic.product(each))
            for each in contractions
        )

    def _scope(self, tiled: TiledOperation) -> Scope:
        """Whether an operation runs in the loop of the reduction."""
        is_anchor = tiled.op is self.tiling.anchor
        is_inner = is_anchor and bool(self.tiling.inner_loops)
        return Scope.INNER if is_inner else tiled.scope

    def _moves(self, scope: Scope) -> Iterator[Traffic]:
        """What is read and written, once in a program or once in a step."""
        inner = scope is Scope.INNER
        for (value, at), boxes in self.tiling.reads.items():
            if at is scope:
                for box in boxes:
                    yield self.accesses.box(value, box, inner=inner)
        for op, tiled in self.tiling.tiles.items():
            if op in self.tiling.gathered and tiled.scope is scope:
                yield self.accesses.gathered(tiled, inner=inner)
        if not inner:
            pairs = zip(self.tiling.results, self.tiling.pieces, strict=True)
            for value, box in pairs:
                yield self.accesses.box(value, box, is_read=False)

    def _moved(self, moves: list[Traffic]) -> Busy:
        """What moving keeps busy, in one program."""
        count = self.grid.programs
        accesses = sum(each.accesses for each in moves) / count
        steps = sum(each.steps for each in moves) / count
        return Busy(
            lanes=steps / self.chip.lanes,
            loads=accesses / self.chip.gpu.load_lanes,
            port=sum(each.bus for each in moves) / count / self.chip.gpu.port,
        )

    def _computed(self, scope: Scope) -> Busy:
        """What computing keeps busy, in one program."""
        times = self.steps if scope is Scope.INNER else 1
        busy = NOTHING
        for tiled in self.tiling.tiles.values():
            if self._scope(tiled) is scope:
                busy += self.arithmetic.of(tiled, self.resources.warps) * times
        return busy

    def _fill(self) -> float:
        """
        Cycles until the first bytes are there: one way to memory, and one more for what
        indices name; and until the last ones are away.
        """
        indexed = any(isinstance(op, IndexedInterface) for op in self.tiling.gathered)
        ways = 2 if indexed else 1
        return float(ways * self.chip.memory.latency + self.chip.cache.latency)

    def _loop(self, step: Busy) -> float:
        """Cycles of the loop of the reduction, in a program alone."""
        if not self.tiling.inner_loops:
            return 0.0
        latency = self.chip.memory.latency
        *_, last = self.tiling.inner_loops.values()
        stages = self.resources.stages
        if stages == 1:
            return self.steps * (step.total + latency)
        hidden = (latency + step.port) / (stages - 1)
        each = max(step.longest, hidden)
        starts = self.steps / last.trips - 1
        return self.steps * each + starts * latency

    def _waits(self) -> float:
        """Cycles that warps wait for each other, in one program."""
        total = 0.0
        for tiled in self.tiling.tiles.values():
            times = self.steps if self._scope(tiled) is Scope.INNER else 1
            total += times * self.arithmetic.waits(tiled, self.resources.warps)
        if self.tiling.inner_loops and self.tiling.reads:
            late = any(
                at is Scope.OUTER and boxes
                for (_, at), boxes in self.tiling.reads.items()
            )
            total += self.chip.memory.latency if late else 0
        return total

    def _memory(self, moves: list[Traffic]) -> float:
        """
        Bytes of the outermost memory: what programs that run at once read alike comes
        from there once, and so does all that stays in the cache.
        """
        running = self.resources.resident(self.chip) * self.chip.processors
        running = min(running, self.grid.programs)
        again = [each for each in moves if each.is_read and _repeats(each)]
        kept = sum(each.touched for each in again)
        stays = kept <= KEPT * self.chip.cache.capacity
        total = 0.0
        for each in moves:
            waste = each.bus / each.payload if each.payload else 1.0
            if not each.is_read:
                total += each.bus
            elif stays or each not in again:
                total += each.touched * waste
            else:
                share = self.grid.different(running, each.loops) / running
                wanted = each.unique * self.grid.programs * share
                total += max(each.touched, min(wanted, each.payload)) * waste
        return total


def _repeats(move: Traffic) -> bool:
    """Whether some bytes are read more than once."""
    return move.payload > move.touched
