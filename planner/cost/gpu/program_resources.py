"""Registers and shared memory of a program, and the programs resident at once."""

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
from tlf.dialects.types import dtype_of, tensor_type
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.compute_model import ComputeModel, Product, product_volume
from tlf.planner.cost.gpu.global_traffic import TrafficModel
from tlf.planner.cost.gpu.register_loads import RegisterLoads
from tlf.planner.cost.gpu.source_products import find_source_product
from tlf.support.affine.index_access import Box

BASE = 32
"""Registers of a thread for addresses, masks and loops."""

STEP = 8
"""Threads get registers in multiples of this."""

MARGIN = 7 / 8
"""The share of its shared memory that a program is planned to take."""

REGISTER = 4
"""Bytes of a register."""

ADDRESS = 8
"""Bytes of an address."""

SOON = 2.0**-8
"""
Offset between the positions of two operations, for one that is computed in between.
"""


@dataclass(frozen=True)
class ProgramResources:
    """Resources of one program."""

    warps: int
    registers: int
    """Of a thread."""
    shared: int
    """Bytes."""
    stages: int
    """Iterations of its reduction that are in flight."""

    def count_resident(self, chip: Chip) -> int:
        """
        Return the number of programs resident on one processor; at least one, which
        then spills its registers to memory.
        """
        gpu = chip.gpu
        registers = min(self.registers, gpu.thread_registers)
        held = -(-registers // STEP) * STEP * gpu.warp * self.warps
        limits = [
            gpu.programs,
            gpu.warps // self.warps,
            gpu.registers // held,
            gpu.shared // (self.shared + gpu.reserved)
            if self.shared + gpu.reserved
            else gpu.programs,
        ]
        return max(1, min(limits))

    def is_within_limits(self, chip: Chip) -> bool:
        """Return `True` if the resources of a program are within the limits."""
        return (
            self.registers <= chip.gpu.thread_registers
            and self.shared <= MARGIN * chip.near_capacity
        )


@dataclass
class ResourceDemand:
    """
    Resource demand of a tiled group's programs by the number of stages. An estimate:
    the compiler below decides.
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
            found = ProgramResources(
                self.warps, self._register_count, shared, in_flight
            )
            self._known[in_flight] = found
        return self._known[in_flight]

    @cached_property
    def warps(self) -> int:
        """The warps of a program."""
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
        registers = BASE + ceil(live / (self._thread_count * REGISTER))
        is_fused = any(
            self.arithmetic.is_fused_multiply_add(each)
            for each in self._matrix_products()
        )
        is_looped = is_fused or self.tiling.cascade is not None
        return registers + BASE if is_looped else registers

    def _largest_product(self) -> int:
        """The elements of the largest product of matrices if a program also reduces."""
        if not any(isinstance(op, ReductionInterface) for op in self.tiling.tiles):
            return 0
        products = filter(self.arithmetic.has_matrix_shape, self._matrix_products())
        return max((p.batch * p.rows * p.columns for p in products), default=0)

    def _matrix_products(self) -> Iterator[Product]:
        for tiled in self.tiling.tiles.values():
            if tiled.facts.is_product:
                yield self.arithmetic.product_of(tiled)

    def _value_sizes(self) -> Iterator[int]:
        """The elements of every value."""
        yield self.tiling.max_tile_elements()
        for product in self._matrix_products():
            if not self.arithmetic.has_matrix_shape(product):
                yield product_volume(product)

    @cached_property
    def _register_loads(self) -> RegisterLoads:
        """The elements that every iteration of the reduction loads into registers."""
        sector = self.arithmetic.chip.sector
        return RegisterLoads.of(
            self.tiling, TrafficModel(self.tiling, sector, self._thread_count)
        )

    def _form_of(self, op: Operation) -> OpFacts:
        return self.tiling.tiles[op].facts

    def _max_live_bytes(self) -> int:
        """
        The most bytes of values that threads hold at once. A chain of elementwise
        operations goes element by element, from what it reads to what it leaves; what
        reductions combine, and what is used after them, is there as a whole.
        """
        order = self._computation_order()
        spans = {
            value: (size, first, self._last_use(value, order))
            for value, size, first in self._register_values(order)
        }
        read = sum(
            spans[value][0] for value, _ in self.tiling.input_tiles() if value in spans
        )
        left = sum(spans[each][0] for each in self.tiling.results if each in spans)
        most = max(read, left)
        for op in order:
            if self._form_of(op).is_accumulating:
                most = max(
                    most,
                    self._live_bytes_during(op, order, spans) + self._term_bytes(op),
                )
        return most + self._address_bytes()

    def _computation_order(self) -> dict[Operation, float]:
        """
        Return the position of each operation in the order of computation. One that
        makes a value narrower is computed as soon as its operand and the product before
        it are there.
        """
        order: dict[Operation, float] = {}
        product = 0.0
        for number, op in enumerate(self.tiling.tiles):
            if self._form_of(op).is_product:
                product = number
            owners = (each.owner for each in op.operands)
            made = [order[e] for e in owners if isinstance(e, Operation) and e in order]
            if len(op.operands) == len(made) == 1 and self._is_narrowing(op):
                order[op] = max(made[0], product) + SOON
            else:
                order[op] = number
        return order

    def _is_narrowing(self, op: Operation) -> bool:
        """
        Return `True` if the elements of the result have fewer bytes than those of the
        operand.
        """
        tiled = self.tiling.tiles[op]
        if not tiled.facts.is_elementwise:
            return False
        left = _bytes_of_tile(op.results[0], tiled.result)
        return left < _bytes_of_tile(op.operands[0], tiled.result)

    def _address_bytes(self) -> int:
        """The most bytes of the addresses that threads have from indices at once."""
        indexed = (
            op
            for op in self.tiling.gathered_operations
            if isinstance(op, IndexedInterface)
        )
        found = (self.tiling.tiles[op].result for op in indexed)
        return ADDRESS * max(map(elements_of_box, found), default=0)

    def _live_bytes_during(
        self,
        op: Operation,
        order: Mapping[Operation, float],
        spans: Mapping[SSAValue, tuple[int, float, float]],
    ) -> int:
        """Return the bytes of the values that are live during a reduction."""
        passing, at = self._streamed_operations(op, order), order[op]
        made = {result for each in passing for result in each.results}
        read = {operand for each in passing for operand in each.operands}
        left = {order[each] + SOON for each in passing}
        held = {each for each, (_, first, last) in spans.items() if first <= at <= last}
        coming = {each for each in read - made if each in spans} - held
        going = {each for each in held if spans[each][1] in left} - read
        sizes = [sum(spans[each][0] for each in some) for some in (coming, going)]
        return sum(spans[each][0] for each in held - made - going) + max(sizes)

    def _streamed_operations(
        self, op: Operation, order: Mapping[Operation, float]
    ) -> set[Operation]:
        """
        Return the elementwise operations that stream their elements into a reduction.
        """
        found = set[Operation]()
        if not isinstance(op, ReductionInterface):
            return found
        for each in reversed([other for other, at in order.items() if at < order[op]]):
            users = {use.operation for result in each.results for use in result.uses}
            is_left = any(result in self.tiling.results for result in each.results)
            users -= {user for user in users if order.get(user) == order[each] + SOON}
            is_alone = bool(users) and users <= {op, *found} and not is_left
            if is_alone and self._form_of(each).is_elementwise:
                found.add(each)
        return found

    def _term_bytes(self, op: Operation) -> int:
        """The bytes of products that are there before they are summed."""
        if not self._form_of(op).is_product:
            return 0
        product = self.arithmetic.product_of(self.tiling.tiles[op])
        is_matrix = self.arithmetic.has_matrix_shape(product)
        return 0 if is_matrix else REGISTER * product_volume(product)

    def _register_values(
        self, order: Mapping[Operation, float]
    ) -> Iterator[tuple[SSAValue, int, float]]:
        """Values in registers: bytes, and the operation that they are there from."""
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
        """The first operation that reads an input; any where a loop does."""
        users = [use.operation for use in value.uses if use.operation in order]
        is_inside = any(
            self.tiling.tiles[e].loop_level is not LoopLevel.OUTER for e in users
        )
        return 0 if is_inside else min((order[user] for user in users), default=0)

    def _is_loop_carried(self, op: Operation) -> bool:
        """
        Return `True` if the result of an operation is carried by a loop of several
        reductions.
        """
        if (cascade := self.tiling.cascade) is None:
            return False
        return op is self.tiling.anchor or op in cascade.steps

    def _last_use(self, value: SSAValue, order: Mapping[Operation, float]) -> float:
        """The last operation that uses a value: what leaves is stored at once."""
        users = [use.operation for use in value.uses]
        return max((order[user] for user in users if user in order), default=-1)

    def _is_matrix_operand(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has users in the group, all of them matrix
        instructions, which read it from shared memory.
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
        Return `True` if a product takes a factor from registers, which is possible for
        the left one.
        """
        return self._register_operands.get(product) == operand

    @cached_property
    def _register_operands(self) -> dict[Operation, int]:
        """Return the operand that each product takes from registers."""
        found: dict[Operation, int] = {}
        for op, tiled in self.tiling.tiles.items():
            if not tiled.facts.is_product:
                continue
            left = int(self.arithmetic.is_swapped(tiled))
            is_made = find_source_product(self.tiling, op.operands[left]) is not None
            if is_made and not self.arithmetic.has_collapsed_axes(tiled, left):
                found[op] = left
        return found

    def _shared_bytes(self, stages: int) -> int:
        """
        Bytes of shared memory: factors of products, and what else the loop around them
        loads, as often as it is in flight, or a result that changes from the threads
        that computed it to those that store it.
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
                    times = self._copy_count(tiled, operand, stages)
                    value = op.operands[operand]
                    factors[value] = max(factors.get(value, 0), times * size)
        beside = self._other_load_bytes(factors) if factors else 0
        return max(sum(factors.values()) + stages * beside, *results)

    def _copy_count(self, tiled: TiledOperation, operand: int, stages: int) -> int:
        """Return the number of tiles of a factor that are in shared memory at once."""
        folded = int(self.arithmetic.has_collapsed_axes(tiled, operand))
        if tiled.op.operands[operand].owner in self.tiling.tiles:
            return 1 + folded
        box = tiled.reads[operand]
        around = (
            self.tiling.inner_loops,
            self.tiling.nested_loops_by_op.get(tiled.op, {}),
        )
        loops = [loop for each in around for loop in each.values()]
        is_looped = box is not None and is_moved_by(box, loops)
        return (stages if is_looped else 1) + folded

    def _other_load_bytes(self, factors: Collection[SSAValue]) -> int:
        """Bytes that an iteration loads, but for factors of products."""
        return sum(
            _bytes_of_tile(value, box)
            for (value, scope), boxes in self.tiling.reads.items()
            if scope is not LoopLevel.OUTER and value not in factors
            for box in boxes
        )


def _bytes_of_tile(value: SSAValue, box: Box) -> int:
    return elements_of_box(box) * dtype_of(tensor_type(value).element_type).itemsize
