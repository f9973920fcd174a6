"""Processor resources of a program, and the number of programs resident at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.form import Form
from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.model import GroupTiling, Scope, TiledOperation, elements
from tlf.dialects.interfaces import IndexedInterface, ReductionInterface
from tlf.dialects.triton import warps_of
from tlf.dialects.types import dtype_of, tensor_type
from tlf.planner.cost.gpu.accesses import Accesses
from tlf.planner.cost.gpu.arithmetic import Arithmetic, Product, volume
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.direct import Direct
from tlf.planner.cost.gpu.origins import made_by
from tlf.support.affine.access import Box

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
class Resources:
    """Resources of one program."""

    warps: int
    registers: int
    """Of a thread."""
    shared: int
    """Bytes."""
    stages: int
    """Iterations of its reduction that are in flight."""

    def resident(self, chip: Chip) -> int:
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

    def fits(self, chip: Chip) -> bool:
        """Return `True` if the resources of a program are within the limits."""
        return (
            self.registers <= chip.gpu.thread_registers
            and self.shared <= MARGIN * chip.near_capacity
        )


@dataclass
class Needs:
    """
    Resources of the programs of a tiled group, by the number of iterations of their
    reduction in flight. An estimate: the compiler below decides.
    """

    tiling: GroupTiling
    arithmetic: Arithmetic
    _known: dict[int, Resources] = field(
        init=False, default_factory=dict[int, Resources]
    )

    def resources(self, stages: int) -> Resources:
        """Return the resources of a program with `stages` iterations in flight."""
        in_flight = 1 if self._direct.factors else stages
        if in_flight not in self._known:
            shared = self._shared(in_flight)
            found = Resources(self.warps, self._registers, shared, in_flight)
            self._known[in_flight] = found
        return self._known[in_flight]

    @cached_property
    def warps(self) -> int:
        """The warps of a program."""
        return warps_of(max(self._sizes()), self._reduced())

    @property
    def has_products(self) -> bool:
        """True if the group has a product that matrix instructions compute."""
        return any(map(self.arithmetic.is_matrix, self._products()))

    @property
    def _threads(self) -> int:
        return self.warps * self.arithmetic.chip.gpu.warp

    @cached_property
    def _registers(self) -> int:
        direct = self._direct.factors + self._direct.others
        live = self._live() + REGISTER * direct
        registers = BASE + ceil(live / (self._threads * REGISTER))
        is_fused = any(self.arithmetic.is_fused(each) for each in self._products())
        is_looped = is_fused or self.tiling.cascade is not None
        return registers + BASE if is_looped else registers

    def _reduced(self) -> int:
        """The elements of the largest product of matrices if a program also reduces."""
        if not any(isinstance(op, ReductionInterface) for op in self.tiling.tiles):
            return 0
        products = filter(self.arithmetic.is_matrix, self._products())
        return max((p.batch * p.rows * p.columns for p in products), default=0)

    def _products(self) -> Iterator[Product]:
        for tiled in self.tiling.tiles.values():
            if tiled.form.is_product:
                yield self.arithmetic.product(tiled)

    def _sizes(self) -> Iterator[int]:
        """The elements of every value."""
        yield self.tiling.largest()
        for product in self._products():
            if not self.arithmetic.is_matrix(product):
                yield volume(product)

    @cached_property
    def _direct(self) -> Direct:
        """The elements that every iteration of the reduction loads into registers."""
        sector = self.arithmetic.chip.sector
        return Direct.of(self.tiling, Accesses(self.tiling, sector, self._threads))

    def _form(self, op: Operation) -> Form:
        return self.tiling.tiles[op].form

    def _live(self) -> int:
        """
        The most bytes of values that threads hold at once. A chain of elementwise
        operations goes element by element, from what it reads to what it leaves; what
        reductions combine, and what is used after them, is there as a whole.
        """
        order = self._order()
        spans = {
            value: (size, first, self._last(value, order))
            for value, size, first in self._values(order)
        }
        read = sum(
            spans[value][0] for value, _ in self.tiling.inputs() if value in spans
        )
        left = sum(spans[each][0] for each in self.tiling.results if each in spans)
        most = max(read, left)
        for op in order:
            if self._form(op).is_accumulating:
                most = max(most, self._held(op, order, spans) + self._terms(op))
        return most + self._addresses()

    def _order(self) -> dict[Operation, float]:
        """
        Return the position of each operation in the order of computation. One that
        makes a value narrower is computed as soon as its operand and the product before
        it are there.
        """
        order: dict[Operation, float] = {}
        product = 0.0
        for number, op in enumerate(self.tiling.tiles):
            if self._form(op).is_product:
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
        if not tiled.form.is_elementwise:
            return False
        left = _bytes(op.results[0], tiled.result)
        return left < _bytes(op.operands[0], tiled.result)

    def _addresses(self) -> int:
        """The most bytes of the addresses that threads have from indices at once."""
        indexed = (
            op for op in self.tiling.gathered if isinstance(op, IndexedInterface)
        )
        found = (self.tiling.tiles[op].result for op in indexed)
        return ADDRESS * max(map(elements, found), default=0)

    def _held(
        self,
        op: Operation,
        order: Mapping[Operation, float],
        spans: Mapping[SSAValue, tuple[int, float, float]],
    ) -> int:
        """
        The bytes of values that are there while an operation reduces: what passes makes
        room for what is left of it.
        """
        passing, at = self._passing(op, order), order[op]
        made = {result for each in passing for result in each.results}
        read = {operand for each in passing for operand in each.operands}
        left = {order[each] + SOON for each in passing}
        held = {each for each, (_, first, last) in spans.items() if first <= at <= last}
        coming = {each for each in read - made if each in spans} - held
        going = {each for each in held if spans[each][1] in left} - read
        sizes = [sum(spans[each][0] for each in some) for some in (coming, going)]
        return sum(spans[each][0] for each in held - made - going) + max(sizes)

    def _passing(
        self, op: Operation, order: Mapping[Operation, float]
    ) -> set[Operation]:
        """
        The elementwise operations that compute for one reduction alone, element by
        element as it takes them; or for it and for narrower values.
        """
        found = set[Operation]()
        if not isinstance(op, ReductionInterface):
            return found
        for each in reversed([other for other, at in order.items() if at < order[op]]):
            users = {use.operation for result in each.results for use in result.uses}
            is_left = any(result in self.tiling.results for result in each.results)
            users -= {user for user in users if order.get(user) == order[each] + SOON}
            is_alone = bool(users) and users <= {op, *found} and not is_left
            if is_alone and self._form(each).is_elementwise:
                found.add(each)
        return found

    def _terms(self, op: Operation) -> int:
        """The bytes of products that are there before they are summed."""
        if not self._form(op).is_product:
            return 0
        product = self.arithmetic.product(self.tiling.tiles[op])
        is_matrix = self.arithmetic.is_matrix(product)
        return 0 if is_matrix else REGISTER * volume(product)

    def _values(
        self, order: Mapping[Operation, float]
    ) -> Iterator[tuple[SSAValue, int, float]]:
        """Values in registers: bytes, and the operation that they are there from."""
        for value, box in self.tiling.inputs():
            if not self._is_factor(value):
                yield value, _bytes(value, box), self._first(value, order)
        for op, tiled in self.tiling.tiles.items():
            if not tiled.form.is_free and not self._is_factor(op.results[0]):
                first = 0 if self._is_carried(op) else order[op]
                yield op.results[0], _bytes(op.results[0], tiled.result), first

    def _first(self, value: SSAValue, order: Mapping[Operation, float]) -> float:
        """The first operation that reads an input; any where a loop does."""
        users = [use.operation for use in value.uses if use.operation in order]
        is_inside = any(self.tiling.tiles[e].scope is not Scope.OUTER for e in users)
        return 0 if is_inside else min((order[user] for user in users), default=0)

    def _is_carried(self, op: Operation) -> bool:
        """
        Return `True` if the result of an operation is carried by a loop of several
        reductions.
        """
        if (cascade := self.tiling.cascade) is None:
            return False
        return op is self.tiling.anchor or op in cascade.steps

    def _last(self, value: SSAValue, order: Mapping[Operation, float]) -> float:
        """The last operation that uses a value: what leaves is stored at once."""
        users = [use.operation for use in value.uses]
        return max((order[user] for user in users if user in order), default=-1)

    def _is_factor(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has users in the group, all of them matrix
        instructions, which read it from shared memory.
        """
        users = [
            use.operation for use in value.uses if use.operation in self.tiling.tiles
        ]
        return bool(users) and all(self._multiplies(user, value) for user in users)

    def _multiplies(self, op: Operation, value: SSAValue) -> bool:
        tiled = self.tiling.tiles[op]
        if not tiled.form.is_product or value not in op.operands[:2]:
            return False
        operand = op.operands.index(value)
        if self.arithmetic.is_folded(tiled, operand) or self._is_kept(op, operand):
            return False
        return self.arithmetic.is_matrix(self.arithmetic.product(tiled))

    def _is_kept(self, product: Operation, operand: int) -> bool:
        """
        Return `True` if a product takes a factor from registers, which is possible for
        the left one.
        """
        return self._kept.get(product) == operand

    @cached_property
    def _kept(self) -> dict[Operation, int]:
        """Products of what threads have computed of another product: which operand."""
        found: dict[Operation, int] = {}
        for op, tiled in self.tiling.tiles.items():
            if not tiled.form.is_product:
                continue
            left = int(self.arithmetic.is_exchanged(tiled))
            is_made = made_by(self.tiling, op.operands[left]) is not None
            if is_made and not self.arithmetic.is_folded(tiled, left):
                found[op] = left
        return found

    def _shared(self, stages: int) -> int:
        """
        Bytes of shared memory: factors of products, and what else the loop around them
        loads, as often as it is in flight, or a result that changes from the threads
        that computed it to those that store it.
        """
        factors, results = dict[SSAValue, int](), [0]
        for op, tiled in self.tiling.tiles.items():
            if not tiled.form.is_product:
                continue
            product = self.arithmetic.product(tiled)
            if self.arithmetic.is_matrix(product):
                results.append(_bytes(op.results[0], tiled.result))
                for operand, size in enumerate(product.sides):
                    if self._is_kept(op, operand):
                        continue
                    times = self._copies(tiled, operand, stages)
                    value = op.operands[operand]
                    factors[value] = max(factors.get(value, 0), times * size)
        beside = self._beside(factors) if factors else 0
        return max(sum(factors.values()) + stages * beside, *results)

    def _copies(self, tiled: TiledOperation, operand: int, stages: int) -> int:
        """Return the number of tiles of a factor that are in shared memory at once."""
        folded = int(self.arithmetic.is_folded(tiled, operand))
        if tiled.op.operands[operand].owner in self.tiling.tiles:
            return 1 + folded
        box = tiled.reads[operand]
        around = (self.tiling.inner_loops, self.tiling.nested.get(tiled.op, {}))
        loops = [loop for each in around for loop in each.values()]
        is_looped = box is not None and moves_with(box, loops)
        return (stages if is_looped else 1) + folded

    def _beside(self, factors: Collection[SSAValue]) -> int:
        """Bytes that an iteration loads, but for factors of products."""
        return sum(
            _bytes(value, box)
            for (value, scope), boxes in self.tiling.reads.items()
            if scope is not Scope.OUTER and value not in factors
            for box in boxes
        )


def _bytes(value: SSAValue, box: Box) -> int:
    return elements(box) * dtype_of(tensor_type(value).element_type).itemsize
