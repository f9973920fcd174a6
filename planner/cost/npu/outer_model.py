"""
Cost model of the inner instructions that compute a tile of an outer level of an NPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import ceil, sqrt

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_tiling import (
    TEMPORARY_BYTES,
    GroupTiling,
    LoopLevel,
    TiledOperation,
    elements_of_box,
)
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.npu_machine import machine_of
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.planner.cost.npu.inner_transfers import InnerTransfer, collect_transfers
from tlf.planner.cost.npu.matmul_retiling import min_work, padded_work
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.nest_work import NestThroughput, NestWork
from tlf.planner.cost.npu.reduce_stages import (
    initial_nest_of,
    is_accumulated_over_stages,
)
from tlf.planner.cost.npu.tile_instructions import TileInstructions
from tlf.planner.cost.npu.transfer_costs import TransferCosts
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.planner.settings.search_budgets import TILE_SEARCH
from tlf.support.affine.index_access import Box


class OuterModel:
    """Cost model of groups that are tiled for an outer level."""

    def __init__(self, target: TargetSpec, level: Level) -> None:
        names = list(target.levels)
        index = names.index(level.name)
        self.level = level
        self.rules = tile_rules_of(target, level.name)
        self.costs = InstructionCosts(machine_of(target))
        self.far = TransferCosts(
            self.costs, level.name, names[index + 1], ordered=self.rules.is_axis_ordered
        )
        inner_rules = tile_rules_of(target, names[index - 1])
        self.near = TransferCosts(
            self.costs,
            names[index - 1],
            level.name,
            ordered=inner_rules.is_axis_ordered,
        )
        self.latency = target.levels[names[index + 1]].latency
        self.bandwidth = target.levels[names[index + 1]].bandwidth
        inner = target.levels[names[index - 1]]
        self.work, self.least = (
            TileInstructions(self.costs, partial(work, capacity=inner.capacity))
            for work in (padded_work, min_work)
        )
        self.nearest = inner.capacity
        array = SystolicArray.of(self.costs.machine)
        self.columns = 1 if array is None else array.cols
        self.pace = NestThroughput(
            issue=self.costs.machine.issue_cycles * CONTROL_CODE.issue_instructions,
            fill=inner.capacity / 2 / level.bandwidth,
            array=self.costs.queues["matrix"],
            moves=[
                self.costs.queues[each] for each in (self.near.load, self.near.store)
            ],
        )

    def compute_cycles(
        self, tiling: GroupTiling, nests: Nests, done: Iterable[InnerTransfer] = ()
    ) -> float:
        """
        Return the compute cycles of a tile, nest after nest. Prefetched nests run in
        parallel with the others: nests of equal prefetch distance are sequential, and
        the busy cycles of an engine add up over all nests.
        """
        works = self.work_by_nest(tiling, nests, done)
        in_order, busy = dict[int, float](), dict[int, float]()
        for index, distance in _lead_by_nest(tiling, nests).items():
            if (nest := works.get(index)) is not None:
                cycles = nest.estimate_cycles(self.pace)
                in_order[distance] = in_order.get(distance, 0) + cycles
                for engine, cycles in nest.busy.items():
                    busy[engine] = busy.get(engine, 0) + cycles
        if len(in_order) < 2:
            return sum(in_order.values())
        return max(*in_order.values(), *busy.values())

    def cycles_by_nest(
        self, tiling: GroupTiling, nests: Nests, done: Iterable[InnerTransfer] = ()
    ) -> dict[int, float]:
        """Return the cycles of each nest over inner tiles for a tile."""
        return {
            number: each.estimate_cycles(self.pace)
            for number, each in self.work_by_nest(tiling, nests, done).items()
        }

    def work_by_nest(
        self,
        tiling: GroupTiling,
        nests: Nests,
        done: Iterable[InnerTransfer] = (),
        work: TileInstructions | None = None,
    ) -> dict[int, NestWork]:
        """
        Return the work of nests over inner tiles for a tile, by nest; nests without
        work are omitted. `done` are the transfers, by default all of them; `work` is
        the cost of instructions.
        """
        works: dict[int, NestWork] = {}
        for each in done or collect_transfers(tiling.tiles, nests):
            nest = works.setdefault(each.nest, NestWork())
            for cost in self._instruction_costs(tiling, each, work or self.work):
                nest.add_instruction(cost, self._cycles_of_cost(cost))
        self._add_partial_sums(tiling, nests, works)
        if tiling.cascade is not None:
            works[nests[tiling.cascade.anchor]].alone = self._first_stage_share(tiling)
        if work is None:
            self._add_operand_reloads(tiling, nests, works)
        return {number: each for number, each in works.items() if each.busy}

    def _add_partial_sums(
        self, tiling: GroupTiling, nests: Nests, found: dict[int, NestWork]
    ) -> None:
        """Add the moves of accumulators between the stages of a reduction."""
        for op, tiled in tiling.tiles.items():
            if not is_accumulated_over_stages(tiling, op):
                continue
            nest, value = found[nests[op]], op.results[0]
            size = elements_of_box(tiled.result) * TEMPORARY_BYTES
            blocks = max(1, ceil(size / self.nearest * TILE_SEARCH.accumulator_shares))
            cost = self.near.load_cost_of(value, tiled.result)
            nest.add_instruction(cost, self._cycles_of_cost(cost))
            for cost in self._operand_loads(tiling, tiled):
                nest.add_instruction(
                    cost, self._cycles_of_cost(cost) * (sqrt(blocks) - 1) / 2
                )
            initial = found.setdefault(initial_nest_of(nests[op]), NestWork())
            cost = self.near.store_cost_of(value, tiled.result)
            initial.add_instruction(cost, self._cycles_of_cost(cost))

    def _first_stage_share(self, tiling: GroupTiling) -> float:
        """
        Return the fraction of a reduction tile of this level that fills the array once.
        """
        (loop,) = tiling.inner_loops.values()
        return min(1, self.columns / loop.tile)

    def _add_operand_reloads(
        self, tiling: GroupTiling, nests: Nests, found: dict[int, NestWork]
    ) -> None:
        """Add the moves of factors that are loaded more than once."""
        for op, tiled in tiling.tiles.items():
            if not tiled.facts.is_product:
                continue
            costs = list(self._operand_loads(tiling, tiled))
            if len(costs) != 2:
                continue
            sums = elements_of_box(tiled.result) * TEMPORARY_BYTES
            left, right = (
                self._cycles_of_cost(cost) * self.level.bandwidth for cost in costs
            )
            times = reload_counts(left, right, sums, self.nearest / 2)
            for cost, count in zip(costs, times, strict=True):
                if count > 1:
                    found[nests[op]].add_instruction(
                        cost, self._cycles_of_cost(cost) * (count - 1)
                    )

    def _operand_loads(
        self, tiling: GroupTiling, tiled: TiledOperation
    ) -> Iterator[Cost]:
        """
        Yield the costs of loading the factors of a product. With square tiles, one
        factor is loaded for each tile of a row, the other once per row.
        """
        if not isinstance(tiled.op, ContractionInterface):
            return
        for operand in dict.fromkeys(tiled.op.inputs):
            index = tiled.op.operands.index(operand)
            if (box := _read_box_of(tiling, tiled, index)) is not None:
                yield self.near.load_cost_of(operand, box)

    def _cycles_of_cost(self, cost: Cost) -> float:
        """
        Return the cycles of an instruction, in the cores or at a port that they share.
        """
        share = cost.cycles / self.costs.machine.cores
        for _, cycles in cost.shared:
            share = max(share, cycles)
        return share

    def _instruction_costs(
        self, tiling: GroupTiling, exchange: InnerTransfer, work: TileInstructions
    ) -> Iterator[Cost]:
        """
        Yield the costs of a tile: its instructions, and its moves to and from the
        innermost memory.
        """
        tiled = tiling.tiles[exchange.op]
        if exchange.computes:
            yield from work.costs_of(tiled)
        for operand, index in exchange.loads:
            if (box := _read_box_of(tiling, tiled, index)) is not None:
                yield self.near.load_cost_of(operand, box)
        for result in exchange.stores:
            yield self.near.store_cost_of(result, tiled.result)


def _lead_by_nest(tiling: GroupTiling, nests: Nests) -> dict[int, int]:
    """Return the prefetch distance of each nest over inner tiles, in iterations."""
    distances: dict[int, int] = {}
    for op in tiling.tiles:
        number, distance = nests[op], tiling.prefetch_distances.get(op, 0)
        distances[number] = max(distance, distances.get(number, 0))
    return distances


def _read_box_of(
    tiling: GroupTiling, tiled: TiledOperation, operand: int
) -> Box | None:
    """
    Return the box of an operand that an operation reads, or `None` if there is none.
    """
    if (available := _available_box_of(tiling, tiled.op.operands[operand])) is None:
        return None
    return tiled.reads[operand] or available


def _available_box_of(tiling: GroupTiling, value: SSAValue) -> Box | None:
    """Return the available tile of a value, or `None` if there is none."""
    owner = value.owner
    if isinstance(owner, Operation) and (tiled := tiling.tiles.get(owner)) is not None:
        return tiled.result
    for scope in LoopLevel:
        if boxes := tiling.reads.get((value, scope)):
            return boxes[0]
    return None


def reload_counts(left: float, right: float, sums: int, room: float) -> tuple[int, int]:
    """
    Return the number of loads of two factors of `left` and `right` bytes through `room`
    bytes: blocks of one factor stay while the whole other factor is read, or blocks of
    `sums` bytes of accumulators stay while rows of one factor meet columns of the
    other.

    Source: the blocked product of Hong and Kung, "I/O complexity: the red-blue pebble
    game" (STOC 1981): a block of one array stays, and the others are read for each
    block.
    """
    options = [(1, ceil(left / room)), (ceil(right / room), 1)]
    blocks = ceil(sums / room)
    options += [(ceil(blocks / rows), rows) for rows in _powers_of_two(blocks)]
    return min(options, key=lambda option: option[0] * left + option[1] * right)


def _powers_of_two(blocks: int) -> list[int]:
    """Return the powers of two up to a number of blocks."""
    return [1 << octave for octave in range(blocks.bit_length())]
