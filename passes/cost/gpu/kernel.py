"""A tiled group as the programs of one kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import ceil, prod

from xdsl.ir import Operation

from tlf.dialects.interfaces import (
    ContractionInterface,
    IndexedInterface,
)
from tlf.dialects.target import Target
from tlf.passes.cost.gpu.accesses import Accesses, Traffic
from tlf.passes.cost.gpu.arithmetic import Arithmetic, Product
from tlf.passes.cost.gpu.busy import NOTHING, Busy
from tlf.passes.cost.gpu.chip import Chip
from tlf.passes.cost.gpu.origins import made_by
from tlf.passes.cost.gpu.price import Far, Price, Work, price_of
from tlf.passes.cost.gpu.resources import Needs, Resources
from tlf.passes.cost.gpu.reuse import Grid
from tlf.passes.tiling.model import GroupTiling, Scope, TiledOperation, elements

STAGES = 3
"""Iterations in flight of loops around matrix products that say nothing themselves."""

LATE = 0.4
"""The part of the time of a product that the load behind it waits for its end."""

BESIDE = 2.5
"""
How much longer narrow matrix instructions take in a loop with other reductions, where
they read what is loaded: measured with `log_sum_exp`, `unit_product` and others of
`bench/cascade_forms.py`.
"""

TOGETHER = 1.15
"""How much longer reductions in one loop take than is known of: measured likewise."""

NARROW_STORE = 14
"""
Cycles in which a warp stores elements of less than `WORD` bytes one by one: measured
with products of 8192 rows and 50,257 columns in bf16, whose rows are not aligned.
"""

WORD = 4
"""The least bytes that a thread stores at once at full rate."""

KEPT = 0.5
"""The share of the cache in which tensors that are read again are taken to stay."""


@dataclass
class Kernels:
    """Prices tiled groups as kernels of a GPU."""

    chip: Chip
    target: Target
    _needs: Needs | None = field(init=False, default=None)
    """Of the tiling that was asked for last."""
    _steps: dict[Operation, Busy] = field(
        init=False, default_factory=dict[Operation, Busy]
    )
    _kinds: dict[Operation, str] = field(
        init=False, default_factory=dict[Operation, str]
    )

    def price(self, tiling: GroupTiling, stages: int = 1) -> Price:
        """What a group costs, `stages` being those of its plan."""
        found = price_of(self.work(tiling, stages), self.chip)
        if tiling.cascade is None:
            return found
        return replace(found, cycles=found.cycles * TOGETHER)

    def resources(self, tiling: GroupTiling, stages: int = 1) -> Resources:
        """What one program takes."""
        return self.needs(tiling).resources(self._stages(tiling, stages))

    def needs(self, tiling: GroupTiling) -> Needs:
        """What programs take, by the iterations in flight."""
        if self._needs is None or self._needs.tiling is not tiling:
            arithmetic = Arithmetic(
                self.chip, self.target, tiling, self._steps, self._kinds
            )
            self._needs = Needs(tiling, arithmetic)
        return self._needs

    def work(self, tiling: GroupTiling, stages: int = 1) -> Work:
        """What the programs of a group do."""
        resources = self.resources(tiling, stages)
        needs = self.needs(tiling)
        about = self.chip, needs.arithmetic, tiling, resources, needs.has_products
        return _Kernel(*about).work()

    def _stages(self, tiling: GroupTiling, stages: int) -> int:
        """Iterations in flight: without a plan, those around matrix products."""
        if stages > 1:
            return stages
        return STAGES if self.has_products(tiling) else 1

    def has_products(self, tiling: GroupTiling) -> bool:
        """Whether matrix instructions compute something of a group."""
        return self.needs(tiling).has_products


@dataclass
class _Kernel:
    """One kernel, while its work is added up."""

    chip: Chip
    arithmetic: Arithmetic
    tiling: GroupTiling
    resources: Resources
    is_grouped: bool
    """Whether programs run in groups, as around matrix products."""

    def __post_init__(self) -> None:
        loops = tuple(self.tiling.loops.values())
        self.grid = Grid(loops, self.is_grouped)
        self.rounds = prod(loop.trips for loop in self.tiling.inner_loops.values())
        """Iterations of the loop of the anchor."""
        self.steps = self.rounds * self._nested_trips()
        """Iterations of the loop whose loads are in flight."""
        threads = self.resources.warps * self.chip.gpu.warp
        self.accesses = Accesses(self.tiling, self.chip.sector, threads)

    def work(self) -> Work:
        """All programs, and one of them."""
        outer = list(self._moves(Scope.OUTER))
        inner = [*self._moves(Scope.INNER), *self._moves(Scope.NESTED)]
        every = [*outer, *inner]
        programs = self.grid.programs
        once = self._computed(Scope.OUTER) + self._moved(outer)
        repeated = self._computed(Scope.INNER) + self._moved(inner)
        repeated += self._through_registers(inner)
        fill = self._fill()
        step = repeated * (1 / self.steps)
        waits, is_direct = self._waits(step), self.resources.stages == 1
        is_product, is_looped = self.is_grouped, bool(self.tiling.inner_loops)
        if is_looped:
            once += Busy(lanes=self._left_one_by_one(outer))
        beside = replace(once, lanes=0.0, special=0.0) if is_looped else once
        # The first program of all has nothing beside it that it could be hidden by.
        hindered = waits if is_looped else once.total - once.longest + waits
        memory = self._memory(every)
        stored = sum(each.moved.bus for each in outer if not each.is_read)
        return Work(
            programs,
            memory,
            sum(each.moved.cached for each in every),
            beside + repeated,
            fill + once.total + self._loop(step, memory) + waits,
            fill,
            self.resources,
            hindered if is_direct or not is_looped else 0.0,
            repeated.issued if is_direct and is_product else 0.0,
            stored if is_product else 0.0,
            once.computed if is_looped else 0.0,
        )

    def _nested_trips(self) -> int:
        """Iterations of loops in an iteration of that of the anchor, one at least."""
        found = self.tiling.nested.values()
        return max(1, sum(prod(loop.trips for loop in each.values()) for each in found))

    def _times(self, tiled: TiledOperation) -> int:
        """How often a program computes a tile of an operation."""
        if self._scope(tiled) is not Scope.INNER:
            return 1
        loops = self.tiling.nested.get(tiled.op, {}).values()
        return self.rounds * prod(loop.trips for loop in loops)

    def _scope(self, tiled: TiledOperation) -> Scope:
        """Whether an operation runs in the loop of the reduction."""
        is_anchor = tiled.op is self.tiling.anchor
        is_inner = is_anchor and bool(self.tiling.inner_loops)
        return Scope.INNER if is_inner else tiled.scope

    def _moves(self, scope: Scope) -> Iterator[Traffic]:
        """What is read and written, once in a program or once in a step."""
        inner = scope is not Scope.OUTER
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
        accesses = sum(each.moved.accesses for each in moves) / count
        steps = sum(each.moved.steps for each in moves) / count
        cached = sum(each.moved.cached for each in moves) / count
        gpu = self.chip.gpu
        return Busy(
            lanes=steps / self.chip.lanes,
            # What a request does not find side by side takes it longer.
            loads=max(accesses / gpu.load_lanes, cached / gpu.shared_bandwidth),
            port=cached / gpu.port,
        )

    def _left_one_by_one(self, moves: list[Traffic]) -> float:
        """Cycles in which one program stores what is narrower than a word."""
        accesses = sum(
            each.moved.accesses
            for each in moves
            if not each.is_read and each.moved.payload < WORD * each.moved.accesses
        )
        return NARROW_STORE * accesses / self.grid.programs / self.chip.gpu.warp

    def _through_registers(self, moves: list[Traffic]) -> Busy:
        """
        What it keeps busy besides that factors of products are stored in shared memory
        by the threads that loaded them, in one program.
        """
        if not self.is_grouped or self.resources.stages > 1:
            return NOTHING
        count = self.grid.programs
        accesses = sum(each.moved.accesses for each in moves) / count
        return Busy(loads=accesses / self.chip.gpu.load_lanes)

    def _computed(self, scope: Scope) -> Busy:
        """What computing keeps busy, in one program."""
        busy = NOTHING
        for tiled in self.tiling.tiles.values():
            if self._scope(tiled) is scope:
                warps = self.resources.warps
                one = self.arithmetic.of(tiled, warps)
                one += self.arithmetic.across(tiled, warps)
                slow = BESIDE if self._is_slowed(tiled) else 1.0
                busy += one * (self._times(tiled) * slow)
        if scope is Scope.INNER and (corrected := self._corrected()):
            busy += Busy(lanes=self.rounds * corrected / self.chip.lanes)
            # What one reduction needs of another is computed one after the other.
            busy = replace(busy, lanes=busy.lanes + busy.special, special=0.0)
        return busy

    def _corrected(self) -> int:
        """Steps of lanes that correct totals in an iteration."""
        corrected = (
            tiled
            for op, tiled in self.tiling.tiles.items()
            if self.tiling.correction_of(op) or self.tiling.restart_of(op)
        )
        return sum(elements(tiled.result) for tiled in corrected)

    def _is_slowed(self, tiled: TiledOperation) -> bool:
        """Whether a narrow product reads inputs, in a loop with other reductions."""
        op = tiled.op
        if self.tiling.cascade is None or not isinstance(op, ContractionInterface):
            return False
        if op.operands[0].owner in self.tiling.tiles:
            return False
        return self.arithmetic.is_narrow(self.arithmetic.product(tiled))

    def _fill(self) -> float:
        """
        Cycles until the first bytes are there: one way to memory, and one more for what
        indices name; and until the last ones are away.
        """
        indexed = any(isinstance(op, IndexedInterface) for op in self.tiling.gathered)
        ways = 2 if indexed else 1
        return float(ways * self.chip.memory.latency + self.chip.cache.latency)

    def _loop(self, step: Busy, memory: Far) -> float:
        """
        Cycles of the loop of the reduction, in a program alone. A load that is `n`
        iterations ahead has the time of `n` iterations to wait for the room that a
        product leaves, for the other warps, and for memory.
        """
        if not self.tiling.inner_loops:
            return 0.0
        *_, last = (*self.tiling.inner_loops.values(), *self.tiling.nested_loops)
        stages, chain = self.resources.stages, self._chain()
        if stages == 1:
            return self.steps * (step.total - step.port + max(0.0, chain - step.matrix))
        latency = self.chip.memory.latency
        late = LATE * max(step.matrix, step.shared, chain) + self.chip.gpu.barrier
        # Programs that run at once want their bytes at once.
        resident = self.resources.resident(self.chip) * self.chip.processors
        steps = self.steps * ceil(self.grid.programs / resident)
        queue = memory.bytes / self.chip.memory.bandwidth / steps
        hidden = (latency + queue + step.port + late) / (stages - 1)
        # In a cascade, one program computes with a product once that is there.
        in_turn = 0.0 if self.tiling.cascade is None else step.matrix + step.lanes
        longest = max(step.longest, chain, in_turn)
        each = max(longest + self.chip.gpu.barrier, hidden)
        starts = self.steps / last.trips - 1
        return self.steps * each + starts * latency

    def _chain(self) -> float:
        """Cycles of an iteration if matrix instructions wait for one another."""
        return sum(
            self.arithmetic.chain(tiled, self.resources.warps) * self._times(tiled)
            for tiled in self.tiling.tiles.values()
            if self._scope(tiled) is Scope.INNER
        ) / max(1, self.steps)

    def _waits(self, step: Busy) -> float:
        """
        Cycles that warps wait for each other, and for memory if nothing is in flight,
        in one program.
        """
        total = 0.0
        for tiled in self.tiling.tiles.values():
            total += self._times(tiled) * self._combined(tiled)
        if not self.tiling.inner_loops:
            return total
        if self.resources.stages == 1:
            latency = self.chip.memory.latency
            total += self.steps * (latency + self.chip.gpu.barrier + step.port)
        late = any(
            at is Scope.OUTER and boxes for (_, at), boxes in self.tiling.reads.items()
        )
        return total + (self.chip.memory.latency if late else 0)

    def _combined(self, tiled: TiledOperation) -> float:
        """Cycles until threads have combined what they have of a reduction."""
        warps, made = self.resources.warps, self._product_behind(tiled)
        is_held = made is not None and self.arithmetic.is_full_rate(made)
        if self.tiling.cascade is None and not is_held:
            return self.arithmetic.waits(tiled, warps)
        return self.arithmetic.waits_for_rows(tiled, warps, made)

    def _product_behind(self, tiled: TiledOperation) -> Product | None:
        """The product that elementwise operations compute what is reduced from."""
        made = (made_by(self.tiling, each) for each in tiled.op.operands)
        return next((self.arithmetic.product(each) for each in made if each), None)

    def _memory(self, moves: list[Traffic]) -> Far:
        """
        What the outermost memory moves: what programs that run at once read alike comes
        from there once, and so does all that stays in the cache.
        """
        running = self.resources.resident(self.chip) * self.chip.processors
        running = min(running, self.grid.programs)
        again = [each for each in moves if each.is_read and _repeats(each)]
        kept = sum(each.touched for each in again)
        stays = kept <= KEPT * self.chip.cache.capacity
        total, gaps = 0.0, 0.0
        for each in moves:
            moved = each.moved
            if not each.is_read:
                wanted = moved.payload
            elif stays or each not in again:
                wanted = each.touched
            else:
                share = self.grid.different(running, each.loops) / running
                wanted = each.unique * self.grid.programs * share
                wanted = max(each.touched, min(wanted, moved.payload))
            times = wanted / moved.payload if moved.payload else 0.0
            total += times * moved.bus
            gaps += times * moved.rows * self.chip.gpu.gap
        return Far(total, gaps)


def _repeats(move: Traffic) -> bool:
    """Whether some bytes are read more than once."""
    return move.moved.payload > move.touched
