"""
Cost model of a GPU program's registers and shared memory, and of the number of resident
programs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.box_covering import is_moved_by
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    TiledOperation,
    elements_of_box,
)
from tlf.dialects.interfaces import IndexedInterface, ReductionInterface
from tlf.dialects.triton import default_warp_count
from tlf.dialects.types import itemsize_of
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.compute_model import ComputeModel, Product, product_volume
from tlf.planner.cost.gpu.global_traffic import TrafficModel
from tlf.planner.cost.gpu.register_loads import RegisterLoads
from tlf.planner.cost.gpu.source_products import find_source_product
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.support.affine.index_access import Box

REGISTER = 4
"""Bytes per register."""

ADDRESS = 8
"""Bytes per address."""

SOON = 2.0**-8
"""Distance between the positions of two operations that leaves room for another."""


@dataclass(frozen=True)
class ProgramResources:
    """Resources of one program."""

    warps: int
    registers: int
    """Registers per thread."""
    shared: int
    """Shared memory in bytes."""
    stages: int
    """Iterations of the reduction loop in flight."""

    def count_resident(self, chip: Chip) -> int:
        """
        Return the number of programs resident on one processor: at least one, which
        then spills its registers to memory.
        """
        gpu = chip.gpu
        registers = min(self.registers, gpu.thread_registers)
        allocated = (
            -(-registers // TRITON_CALIBRATION.register_granularity)
            * TRITON_CALIBRATION.register_granularity
            * gpu.warp
            * self.warps
        )
        limits = [
            gpu.programs,
            gpu.warps // self.warps,
            gpu.registers // allocated,
            gpu.shared // (self.shared + gpu.reserved)
            if self.shared + gpu.reserved
            else gpu.programs,
        ]
        return max(1, min(limits))

    def is_within_limits(self, chip: Chip) -> bool:
        """Return `True` if the resources of a program are within the limits."""
        return (
            self.registers <= chip.gpu.thread_registers
            and self.shared
            <= TRITON_CALIBRATION.shared_memory_fraction * chip.near_capacity
        )


@dataclass
class ResourceDemand:
    """
    Resource demand of a tiled group's programs by the number of stages. An estimate:
    the backend compiler decides.
    """

    tiling: GroupTiling
    arithmetic: ComputeModel
    _known: dict[int, ProgramResources] = field(
        init=False, default_factory=dict[int, ProgramResources]
    )

    def resources_at(self, stages: int) -> ProgramResources:
        """Return the resources of a program with `stages` iterations in flight."""
        in_flight = 1 if self._register_loads.factors else stages
        if in_flight not in self._known:
            shared = self._shared_bytes(in_flight)
            resources = ProgramResources(
                self.warps, self._register_count, shared, in_flight
            )
            self._known[in_flight] = resources
        return self._known[in_flight]

    @cached_property
    def warps(self) -> int:
        """Number of warps of a program."""
        return default_warp_count(max(self._value_sizes()), self._largest_product())

    @property
    def has_products(self) -> bool:
        """True if the group has a product that matrix instructions compute."""
        return any(map(self.arithmetic.has_matrix_shape, self._matrix_products()))

    @property
    def _thread_count(self) -> int:
        return self.warps * self.arithmetic.chip.gpu.warp

    @cached_property
    def _register_count(self) -> int:
        direct = self._register_loads.factors + self._register_loads.others
        live = self._max_live_bytes() + REGISTER * direct
        registers = TRITON_CALIBRATION.base_registers + ceil(
            live / (self._thread_count * REGISTER)
        )
        is_fused = any(
            self.arithmetic.is_fused_multiply_add(each)
            for each in self._matrix_products()
        )
        is_looped = is_fused or self.tiling.cascade is not None
        return registers + TRITON_CALIBRATION.base_registers if is_looped else registers

    def _largest_product(self) -> int:
        """
        Return the elements of the largest matrix product if a program also reduces.
        """
        if not any(isinstance(op, ReductionInterface) for op in self.tiling.tiles):
            return 0
        products = filter(self.arithmetic.has_matrix_shape, self._matrix_products())
        return max((p.batch * p.rows * p.columns for p in products), default=0)

    def _matrix_products(self) -> Iterator[Product]:
        for tiled in self.tiling.tiles.values():
            if tiled.facts.is_product:
                yield self.arithmetic.product_of(tiled)

    def _value_sizes(self) -> Iterator[int]:
        """Yield the number of elements of every value."""
        yield self.tiling.max_tile_elements()
        for product in self._matrix_products():
            if not self.arithmetic.has_matrix_shape(product):
                yield product_volume(product)

    @cached_property
    def _register_loads(self) -> RegisterLoads:
        """Elements that every iteration of the reduction loads into registers."""
        sector = self.arithmetic.chip.sector
        return RegisterLoads.of(
            self.tiling, TrafficModel(self.tiling, sector, self._thread_count)
        )

    def _form_of(self, op: Operation) -> OpFacts:
        return self.tiling.tiles[op].facts

    def _max_live_bytes(self) -> int:
        """
        Return the maximum live bytes of the threads' values. Chains of elementwise
        operations stream elements from inputs to results; operands of reductions, and
        values used after them, are live as whole tiles.
        """
        order = self._computation_order()
        live_ranges = {
            value: (size, first, self._last_use(value, order))
            for value, size, first in self._register_values(order)
        }
        input_bytes = sum(
            live_ranges[value][0]
            for value, _ in self.tiling.input_tiles()
            if value in live_ranges
        )
        result_bytes = sum(
            live_ranges[each][0] for each in self.tiling.results if each in live_ranges
        )
        peak = max(input_bytes, result_bytes)
        for op in order:
            if self._form_of(op).is_accumulating:
                peak = max(
                    peak,
                    self._live_bytes_during(op, order, live_ranges)
                    + self._term_bytes(op),
                )
        return peak + self._address_bytes()

    def _computation_order(self) -> dict[Operation, float]:
        """
        Return the position of each operation in the order of computation. A narrowing
        operation follows its operand and the preceding product immediately.
        """
        order: dict[Operation, float] = {}
        product = 0.0
        for position, op in enumerate(self.tiling.tiles):
            if self._form_of(op).is_product:
                product = position
            owners = (each.owner for each in op.operands)
            operand_positions = [
                order[e] for e in owners if isinstance(e, Operation) and e in order
            ]
            if len(op.operands) == len(operand_positions) == 1 and self._is_narrowing(
                op
            ):
                order[op] = max(operand_positions[0], product) + SOON
            else:
                order[op] = position
        return order

    def _is_narrowing(self, op: Operation) -> bool:
        """Return `True` if an elementwise result has fewer bytes than the operand."""
        tiled = self.tiling.tiles[op]
        if not tiled.facts.is_elementwise:
            return False
        result_bytes = _bytes_of_tile(op.results[0], tiled.result)
        return result_bytes < _bytes_of_tile(op.operands[0], tiled.result)

    def _address_bytes(self) -> int:
        """
        Return the maximum live bytes of addresses that threads compute from indices.
        """
        indexed = (
            op
            for op in self.tiling.gathered_operations
            if isinstance(op, IndexedInterface)
        )
        tiles = (self.tiling.tiles[op].result for op in indexed)
        return ADDRESS * max(map(elements_of_box, tiles), default=0)

    def _live_bytes_during(
        self,
        op: Operation,
        order: Mapping[Operation, float],
        spans: Mapping[SSAValue, tuple[int, float, float]],
    ) -> int:
        """Return the bytes of the values that are live during a reduction."""
        streamed, position = self._streamed_operations(op, order), order[op]
        produced = {result for each in streamed for result in each.results}
        consumed = {operand for each in streamed for operand in each.operands}
        ends = {order[each] + SOON for each in streamed}
        live = {
            each
            for each, (_, first, last) in spans.items()
            if first <= position <= last
        }
        entering = {each for each in consumed - produced if each in spans} - live
        leaving = {each for each in live if spans[each][1] in ends} - consumed
        sizes = [
            sum(spans[each][0] for each in values) for values in (entering, leaving)
        ]
        return sum(spans[each][0] for each in live - produced - leaving) + max(sizes)

    def _streamed_operations(
        self, op: Operation, order: Mapping[Operation, float]
    ) -> set[Operation]:
        """
        Return the elementwise operations that stream their elements into a reduction.
        """
        streamed = set[Operation]()
        if not isinstance(op, ReductionInterface):
            return streamed
        for each in reversed(
            [other for other, position in order.items() if position < order[op]]
        ):
            users = {use.operation for result in each.results for use in result.uses}
            is_stored = any(result in self.tiling.results for result in each.results)
            users -= {user for user in users if order.get(user) == order[each] + SOON}
            has_only_stream_users = (
                bool(users) and users <= {op, *streamed} and not is_stored
            )
            if has_only_stream_users and self._form_of(each).is_elementwise:
                streamed.add(each)
        return streamed

    def _term_bytes(self, op: Operation) -> int:
        """Return the bytes of the terms of a product before they are summed."""
        if not self._form_of(op).is_product:
            return 0
        product = self.arithmetic.product_of(self.tiling.tiles[op])
        is_matrix = self.arithmetic.has_matrix_shape(product)
        return 0 if is_matrix else REGISTER * product_volume(product)

    def _register_values(
        self, order: Mapping[Operation, float]
    ) -> Iterator[tuple[SSAValue, int, float]]:
        """
        Yield the values in registers, with their bytes and the position of their
        definition.
        """
        for value, box in self.tiling.input_tiles():
            if not self._is_matrix_operand(value):
                yield value, _bytes_of_tile(value, box), self._first_use(value, order)
        for op, tiled in self.tiling.tiles.items():
            if not tiled.facts.needs_no_instruction and not self._is_matrix_operand(
                op.results[0]
            ):
                first = 0 if self._is_loop_carried(op) else order[op]
                yield op.results[0], _bytes_of_tile(op.results[0], tiled.result), first

    def _first_use(self, value: SSAValue, order: Mapping[Operation, float]) -> float:
        """Return the position of the first use of an input; 0 if a loop reads it."""
        users = [use.operation for use in value.uses if use.operation in order]
        is_inside = any(
            self.tiling.tiles[e].loop_level is not LoopLevel.OUTER for e in users
        )
        return 0 if is_inside else min((order[user] for user in users), default=0)

    def _is_loop_carried(self, op: Operation) -> bool:
        """Return `True` if the loop of a cascade carries the result of an operation."""
        if (cascade := self.tiling.cascade) is None:
            return False
        return op is self.tiling.anchor or op in cascade.steps

    def _last_use(self, value: SSAValue, order: Mapping[Operation, float]) -> float:
        """
        Return the position of the last use of a value; results are stored immediately.
        """
        users = [use.operation for use in value.uses]
        return max((order[user] for user in users if user in order), default=-1)

    def _is_matrix_operand(self, value: SSAValue) -> bool:
        """
        Return `True` if all users of a value in the group, at least one, are matrix
        instructions, which read the value from shared memory.
        """
        users = [
            use.operation for use in value.uses if use.operation in self.tiling.tiles
        ]
        return bool(users) and all(
            self._is_shared_operand(user, value) for user in users
        )

    def _is_shared_operand(self, op: Operation, value: SSAValue) -> bool:
        tiled = self.tiling.tiles[op]
        if not tiled.facts.is_product or value not in op.operands[:2]:
            return False
        operand = op.operands.index(value)
        if self.arithmetic.has_collapsed_axes(
            tiled, operand
        ) or self._is_register_operand(op, operand):
            return False
        return self.arithmetic.has_matrix_shape(self.arithmetic.product_of(tiled))

    def _is_register_operand(self, product: Operation, operand: int) -> bool:
        """
        Return `True` if a product reads a factor from registers, which only the left
        factor allows.
        """
        return self._register_operands.get(product) == operand

    @cached_property
    def _register_operands(self) -> dict[Operation, int]:
        """The operand that each product reads from registers."""
        operands: dict[Operation, int] = {}
        for op, tiled in self.tiling.tiles.items():
            if not tiled.facts.is_product:
                continue
            left = int(self.arithmetic.is_swapped(tiled))
            is_computed = (
                find_source_product(self.tiling, op.operands[left]) is not None
            )
            if is_computed and not self.arithmetic.has_collapsed_axes(tiled, left):
                operands[op] = left
        return operands

    def _shared_bytes(self, stages: int) -> int:
        """
        Return the bytes of shared memory: factors of products and the other loads of
        the loop around them, once per stage, or a result that is redistributed from the
        threads that computed it to the threads that store it.
        """
        factors, results = dict[SSAValue, int](), [0]
        for op, tiled in self.tiling.tiles.items():
            if not tiled.facts.is_product:
                continue
            product = self.arithmetic.product_of(tiled)
            if self.arithmetic.has_matrix_shape(product):
                results.append(_bytes_of_tile(op.results[0], tiled.result))
                for operand, size in enumerate(product.operand_bytes):
                    if self._is_register_operand(op, operand):
                        continue
                    copies = self._copy_count(tiled, operand, stages)
                    value = op.operands[operand]
                    factors[value] = max(factors.get(value, 0), copies * size)
        other_bytes = self._other_load_bytes(factors) if factors else 0
        return max(sum(factors.values()) + stages * other_bytes, *results)

    def _copy_count(self, tiled: TiledOperation, operand: int, stages: int) -> int:
        """Return the number of copies of a factor's tile in shared memory."""
        collapsed = int(self.arithmetic.has_collapsed_axes(tiled, operand))
        if tiled.op.operands[operand].owner in self.tiling.tiles:
            return 1 + collapsed
        box = tiled.reads[operand]
        scopes = (
            self.tiling.inner_loops,
            self.tiling.nested_loops_by_op.get(tiled.op, {}),
        )
        loops = [loop for each in scopes for loop in each.values()]
        is_looped = box is not None and is_moved_by(box, loops)
        return (stages if is_looped else 1) + collapsed

    def _other_load_bytes(self, factors: Collection[SSAValue]) -> int:
        """Return the bytes that an iteration loads, except for factors of products."""
        return sum(
            _bytes_of_tile(value, box)
            for (value, scope), boxes in self.tiling.reads.items()
            if scope is not LoopLevel.OUTER and value not in factors
            for box in boxes
        )


def _bytes_of_tile(value: SSAValue, box: Box) -> int:
    return elements_of_box(box) * itemsize_of(value)
