"""Cost of gathers and scatters: as indexed moves or as comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Operation

from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import ConstantInterface, IndexedInterface
from tlf.dialects.npu import dma_engine
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.npu_machine import machine_of
from tlf.dialects.types import byte_count, dtype_of, tensor_type
from tlf.machine.engine_cycles import transfer_cycles
from tlf.machine.instruction_costs import Cost, Indices, InstructionCosts, TransferEnd
from tlf.support.affine.index_access import Accesses

STEPS = 3
"""A comparison, a choice and a step of a reduction for each place that may be named."""


@dataclass(frozen=True)
class IndexedCosts:
    """Cost of indexed operations on a target with gathering moves."""

    target: TargetSpec
    costs: InstructionCosts

    @staticmethod
    def of(target: TargetSpec) -> IndexedCosts | None:
        """Those of a target, if its moves follow indices."""
        if target.indexed_row_cycles is None:
            return None
        return IndexedCosts(target, InstructionCosts(machine_of(target)))

    def is_move_cheaper(self, op: Operation) -> bool:
        """
        Return `True` if an operation takes less time as a move than as comparisons.
        """
        if isinstance(op, IndexedWriteInterface):
            element = op.move_element_type
            if element is None:
                return False
            return self._scatter_cycles(op, element) < self._scatter_compare_cycles(op)
        return isinstance(op, IndexedInterface) and self._gather_cycles(
            op
        ) < self._gather_compare_cycles(op)

    def _gather_cycles(self, op: IndexedInterface) -> int:
        """The cycles until a move has brought what indices name."""
        near = self.target.tile_levels[0].name
        far = self.target.outermost
        shape = tensor_type(op.results[0]).get_shape()
        cost = gather_cost_of(self.costs, op, shape, near, far.name)
        cycles = cost.cycles + cost.latency
        owner = op.operands[0].owner
        if isinstance(owner, Operation) and not isinstance(owner, ConstantInterface):
            stored = byte_count(tensor_type(op.operands[0]))
            cycles += transfer_cycles(stored, far.bandwidth) + far.latency
        return cycles

    def _gather_compare_cycles(self, op: IndexedInterface) -> int:
        """The cycles in which each place is compared with each index."""
        source = tensor_type(op.operands[0])
        places = source.get_shape()[op.indexed_axis]
        count = tensor_type(op.results[0]).element_count() * places
        loaded = transfer_cycles(byte_count(source), self.target.outermost.bandwidth)
        return max(STEPS * self.costs.cost_of_elementwise(count).cycles, loaded)

    def _scatter_cycles(self, op: IndexedWriteInterface, element: Attribute) -> int:
        """The cycles until a move has put all where indices say, in a copy."""
        near, far = self.target.tile_levels[0].name, self.target.outermost
        _, indices, updates = map(tensor_type, op.operands)
        cost = scatter_cost_of(self.costs, op, element, near, far.name)
        loaded = byte_count(indices) + byte_count(updates)
        moved = transfer_cycles(loaded + self._copied_bytes(op), far.bandwidth)
        return moved + 3 * far.latency + cost.cycles + cost.latency

    def _scatter_compare_cycles(self, op: IndexedWriteInterface) -> int:
        """The cycles in which each place is compared with each index, and combined."""
        table, indices, updates = map(tensor_type, op.operands)
        places = table.get_shape()[op.written_axis]
        named = indices.element_count() < updates.element_count()
        steps = STEPS - named
        count = updates.element_count() * places
        loaded = transfer_cycles(
            self._copied_bytes(op), self.target.outermost.bandwidth
        )
        return max(steps * self.costs.cost_of_elementwise(count).cycles, loaded)

    @staticmethod
    def _copied_bytes(op: Operation) -> int:
        """The bytes of what is written to, before and after it."""
        return byte_count(tensor_type(op.operands[0])) * 2


def scatter_cost_of(
    costs: InstructionCosts,
    op: IndexedWriteInterface,
    element: Attribute,
    near: str,
    far: str,
) -> Cost:
    """A move of all that an operation writes from one level to a farther one."""
    table, indices, updates = map(tensor_type, op.operands)
    item, name = (dtype_of(each).itemsize for each in (element, indices.element_type))
    sizes, counts = updates.get_shape(), indices.get_shape()
    strides = _contiguous_strides(table.get_shape(), item)
    named = [
        0 if count == 1 else stride
        for count, stride in zip(counts, _contiguous_strides(counts, name), strict=True)
    ]
    along = [0 if n == op.written_axis else each for n, each in enumerate(strides)]
    return costs.cost_of_move(
        dma_engine(near, far),
        TransferEnd(0, sizes, _contiguous_strides(sizes, item)),
        TransferEnd(0, sizes, tuple(along)),
        item,
        Indices(
            TransferEnd(0, sizes, tuple(named)),
            name,
            near,
            strides[op.written_axis],
            scatter=True,
            accumulate=bool(op.is_scatter_add),
        ),
    )


def gather_cost_of(
    costs: InstructionCosts,
    op: IndexedInterface,
    shape: Sequence[int],
    near: str,
    far: str,
) -> Cost:
    """A move of a box of a result from one level to a nearer one, by indices there."""
    source, number = tensor_type(op.operands[0]), op.index_operand
    named = tensor_type(op.operands[number])
    result = op.result_indexing_maps()[0]
    item, name = (dtype_of(each.element_type).itemsize for each in (source, named))
    strides = _contiguous_strides(source.get_shape(), item)
    sizes = tuple(shape)
    return costs.cost_of_move(
        dma_engine(far, near),
        TransferEnd(
            0, sizes, _operand_strides_of(op.indexing_maps()[0], result, strides)
        ),
        TransferEnd(0, sizes, _contiguous_strides(sizes, item)),
        item,
        Indices(
            TransferEnd(0, sizes, _index_strides_of(op, number, result, sizes, name)),
            name,
            near,
            strides[op.indexed_axis],
            scatter=False,
        ),
    )


def _contiguous_strides(shape: Sequence[int], item: int) -> tuple[int, ...]:
    return tuple(stride * item for stride in row_major_strides(shape))


def _index_strides_of(
    op: IndexedInterface,
    number: int,
    result: Accesses,
    sizes: Sequence[int],
    item: int,
) -> tuple[int, ...]:
    """The strides of indices that are as many as a box of the result needs."""
    accesses = op.indexing_maps()[number]
    extent = {access.terms[0][0]: n for access, n in zip(result, sizes, strict=True)}
    shape = [prod(extent[each] for each, _ in e.terms) for e in accesses or ()]
    return _operand_strides_of(accesses, result, _contiguous_strides(shape, item))


def _operand_strides_of(
    accesses: Accesses | None, result: Accesses, strides: Sequence[int]
) -> tuple[int, ...]:
    """The bytes between neighbours of an operand along each axis of a result."""
    steps: dict[int, int] = {}
    for access, stride in zip(accesses or (), strides, strict=True):
        for iterator, factor in access.terms:
            steps[iterator] = steps.get(iterator, 0) + factor * stride
    return tuple(steps.get(access.terms[0][0], 0) for access in result)
