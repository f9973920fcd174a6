"""
Cost model of the inner instructions that compute a tile of an outer level of an NPU.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from math import ceil, sqrt

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_tiling import (
    TEMPORARY_BYTES,
    GroupTiling,
    TiledOperation,
    count_elements_of_box,
)
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.machine.machine_spec import MatrixEngine
from tlf.planner.cost.npu.epilogue_buffers import epilogue_bytes_per_result
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.inner_transfers import InnerTransfer, collect_inner_transfers
from tlf.planner.cost.npu.matmul_retiling import (
    min_padded_matmul_work,
    padded_matmul_work,
)
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.nest_structure import tile_key_of
from tlf.planner.cost.npu.nest_work import NestThroughput, NestWork
from tlf.planner.cost.npu.product_tiling import (
    ProductExtents,
    ProductResources,
    ProductTiling,
    find_product_tiling,
)
from tlf.planner.cost.npu.read_boxes import read_box_of
from tlf.planner.cost.npu.reduce_stages import (
    initializing_nest_of,
    is_accumulated_over_stages,
)
from tlf.planner.cost.npu.tile_instructions import TileInstructions
from tlf.planner.cost.npu.tile_size_options import min_product_extent_in
from tlf.planner.cost.npu.transfer_costs import TransferCosts
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.planner.settings.search_budgets import TILE_SEARCH


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
        self._known_nests: dict[Hashable, float | None] = {}
        array = SystolicArray.of(self.costs.machine)
        self.columns = 1 if array is None else array.cols
        self.product_resources = _product_resources_of(target, level, inner)
        self.pace = self._throughput_of_nests(inner)

    def _throughput_of_nests(self, inner: Level) -> NestThroughput:
        """Return the throughput of nests over tiles of an inner level."""
        return NestThroughput(
            issue_cycles=self.costs.machine.issue_cycles
            * CONTROL_CODE.issue_instructions,
            half_memory_fill_cycles=inner.capacity / 2 / self.level.bandwidth,
            matrix_engine=self.costs.queues["matrix"],
            move_engines=[
                self.costs.queues[each] for each in (self.near.load, self.near.store)
            ],
            cores=self.costs.machine.cores,
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
        self, tiling: GroupTiling, nests: Nests, steps: ExecutionSteps
    ) -> dict[int, float]:
        """
        Return estimated cycles of each inner nest for one tile, by nest number,
        computed once for equal nests with equal tiles.
        """
        if self._has_costs_beyond_nests(tiling):
            transfers = steps.inner_transfers_of(tiling.tiles)
            return self._estimate_nests(tiling, nests, transfers)
        cycles: dict[int, float] = {}
        for each in steps.nest_structures_of(tiling.tiles):
            key = each.key, tile_key_of(tiling, each)
            if key not in self._known_nests:
                found = self._estimate_nests(tiling, nests, each.transfers)
                self._known_nests[key] = found.get(each.nest)
            if (known := self._known_nests[key]) is not None:
                cycles[each.nest] = known
        return cycles

    def _estimate_nests(
        self, tiling: GroupTiling, nests: Nests, transfers: Iterable[InnerTransfer]
    ) -> dict[int, float]:
        """Return estimated cycles of the inner nests with the given transfers."""
        return {
            number: each.estimate_cycles(self.pace)
            for number, each in self.work_by_nest(tiling, nests, transfers).items()
        }

    def _has_costs_beyond_nests(self, tiling: GroupTiling) -> bool:
        """
        Return `True` if the cost of a nest depends on more than the nest and its tiles:
        loops over reduction tiles, a cascade, or layouts of single values.
        """
        near = self.near
        return bool(
            tiling.inner_loops
            or tiling.cascade is not None
            or near.layouts
            or near.free
            or near.phased
        )

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
            self._tile_products(tiling, nests, works)
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

    def _tile_products(
        self, tiling: GroupTiling, nests: Nests, works_of_nests: dict[int, NestWork]
    ) -> None:
        """
        Add the work of the inner tiles of products to their nests: loads of factors
        after the first one, and passes that do not fill the array.
        """
        for op, tiled in tiling.tiles.items():
            if not tiled.facts.is_product or nests[op] not in works_of_nests:
                continue
            costs = list(self._operand_load_costs(tiling, tiled))
            if len(costs) != 2:
                continue
            nest = works_of_nests[nests[op]]
            moves = [self._cycles_in_cores_or_port(cost) for cost in costs]
            found = self._product_tiling_of(tiling, nests, tiled, costs)
            loads = found.left_loads, found.right_loads
            for cost, cycles, count in zip(costs, moves, loads, strict=True):
                if count > 1:
                    nest.add_instruction(cost, cycles * (count - 1))
            for cost in self.work.instruction_costs_of(tiled):
                cycles = self._cycles_in_cores_or_port(cost) * (found.fill_ratio - 1)
                nest.busy_cycles_by_engine[cost.queue] += cycles
            nest.product_tiling = max(
                found, nest.product_tiling or found, key=lambda each: each.tile_count
            )

    def _product_tiling_of(
        self,
        tiling: GroupTiling,
        nests: Nests,
        tiled: TiledOperation,
        moves: Sequence[Cost],
    ) -> ProductTiling:
        """Return the inner tiles of a product; `moves` load its factors."""
        work = self.work.matmul_work_of(tiled)
        left, right = (cost.cycles * self.level.bandwidth for cost in moves)
        step = self.work.cycles_of_array_step(tiled.op.operands[0])
        result_bytes = epilogue_bytes_per_result(tiling, nests, tiled.op)
        return find_product_tiling(
            ProductExtents(*work, left, right, step, result_bytes),
            self.product_resources,
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
            if (box := read_box_of(tiling, tiled, index)) is not None:
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
            if (box := read_box_of(tiling, tiled, index)) is not None:
                yield self.near.load_cost_of(operand, box)
        for result in transfer.stores:
            yield self.near.store_cost_of(result, tiled.result)


def _product_resources_of(
    target: TargetSpec, outer: Level, inner: Level
) -> ProductResources:
    """Return the resources for tiles of products between two levels of a target."""
    machine = build_npu_machine(target)
    array, unit = SystolicArray.of(machine), machine.engines.get("matrix")
    rows, columns = (1, 1) if array is None else array.side_cells
    return ProductResources(
        inner.capacity,
        outer.bandwidth,
        max(inner.latency, outer.latency)
        + (unit.startup if isinstance(unit, MatrixEngine) else 0),
        2 * machine.issue_cycles * CONTROL_CODE.issue_instructions,
        rows,
        columns,
        min_product_extent_in(inner.capacity),
        machine.cores,
    )


def _prefetch_distance_by_nest(tiling: GroupTiling, nests: Nests) -> dict[int, int]:
    """Return the prefetch distance of each nest over inner tiles, in iterations."""
    distances: dict[int, int] = {}
    for op in tiling.tiles:
        number, distance = nests[op], tiling.prefetch_distances.get(op, 0)
        distances[number] = max(distance, distances.get(number, 0))
    return distances
