"""The work of the programs of one kernel, added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, prod

from tlf.analysis.tiling.model import Scope, TiledOperation, elements
from tlf.dialects.interfaces import IndexedInterface
from tlf.planner.cost.gpu.accesses import Accesses, Traffic
from tlf.planner.cost.gpu.arithmetic import Product
from tlf.planner.cost.gpu.busy import NOTHING, Busy
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.origins import made_by
from tlf.planner.cost.gpu.price import Far, Work
from tlf.planner.cost.gpu.resources import Needs, Resources
from tlf.planner.cost.gpu.reuse import Grid

LATE = 0.4
"""The part of the time of a product that the load behind it waits for its end."""

BESIDE = 2.5
"""
Slowdown of narrow matrix instructions in a loop with other reductions, where they read
loaded values: measured with `log_sum_exp`, `unit_product` and others of
`bench/cascade_forms.py`.
"""

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
class Programs:
    """
    The programs of a tiled group. Little of what they do depends on how many iterations
    are in flight.
    """

    chip: Chip
    needs: Needs
    _known: dict[Resources, Work] = field(
        init=False, default_factory=dict[Resources, Work]
    )

    def __post_init__(self) -> None:
        self.tiling, self.arithmetic = self.needs.tiling, self.needs.arithmetic
        self.warps = self.needs.warps
        self.is_grouped = self.needs.has_products
        """True if programs run in groups, as around matrix products."""
        loops = tuple(self.tiling.loops.values())
        self.grid = Grid(loops, self.is_grouped)
        self.rounds = prod(loop.trips for loop in self.tiling.inner_loops.values())
        """Iterations of the loop of the anchor."""
        self.steps = self.rounds * self._nested_trips()
        """Iterations of the loop whose loads are in flight."""
        threads = self.warps * self.chip.gpu.warp
        self.accesses = Accesses(self.tiling, self.chip.sector, threads)

    def work(self, resources: Resources) -> Work:
        """All programs, and one of them, that take so much."""
        if resources not in self._known:
            self._known[resources] = self._work(resources)
        return self._known[resources]

    def _work(self, resources: Resources) -> Work:
        outer, inner = self._outer, self._inner
        every = [*outer, *inner]
        programs = self.grid.programs
        once, repeated = self._once, self._repeated
        repeated += self._through_registers(inner, resources)
        fill = self._fill()
        step = repeated * (1 / self.steps)
        is_direct = resources.stages == 1
        waits = self._waits(step, is_direct)
        is_product, is_looped = self.is_grouped, bool(self.tiling.inner_loops)
        if is_looped:
            once += Busy(lanes=self._left_one_by_one(outer))
        beside = replace(once, lanes=0.0, special=0.0) if is_looped else once
        # The first program of all has nothing beside it that it could be hidden by.
        hindered = waits if is_looped else once.total - once.longest + waits
        memory = self._memory(every, resources)
        stored = sum(each.moved.bus for each in outer if not each.is_read)
        return Work(
            programs,
            memory,
            sum(each.moved.cached for each in every),
            beside + repeated,
            fill + once.total + self._loop(step, memory, resources) + waits,
            fill,
            resources,
            hindered if is_direct or not is_looped else 0.0,
            repeated.issued if is_direct and is_product else 0.0,
            stored if is_product else 0.0,
            once.computed if is_looped else 0.0,
        )

    @cached_property
    def _outer(self) -> list[Traffic]:
        """Tiles that are loaded or stored once in a program."""
        return list(self._moves(Scope.OUTER))

    @cached_property
    def _inner(self) -> list[Traffic]:
        """Tiles that are loaded in every step of the reduction."""
        return [*self._moves(Scope.INNER), *self._moves(Scope.NESTED)]

    @cached_property
    def _once(self) -> Busy:
        return self._computed(Scope.OUTER) + self._moved(self._outer)

    @cached_property
    def _repeated(self) -> Busy:
        return self._computed(Scope.INNER) + self._moved(self._inner)

    def _nested_trips(self) -> int:
        """Iterations of loops in an iteration of that of the anchor, one at least."""
        found = self.tiling.nested.values()
        return max(1, sum(prod(loop.trips for loop in each.values()) for each in found))

    def _times(self, tiled: TiledOperation) -> int:
        """Return the number of times that a program computes a tile of an operation."""
        if self._scope(tiled) is not Scope.INNER:
            return 1
        loops = self.tiling.nested.get(tiled.op, {}).values()
        return self.rounds * prod(loop.trips for loop in loops)

    def _scope(self, tiled: TiledOperation) -> Scope:
        """
        Return the scope of an operation: `Scope.INNER` in the loop of the reduction.
        """
        is_anchor = tiled.op is self.tiling.anchor
        is_inner = is_anchor and bool(self.tiling.inner_loops)
        return Scope.INNER if is_inner else tiled.scope

    def _moves(self, scope: Scope) -> Iterator[Traffic]:
        """
        Yield the tiles that are loaded and stored, once in a program or once in a step.
        """
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
        """
        Return the cycles that moving tiles keeps the units of a processor busy, in one
        program.
        """
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

    def _through_registers(self, moves: list[Traffic], resources: Resources) -> Busy:
        """
        Return the further cycles of one program for factors of products that threads
        load into registers and then store in shared memory.
        """
        if not self.is_grouped or resources.stages > 1:
            return NOTHING
        count = self.grid.programs
        accesses = sum(each.moved.accesses for each in moves) / count
        return Busy(loads=accesses / self.chip.gpu.load_lanes)

    def _computed(self, scope: Scope) -> Busy:
        """
        Return the cycles that computing keeps the units of a processor busy, in one
        program.
        """
        busy = NOTHING
        for tiled in self.tiling.tiles.values():
            if self._scope(tiled) is scope:
                one = self.arithmetic.of(tiled, self.warps)
                one += self.arithmetic.across(tiled, self.warps)
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
        """
        Return `True` if a narrow product reads inputs, in a loop with other reductions.
        """
        if self.tiling.cascade is None or not tiled.form.is_product:
            return False
        if tiled.op.operands[0].owner in self.tiling.tiles:
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

    def _loop(self, step: Busy, memory: Far, resources: Resources) -> float:
        """
        Cycles of the loop of the reduction, in a program alone. A load that is `n`
        iterations ahead has the time of `n` iterations to wait for the room that a
        product leaves, for the other warps, and for memory.
        """
        if not self.tiling.inner_loops:
            return 0.0
        *_, last = (*self.tiling.inner_loops.values(), *self.tiling.nested_loops)
        stages, chain = resources.stages, self._chain
        if stages == 1:
            return self.steps * (step.total - step.port + max(0.0, chain - step.matrix))
        latency = self.chip.memory.latency
        late = LATE * max(step.matrix, step.shared, chain) + self.chip.gpu.barrier
        # Programs that run at once want their bytes at once.
        resident = resources.resident(self.chip) * self.chip.processors
        steps = self.steps * ceil(self.grid.programs / resident)
        queue = memory.bytes / self.chip.memory.bandwidth / steps
        hidden = (latency + queue + step.port + late) / (stages - 1)
        # In a cascade, one program computes with a product once that is there.
        in_turn = 0.0 if self.tiling.cascade is None else step.matrix + step.lanes
        longest = max(step.longest, chain, in_turn)
        each = max(longest + self.chip.gpu.barrier, hidden)
        starts = self.steps / last.trips - 1
        return self.steps * each + starts * latency

    @cached_property
    def _chain(self) -> float:
        """Cycles of an iteration if matrix instructions wait for one another."""
        return sum(
            self.arithmetic.chain(tiled, self.warps) * self._times(tiled)
            for tiled in self.tiling.tiles.values()
            if self._scope(tiled) is Scope.INNER
        ) / max(1, self.steps)

    def _waits(self, step: Busy, is_direct: bool) -> float:
        """
        Cycles that warps wait for each other, and for memory if nothing is in flight,
        in one program.
        """
        total = self._all_combined
        if not self.tiling.inner_loops:
            return total
        if is_direct:
            latency = self.chip.memory.latency
            total += self.steps * (latency + self.chip.gpu.barrier + step.port)
        late = any(
            at is Scope.OUTER and boxes for (_, at), boxes in self.tiling.reads.items()
        )
        return total + (self.chip.memory.latency if late else 0)

    @cached_property
    def _all_combined(self) -> float:
        """Cycles until threads have combined what they have of all reductions."""
        total = 0.0
        for tiled in self.tiling.tiles.values():
            if self.arithmetic.is_reduced(tiled):
                total += self._times(tiled) * self._combined(tiled)
        return total

    def _combined(self, tiled: TiledOperation) -> float:
        """The same of one reduction."""
        made = self._product_behind(tiled)
        is_held = made is not None and self.arithmetic.is_full_rate(made)
        if self.tiling.cascade is None and not is_held:
            return self.arithmetic.waits(tiled, self.warps)
        return self.arithmetic.waits_for_rows(tiled, self.warps, made)

    def _product_behind(self, tiled: TiledOperation) -> Product | None:
        """The product that elementwise operations compute what is reduced from."""
        made = (made_by(self.tiling, each) for each in tiled.op.operands)
        return next((self.arithmetic.product(each) for each in made if each), None)

    def _memory(self, moves: list[Traffic], resources: Resources) -> Far:
        """
        Return the traffic of the outermost memory. Data that several programs running
        at once read is loaded once, and so is all that stays in the cache.
        """
        running = resources.resident(self.chip) * self.chip.processors
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
    """Return `True` if some bytes are read more than once."""
    return move.moved.payload > move.touched
