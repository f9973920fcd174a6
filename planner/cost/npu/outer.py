"""The instructions that tiles of an outer level are computed with, further in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import ceil, sqrt

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.bands import SystolicArray
from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.model import (
    WIDEST,
    GroupTiling,
    Scope,
    TiledOperation,
    elements,
)
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, Target
from tlf.dialects.target.machine import machine_of
from tlf.machine.costs import Cost, Costs
from tlf.planner.cost.npu.cut_products import filled_work, least_work
from tlf.planner.cost.npu.exchanges import Exchange, exchanges
from tlf.planner.cost.npu.moves import Moves
from tlf.planner.cost.npu.nest_work import NestWork, Pace
from tlf.planner.cost.npu.nests import Nests
from tlf.planner.cost.npu.pieces import filled_before, is_summed
from tlf.planner.cost.npu.program import LINES
from tlf.planner.cost.npu.repeated_moves import repeats
from tlf.planner.cost.npu.work import Instructions
from tlf.support.affine.access import Box

SHARES = 8
"""Into so many parts of the nearest memory sums are cut, to add pieces to them."""


class OuterModel:
    """
    Prices groups that are tiled for a level other than the nearest.
    """

    def __init__(self, target: Target, level: Level) -> None:
        names = list(target.levels)
        at = names.index(level.name)
        self.level = level
        self.rules = rules_of(target, level.name)
        self.costs = Costs(machine_of(target))
        self.far = Moves(
            self.costs, level.name, names[at + 1], ordered=self.rules.ordered
        )
        nearer = rules_of(target, names[at - 1])
        self.near = Moves(self.costs, names[at - 1], level.name, ordered=nearer.ordered)
        self.latency = target.levels[names[at + 1]].latency
        self.bandwidth = target.levels[names[at + 1]].bandwidth
        nearest = target.levels[names[at - 1]]
        self.work, self.least = (
            Instructions(self.costs, partial(work, capacity=nearest.capacity))
            for work in (filled_work, least_work)
        )
        self.nearest = nearest.capacity
        array = SystolicArray.of(self.costs.machine)
        self.columns = 1 if array is None else array.cols
        self.pace = Pace(
            issue=self.costs.machine.issue_cycles * LINES,
            fill=nearest.capacity / 2 / level.bandwidth,
            array=self.costs.queues["matrix"],
            moves=[
                self.costs.queues[each] for each in (self.near.load, self.near.store)
            ],
        )

    def compute(
        self, tiling: GroupTiling, nests: Nests, done: Iterable[Exchange] = ()
    ) -> float:
        """
        The cycles that a tile is computed in, nest after nest over nearer tiles. What
        is computed iterations ahead runs beside them: of those that are as far ahead
        each waits for the one before, and what an engine does for all of them adds up.
        """
        works = self.works(tiling, nests, done)
        in_order, busy = dict[int, float](), dict[int, float]()
        for number, ahead in _levels(tiling, nests).items():
            if (nest := works.get(number)) is not None:
                cycles = nest.cycles(self.pace)
                in_order[ahead] = in_order.get(ahead, 0) + cycles
                for engine, cycles in nest.busy.items():
                    busy[engine] = busy.get(engine, 0) + cycles
        if len(in_order) < 2:
            return sum(in_order.values())
        return max(*in_order.values(), *busy.values())

    def by_nest(
        self, tiling: GroupTiling, nests: Nests, done: Iterable[Exchange] = ()
    ) -> dict[int, float]:
        """The cycles that each nest over nearer tiles takes for a tile."""
        return {
            number: each.cycles(self.pace)
            for number, each in self.works(tiling, nests, done).items()
        }

    def works(
        self,
        tiling: GroupTiling,
        nests: Nests,
        done: Iterable[Exchange] = (),
        work: Instructions | None = None,
    ) -> dict[int, NestWork]:
        """
        Return the work of nests over inner tiles for a tile, by nest; those without any
        are left out. `done` are the exchanges, all of them unless given; `work`
        computes them.
        """
        found: dict[int, NestWork] = {}
        for each in done or exchanges(tiling.tiles, nests):
            nest = found.setdefault(each.nest, NestWork())
            for cost in self._instructions(tiling, each, work or self.work):
                nest.add(cost, self._share(cost))
        self._add_sums(tiling, nests, found)
        if tiling.cascade is not None:
            found[nests[tiling.cascade.anchor]].alone = self._first_piece(tiling)
        if work is None:
            self._add_repeats(tiling, nests, found)
        return {number: each for number, each in found.items() if each.busy}

    def _add_sums(
        self, tiling: GroupTiling, nests: Nests, found: dict[int, NestWork]
    ) -> None:
        """Add the moves of sums that are there between the pieces of a reduction."""
        for op, tiled in tiling.tiles.items():
            if not is_summed(tiling, op):
                continue
            nest, value = found[nests[op]], op.results[0]
            size = elements(tiled.result) * WIDEST
            nearer = max(1, ceil(size / self.nearest * SHARES))
            cost = self.near.into(value, tiled.result)
            nest.add(cost, self._share(cost))
            for cost in self._factors(tiling, tiled):
                nest.add(cost, self._share(cost) * (sqrt(nearer) - 1) / 2)
            filled = found.setdefault(filled_before(nests[op]), NestWork())
            cost = self.near.back(value, tiled.result)
            filled.add(cost, self._share(cost))

    def _first_piece(self, tiling: GroupTiling) -> float:
        """
        The part that one nearer piece is of one for this level, if it fills the array.
        """
        (loop,) = tiling.inner_loops.values()
        return min(1, self.columns / loop.tile)

    def _add_repeats(
        self, tiling: GroupTiling, nests: Nests, found: dict[int, NestWork]
    ) -> None:
        """Add the moves of factors that come near more than once."""
        for op, tiled in tiling.tiles.items():
            if not tiled.form.is_product:
                continue
            costs = list(self._factors(tiling, tiled))
            if len(costs) != 2:
                continue
            sums = elements(tiled.result) * WIDEST
            left, right = (self._share(cost) * self.level.bandwidth for cost in costs)
            times = repeats(left, right, sums, self.nearest / 2)
            for cost, count in zip(costs, times, strict=True):
                if count > 1:
                    found[nests[op]].add(cost, self._share(cost) * (count - 1))

    def _factors(self, tiling: GroupTiling, tiled: TiledOperation) -> Iterator[Cost]:
        """
        The moves of the factors of a product. Of square tiles, one factor is moved for
        each tile of a row, the other once for all of them.
        """
        if not isinstance(tiled.op, ContractionInterface):
            return
        for operand in dict.fromkeys(tiled.op.inputs):
            number = tiled.op.operands.index(operand)
            if (box := _read(tiling, tiled, number)) is not None:
                yield self.near.into(operand, box)

    def _share(self, cost: Cost) -> float:
        """The cycles of an instruction, in the cores or at a port that they share."""
        share = cost.cycles / self.costs.machine.cores
        for _, cycles in cost.shared:
            share = max(share, cycles)
        return share

    def _instructions(
        self, tiling: GroupTiling, exchange: Exchange, work: Instructions
    ) -> Iterator[Cost]:
        """
        Yield the costs of a tile: its instructions, and its moves to and from the
        nearest memory.
        """
        tiled = tiling.tiles[exchange.op]
        if exchange.computes:
            yield from work.of(tiled)
        for operand, number in exchange.loads:
            if (box := _read(tiling, tiled, number)) is not None:
                yield self.near.into(operand, box)
        for result in exchange.stores:
            yield self.near.back(result, tiled.result)


def _levels(tiling: GroupTiling, nests: Nests) -> dict[int, int]:
    """By how many iterations each nest over nearer tiles is ahead."""
    found: dict[int, int] = {}
    for op in tiling.tiles:
        number, ahead = nests[op], tiling.ahead.get(op, 0)
        found[number] = max(ahead, found.get(number, 0))
    return found


def _read(tiling: GroupTiling, tiled: TiledOperation, operand: int) -> Box | None:
    """The part that an operation reads of the tile of an operand that is there."""
    if (available := _available(tiling, tiled.op.operands[operand])) is None:
        return None
    return tiled.reads[operand] or available


def _available(tiling: GroupTiling, value: SSAValue) -> Box | None:
    """The tile of a value that is there."""
    owner = value.owner
    if isinstance(owner, Operation) and (made := tiling.tiles.get(owner)) is not None:
        return made.result
    for scope in Scope:
        if boxes := tiling.reads.get((value, scope)):
            return boxes[0]
    return None
