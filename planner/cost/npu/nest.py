"""The program of a group whose tiles are computed in the nearest memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.dealt import gain
from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.cascading import is_carried, is_corrected_behind
from tlf.analysis.tiling.model import GroupTiling, Scope, TiledOperation
from tlf.analysis.tiling.model import Loop as TileLoop
from tlf.dialects.interfaces import ConstantInterface, IndexedInterface
from tlf.machine.costs import Cost
from tlf.planner.cost.npu.in_flight import InFlight
from tlf.planner.cost.npu.in_place import InPlace
from tlf.planner.cost.npu.indexed import gathered
from tlf.planner.cost.npu.moves import Moves
from tlf.planner.cost.npu.program import Buffer, Item, Loop, Task
from tlf.planner.cost.npu.running import Running
from tlf.planner.cost.npu.steps import Steps
from tlf.planner.cost.npu.work import Instructions
from tlf.support.affine.access import Box

Sizes: TypeAlias = tuple[int, ...]


class NestProgram:
    """
    Builds the loops of a group as the cost model sees them: the share of one core, by
    `mem-distribute-to-cores`, while all cores share the outer memory in turn. The
    products in `early` are issued before their own iteration, where several overlap.
    """

    def __init__(
        self,
        tiling: GroupTiling,
        moves: Moves,
        work: Instructions,
        in_flight: InFlight,
        in_place: InPlace | None = None,
        early: Collection[Operation] = (),
    ) -> None:
        self.tiling = tiling
        self.moves = moves
        self.work = work
        self.stages = in_flight.tiles
        self.pieces = in_flight.pieces
        self.in_place = in_place or InPlace(tiling, Steps(tiling.tiles))
        self.loops = [loop for loop in tiling.loops.values()]
        self.dealt: int | None = None
        self._early = early

    def items(self, order: Sequence[int] = ()) -> list[Item]:
        """The program, with the loops in some order."""
        loops = [self.loops[number] for number in order] if order else self.loops
        self.dealt = self._dealt(loops)
        if self.dealt is None:
            return list(self._frame(loops, 0))
        cores = self.moves.costs.machine.cores
        return list(in_turn(self._frame(loops, 0), cores))

    def _dealt(self, loops: Sequence[TileLoop]) -> int | None:
        """The number of the first of the loops that are dealt to cores, if any are."""
        cores = self.moves.costs.machine.cores
        found = {
            first: gain(prod(loop.trips for loop in loops[first:last]), cores)
            for first, last in self._frames(loops)
        }
        best = max(found, key=lambda first: found[first], default=None)
        return best if best is not None and found[best] > 1 else None

    def _frames(self, loops: Sequence[TileLoop]) -> Iterator[tuple[int, int]]:
        """The loops that make one nest, by number, the outermost nest first."""
        first = 0
        while first < len(loops):
            last = next(
                (n for n in range(first + 1, len(loops)) if self._splits(loops, n)),
                len(loops),
            )
            yield first, last
            first = last

    def _frame(self, loops: Sequence[TileLoop], done: int) -> Iterator[Item]:
        """The loops from number `done` on, with what is cut just outside of them."""
        cuts = list(self._cuts(loops, done))
        if done == len(loops):
            yield from self._body(cuts)
            return
        yield from cuts
        last = dict(self._frames(loops))[done]
        trips = prod(loop.trips for loop in loops[done:last])
        if done == self.dealt:
            trips = -(-trips // self.moves.costs.machine.cores)
        body = tuple(self._frame(loops, last))
        slots = min(self.stages, trips)
        yield Loop(trips, body, _written(body) if slots > 1 else frozenset(), slots)

    def _splits(self, loops: Sequence[TileLoop], depth: int) -> bool:
        return any(
            self._depth(box, loops) == depth for _, _, box in self._cut(Scope.OUTER)
        )

    def _depth(self, box: Box, loops: Sequence[TileLoop]) -> int:
        return max(
            (n + 1 for n, loop in enumerate(loops) if moves_with(box, (loop,))),
            default=0,
        )

    def _cut(self, scope: Scope) -> list[tuple[SSAValue, int, Box]]:
        """The tiles cut in or outside of the loop of a reduction, first used first."""
        found = [
            (value, number, box)
            for (value, where), boxes in self.tiling.reads.items()
            if where is scope
            for number, box in enumerate(boxes)
        ]
        return sorted(found, key=lambda each: self._first_use(each[0]))

    def _first_use(self, value: SSAValue) -> int:
        users = {use.operation for use in value.uses}
        steps = (n for n, op in enumerate(self.tiling.tiles) if op in users)
        return next(steps, 0)

    def _cuts(self, loops: Sequence[TileLoop], depth: int) -> Iterator[Task]:
        for value, number, box in self._cut(Scope.OUTER):
            if self._depth(box, loops) == depth:
                ahead = self.stages - 1 if depth else 0
                yield Task(self.moves.into(value, box), (), ((value, number),), ahead)

    def _body(self, cuts: Sequence[Task]) -> Iterator[Item]:
        """
        Yield the items of an iteration, with those tiles that are cut for it alone. A
        tile that is loaded ahead, but needed only after the loop of a reduction, comes
        after that: it would hold up the loads of that loop.
        """
        inner = bool(self.tiling.inner_loops)
        slots = min(self.stages, prod(loop.trips for loop in self.loops))
        ahead = () if inner else self._ahead(slots)
        behind = [cut for cut in cuts if cut.ahead and self._is_held_up(cut)]
        yield from (cut for cut in cuts if cut not in behind)
        for op in ahead:
            yield from self._compute(self.tiling.tiles[op], slots - 1)
        for tiled in self.tiling.tiles.values():
            if tiled.scope is Scope.INNER or tiled.op in ahead:
                continue
            if inner and tiled.op is self.tiling.anchor:
                yield from self._accumulation(tiled)
                yield from behind
            else:
                yield from self._compute(tiled)
        for value, piece in zip(self.tiling.results, self.tiling.pieces, strict=True):
            back = self.moves.back(value, piece)
            yield Task(back, tuple(self._places(value)), ())

    def _is_held_up(self, cut: Task) -> bool:
        """Return `True` if a tile is used only after the loop of a reduction."""
        anchor = self.tiling.anchor
        if anchor is None or not self.tiling.inner_loops:
            return False
        operations = list(self.tiling.tiles)
        above = operations[: 1 + operations.index(anchor)]
        inside = [
            each
            for op, each in self.tiling.tiles.items()
            if op in above or each.scope is Scope.INNER
        ]
        places = set(cut.writes)
        return not any(places.intersection(self._buffers(each)) for each in inside)

    def _accumulation(self, anchor: TiledOperation) -> Iterator[Item]:
        """The loop over the pieces of a reduction, and what follows of a cascade."""
        trips = prod(loop.trips for loop in self.tiling.inner_loops.values())
        slots = min(self.pieces, trips)
        body = [*self._pieces(slots - 1), *self._sums(anchor, slots)]
        moved = frozenset(
            buffer for task in body if task.ahead for buffer in task.writes
        )
        for each in self.tiling.tiles.values():
            if self.tiling.is_row(each.op) and is_carried(self.tiling, each.op):
                yield from self._compute(each)
        yield Loop(trips, tuple(body), moved, slots)
        running = Running(self.tiling, self.moves.costs)
        for op, each in self.tiling.tiles.items():
            yield from (self._on_total(op, e) for e in running.limited(op))
            if is_corrected_behind(self.tiling, op):
                yield from (self._on_total(op, e) for e in running.corrected(op))
            if each.again:
                yield from self._compute(each)

    def _pieces(self, ahead: int) -> Iterator[Task]:
        """The loads of an iteration of a reduction."""
        for value, number, box in self._cut(Scope.INNER):
            buffer = value, number, Scope.INNER
            yield Task(self.moves.into(value, box), (), (buffer,), ahead)

    def _sums(self, anchor: TiledOperation, slots: int) -> Iterator[Task]:
        """
        Yield the computation of an iteration of a reduction, early products first.
        """
        running = Running(self.tiling, self.moves.costs)
        ahead = self._ahead(slots)
        inside = [
            each
            for each in self.tiling.tiles.values()
            if each is anchor or each.scope is Scope.INNER
        ]
        for each in inside:
            if each.op in ahead:
                yield from self._compute(each, slots - 1)
        for each in inside:
            yield from (self._on_total(each.op, e) for e in running.limited(each.op))
        for each in inside:
            yield from (self._on_total(each.op, e) for e in running.corrected(each.op))
            if each.op not in ahead:
                yield from self._compute(each)
            yield from (self._on_total(each.op, e) for e in running.limited(each.op))

    def _ahead(self, slots: int) -> Collection[Operation]:
        """The products that are issued before their own iteration."""
        return self._early if slots > 1 else ()

    def _on_total(self, op: Operation, cost: Cost) -> Task:
        """An instruction that changes what an operation has summed up."""
        places = tuple(self._places(op.results[0]))
        return Task(cost, places, places)

    def _compute(self, tiled: TiledOperation, ahead: int = 0) -> Iterator[Task]:
        op = tiled.op
        if op in self.in_place.rounded:
            return
        reads = tuple(self._buffers(tiled))
        if tiled.is_moved:
            yield self._by_indices(tiled, reads)
            return
        leaves = op.results[0] in self.tiling.results
        is_filled = leaves and isinstance(op, ConstantInterface)
        for cost in self.work.filled(tiled) if is_filled else self.work.of(tiled):
            yield Task(cost, reads, tuple(self._places(op.results[0])), ahead)

    def _by_indices(self, tiled: TiledOperation, reads: tuple[Buffer, ...]) -> Task:
        """A move that finds what an operation reads by indices."""
        op, moves = tiled.op, self.moves
        assert isinstance(op, IndexedInterface)
        rooms = [interval.room for interval in tiled.result]
        cost = gathered(moves.costs, op, rooms, moves.near, moves.far)
        named = tuple(each for each in reads if each not in (op.operands[0],))
        ahead = self.stages - 1 if self.loops else 0
        return Task(cost, named, tuple(self._places(op.results[0])), ahead)

    def _buffers(self, tiled: TiledOperation) -> Iterator[object]:
        for operand in dict.fromkeys(tiled.op.operands):
            yield from self._places(operand)

    def _places(self, value: SSAValue) -> Iterator[object]:
        """The buffers that a value is in: as many as it is read in boxes."""
        place = self.in_place.place(value)
        boxes = 0
        for scope in Scope:
            count = len(self.tiling.reads.get((place, scope), ()))
            boxes += count
            for number in range(count):
                inner = scope is Scope.INNER
                yield (place, number, scope) if inner else (place, number)
        if not boxes:
            yield place


def in_turn(items: Iterable[Item], cores: int) -> Iterator[Item]:
    """
    Yield the items of a core whose moves through shared ports wait for those of others.
    """
    for item in items:
        if isinstance(item, Loop):
            yield replace(item, body=tuple(in_turn(item.body, cores)))
            continue
        shared = tuple((port, cycles * cores) for port, cycles in item.cost.shared)
        yield replace(item, cost=replace(item.cost, shared=shared))


def _written(body: Sequence[Item]) -> frozenset[Buffer]:
    """Return the buffers that a body writes, except those of loops inside."""
    found: set[Buffer] = set()
    for item in body:
        if isinstance(item, Task):
            found.update(item.writes)
        else:
            found |= _written(item.body) - item.slotted
    return frozenset(found)
