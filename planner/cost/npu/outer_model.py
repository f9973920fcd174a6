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
    count_elements_of_box,
)
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.planner.cost.npu.inner_transfers import InnerTransfer, collect_inner_transfers
from tlf.planner.cost.npu.matmul_retiling import (
    min_padded_matmul_work,
    padded_matmul_work,
)
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.nest_work import NestThroughput, NestWork
from tlf.planner.cost.npu.reduce_stages import (
    initializing_nest_of,
    is_accumulated_over_stages,
)
from tlf.planner.cost.npu.tile_instructions import TileInstructions
from tlf.planner.cost.npu.transfer_costs import TransferCosts
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.planner.settings.search_budgets import TILE_SEARCH
from tlf.support.affine.index_access import Box


class OuterCostModel:
    """Cost model of groups that are tiled for an outer level."""

    def __init__(self, target: TargetSpec, level: Level) -> None:
        names = list(target.levels)
        index = names.index(level.name)
        self.level = level
        self.rules = tile_rules_of(target, level.name)
        self.costs = InstructionCosts(build_npu_machine(target))
        self.far = TransferCosts(
            self.costs,
            level.name,
            names[index + 1],
            is_axis_ordered=self.rules.is_axis_ordered,
        )
        inner_rules = tile_rules_of(target, names[index - 1])
        self.near = TransferCosts(
            self.costs,
            names[index - 1],
            level.name,
            is_axis_ordered=inner_rules.is_axis_ordered,
        )
        self.latency = target.levels[names[index + 1]].latency
        self.bandwidth = target.levels[names[index + 1]].bandwidth
        inner = target.levels[names[index - 1]]
        self.work, self.least = (
            TileInstructions(self.costs, partial(work, capacity=inner.capacity))
            for work in (padded_matmul_work, min_padded_matmul_work)
        )
        self.nearest = inner.capacity
        array = SystolicArray.of(self.costs.machine)
        self.columns = 1 if array is None else array.cols
        self.pace = NestThroughput(
            issue_cycles=self.costs.machine.issue_cycles
            * CONTROL_CODE.issue_instructions,
            half_memory_fill_cycles=inner.capacity / 2 / level.bandwidth,
            matrix_engine=self.costs.queues["matrix"],
            move_engines=[
                self.costs.queues[each] for each in (self.near.load, self.near.store)
            ],
        )

    def compute_cycles_of_tile(
        self, tiling: GroupTiling, nests: Nests, transfers: Iterable[InnerTransfer] = ()
    ) -> float:
        """
        Return the compute cycles of a tile, nest after nest. Prefetched nests run in
        parallel with the others: nests of equal prefetch distance are sequential, and
        the busy cycles of an engine add up over all nests.
        """
        works = self.work_by_nest(tiling, nests, transfers)
        in_order, busy = dict[int, float](), dict[int, float]()
        for index, distance in _prefetch_distance_by_nest(tiling, nests).items():
            if (nest := works.get(index)) is not None:
                cycles = nest.estimate_cycles(self.pace)
                in_order[distance] = in_order.get(distance, 0) + cycles
                for engine, cycles in nest.busy_cycles_by_engine.items():
                    busy[engine] = busy.get(engine, 0) + cycles
        if len(in_order) < 2:
            return sum(in_order.values())
        return max(*in_order.values(), *busy.values())

    def cycles_by_nest(
        self, tiling: GroupTiling, nests: Nests, transfers: Iterable[InnerTransfer] = ()
    ) -> dict[int, float]:
        """Return estimated cycles of each inner nest for one tile, by nest number."""
        return {
            number: each.estimate_cycles(self.pace)
            for number, each in self.work_by_nest(tiling, nests, transfers).items()
        }

    def work_by_nest(
        self,
        tiling: GroupTiling,
        nests: Nests,
        transfers: Iterable[InnerTransfer] = (),
        tile_instructions: TileInstructions | None = None,
    ) -> dict[int, NestWork]:
        """
        Return the work of nests over inner tiles for a tile, by nest; nests without
        work are omitted. `transfers` are the transfers, by default all of them;
        `tile_instructions` is the cost of instructions.
        """
        works: dict[int, NestWork] = {}
        for each in transfers or collect_inner_transfers(tiling.tiles, nests):
            nest = works.setdefault(each.nest, NestWork())
            for cost in self._instruction_and_move_costs(
                tiling, each, tile_instructions or self.work
            ):
                nest.add_instruction(cost, self._cycles_in_cores_or_port(cost))
        self._add_partial_sum_moves(tiling, nests, works)
        if tiling.cascade is not None:
            works[
                nests[tiling.cascade.anchor]
            ].exposed_fraction = self._array_fill_fraction(tiling)
        if tile_instructions is None:
            self._add_operand_reloads(tiling, nests, works)
        return {
            number: each for number, each in works.items() if each.busy_cycles_by_engine
        }

    def _add_partial_sum_moves(
        self, tiling: GroupTiling, nests: Nests, works_of_nests: dict[int, NestWork]
    ) -> None:
        """Add the moves of accumulators between the stages of a reduction."""
        for op, tiled in tiling.tiles.items():
            if not is_accumulated_over_stages(tiling, op):
                continue
            nest, value = works_of_nests[nests[op]], op.results[0]
            size = count_elements_of_box(tiled.result) * TEMPORARY_BYTES
            blocks = max(1, ceil(size / self.nearest * TILE_SEARCH.accumulator_shares))
            cost = self.near.load_cost_of(value, tiled.result)
            nest.add_instruction(cost, self._cycles_in_cores_or_port(cost))
            for cost in self._operand_load_costs(tiling, tiled):
                nest.add_instruction(
                    cost, self._cycles_in_cores_or_port(cost) * (sqrt(blocks) - 1) / 2
                )
            initial = works_of_nests.setdefault(
                initializing_nest_of(nests[op]), NestWork()
            )
            cost = self.near.store_cost_of(value, tiled.result)
            initial.add_instruction(cost, self._cycles_in_cores_or_port(cost))

    def _array_fill_fraction(self, tiling: GroupTiling) -> float:
        """
        Return the fraction of a reduction tile of this level that fills the array once.
        """
        (loop,) = tiling.inner_loops.values()
        return min(1, self.columns / loop.tile)

    def _add_operand_reloads(
        self, tiling: GroupTiling, nests: Nests, works_of_nests: dict[int, NestWork]
    ) -> None:
        """Add the loads of factors after their first one to the work of their nests."""
        for op, tiled in tiling.tiles.items():
            if not tiled.facts.is_product:
                continue
            costs = list(self._operand_load_costs(tiling, tiled))
            if len(costs) != 2:
                continue
            sums = count_elements_of_box(tiled.result) * TEMPORARY_BYTES
            left, right = (
                self._cycles_in_cores_or_port(cost) * self.level.bandwidth
                for cost in costs
            )
            times = factor_load_counts(left, right, sums, self.nearest / 2)
            for cost, count in zip(costs, times, strict=True):
                if count > 1:
                    works_of_nests[nests[op]].add_instruction(
                        cost, self._cycles_in_cores_or_port(cost) * (count - 1)
                    )

    def _operand_load_costs(
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

    def _cycles_in_cores_or_port(self, cost: Cost) -> float:
        """
        Return the cycles of an instruction, in the cores or at a port that they share.
        """
        share = cost.cycles / self.costs.machine.cores
        for _, cycles in cost.channel_occupancy:
            share = max(share, cycles)
        return share

    def _instruction_and_move_costs(
        self,
        tiling: GroupTiling,
        transfer: InnerTransfer,
        tile_instructions: TileInstructions,
    ) -> Iterator[Cost]:
        """
        Yield the costs of a tile: its instructions, and its moves to and from the
        innermost memory.
        """
        tiled = tiling.tiles[transfer.op]
        if transfer.has_instructions:
            yield from tile_instructions.instruction_costs_of(tiled)
        for operand, index in transfer.loads:
            if (box := _read_box_of(tiling, tiled, index)) is not None:
                yield self.near.load_cost_of(operand, box)
        for result in transfer.stores:
            yield self.near.store_cost_of(result, tiled.result)


def _prefetch_distance_by_nest(tiling: GroupTiling, nests: Nests) -> dict[int, int]:
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


def factor_load_counts(
    left_bytes: float, right_bytes: float, accumulator_bytes: int, capacity: float
) -> tuple[int, int]:
    """
    Return the number of loads of two factors of `left_bytes` and `right_bytes` bytes
    through `capacity` bytes: blocks of one factor stay while the whole other factor is
    read, or blocks of `accumulator_bytes` bytes of accumulators stay while rows of one
    factor meet columns of the other.

    Source: the blocked product of Hong and Kung, "I/O complexity: the red-blue pebble
    game" (STOC 1981): a block of one array stays, and the others are read for each
    block.
    """
    options = [(1, ceil(left_bytes / capacity)), (ceil(right_bytes / capacity), 1)]
    blocks = ceil(accumulator_bytes / capacity)
    options += [(ceil(blocks / rows), rows) for rows in _powers_of_two(blocks)]
    return min(
        options, key=lambda option: option[0] * left_bytes + option[1] * right_bytes
    )


def _powers_of_two(limit: int) -> list[int]:
    """Return the powers of two up to a number of blocks."""
    return [1 << octave for octave in range(limit.bit_length())]
