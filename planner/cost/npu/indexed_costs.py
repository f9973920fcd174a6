"""Cost model of gathers and scatters on NPUs: as indexed moves or as comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Operation

from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import ConstantInterface, IndexedReadInterface
from tlf.dialects.npu import dma_engine_name
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.dialects.types import byte_count, dtype_of, tensor_type
from tlf.machine.engine_cycles import transfer_cycles
from tlf.machine.instruction_costs import (
    Cost,
    InstructionCosts,
    RowIndices,
    TransferEnd,
)
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.support.affine.index_access import Accesses


@dataclass(frozen=True)
class IndexedCosts:
    """Cost comparison of gathers and scatters by indexed moves or by comparisons."""

    target: TargetSpec
    costs: InstructionCosts

    @staticmethod
    def from_target(target: TargetSpec) -> IndexedCosts | None:
        """
        Return the indexed costs of a target, or `None` if its moves do not follow
        indices.
        """
        if target.indexed_row_cycles is None:
            return None
        return IndexedCosts(target, InstructionCosts(build_npu_machine(target)))

    def is_indexed_move_cheaper(self, op: Operation) -> bool:
        """Return `True` if an indexed move takes less time than comparisons."""
        if isinstance(op, IndexedWriteInterface):
            element = op.element_type_of_moves
            if element is None:
                return False
            return self._scatter_move_cycles(
                op, element
            ) < self._scatter_compare_cycles(op)
        return isinstance(op, IndexedReadInterface) and self._gather_move_cycles(
            op
        ) < self._gather_compare_cycles(op)

    def _gather_move_cycles(self, op: IndexedReadInterface) -> int:
        """Return the sum of cycles of an indexed move and a computed table's store."""
        innermost = self.target.tile_levels[0].name
        outermost = self.target.outermost_level
        shape = tensor_type(op.results[0]).get_shape()
        cost = gather_move_cost_of(self.costs, op, shape, innermost, outermost.name)
        cycles = cost.cycles + cost.latency
        owner = op.operands[0].owner
        if isinstance(owner, Operation) and not isinstance(owner, ConstantInterface):
            stored = byte_count(tensor_type(op.operands[0]))
            cycles += transfer_cycles(stored, outermost.bandwidth) + outermost.latency
        return cycles

    def _gather_compare_cycles(self, op: IndexedReadInterface) -> int:
        """Return the cycles of a gather that compares each position with each index."""
        source = tensor_type(op.operands[0])
        positions = source.get_shape()[op.indexed_axis]
        count = tensor_type(op.results[0]).element_count() * positions
        loaded = transfer_cycles(
            byte_count(source), self.target.outermost_level.bandwidth
        )
        return max(
            CONTROL_CODE.gather_steps * self.costs.cost_of_elementwise(count).cycles,
            loaded,
        )

    def _scatter_move_cycles(
        self, op: IndexedWriteInterface, element_type: Attribute
    ) -> int:
        """
        Return the cycles of a scatter by an indexed move into a copy of the table.
        """
        innermost, outermost = (
            self.target.tile_levels[0].name,
            self.target.outermost_level,
        )
        _, indices, updates = map(tensor_type, op.operands)
        cost = scatter_move_cost_of(
            self.costs, op, element_type, innermost, outermost.name
        )
        loaded = byte_count(indices) + byte_count(updates)
        moved = transfer_cycles(
            loaded + self._table_copy_bytes(op), outermost.bandwidth
        )
        return moved + 3 * outermost.latency + cost.cycles + cost.latency

    def _scatter_compare_cycles(self, op: IndexedWriteInterface) -> int:
        """
        Return the cycles of a scatter that compares each position with each index.
        """
        table, indices, updates = map(tensor_type, op.operands)
        positions = table.get_shape()[op.scatter_axis]
        has_shared_indices = indices.element_count() < updates.element_count()
        steps = CONTROL_CODE.gather_steps - has_shared_indices
        count = updates.element_count() * positions
        loaded = transfer_cycles(
            self._table_copy_bytes(op), self.target.outermost_level.bandwidth
        )
        return max(steps * self.costs.cost_of_elementwise(count).cycles, loaded)

    @staticmethod
    def _table_copy_bytes(op: Operation) -> int:
        """Return the bytes of reading and writing the updated table."""
        return byte_count(tensor_type(op.operands[0])) * 2


def scatter_move_cost_of(
    costs: InstructionCosts,
    op: IndexedWriteInterface,
    element_type: Attribute,
    inner_level: str,
    outer_level: str,
) -> Cost:
    """Return the cost of moving all updates of an indexed write to an outer level."""
    table, indices, updates = map(tensor_type, op.operands)
    item, index_bytes = (
        dtype_of(each).itemsize for each in (element_type, indices.element_type)
    )
    sizes, counts = updates.get_shape(), indices.get_shape()
    strides = _contiguous_strides(table.get_shape(), item)
    index_strides = [
        0 if count == 1 else stride
        for count, stride in zip(
            counts, _contiguous_strides(counts, index_bytes), strict=True
        )
    ]
    along = [0 if n == op.scatter_axis else each for n, each in enumerate(strides)]
    return costs.cost_of_move(
        dma_engine_name(inner_level, outer_level),
        TransferEnd(0, sizes, _contiguous_strides(sizes, item)),
        TransferEnd(0, sizes, tuple(along)),
        item,
        RowIndices(
            TransferEnd(0, sizes, tuple(index_strides)),
            index_bytes,
            inner_level,
            strides[op.scatter_axis],
            is_scatter=True,
            is_accumulating=bool(op.is_scatter_add),
        ),
    )


def gather_move_cost_of(
    costs: InstructionCosts,
    op: IndexedReadInterface,
    shape: Sequence[int],
    inner_level: str,
    outer_level: str,
) -> Cost:
    """
    Return the cost of moving a box of a result to an inner level, by indices in that
    level.
    """
    source, index_operand = tensor_type(op.operands[0]), op.indices_operand_index
    indices = tensor_type(op.operands[index_operand])
    result = op.result_indexing_maps()[0]
    item, index_bytes = (
        dtype_of(each.element_type).itemsize for each in (source, indices)
    )
    strides = _contiguous_strides(source.get_shape(), item)
    sizes = tuple(shape)
    return costs.cost_of_move(
        dma_engine_name(outer_level, inner_level),
        TransferEnd(
            0, sizes, _operand_strides_of(op.indexing_maps()[0], result, strides)
        ),
        TransferEnd(0, sizes, _contiguous_strides(sizes, item)),
        item,
        RowIndices(
            TransferEnd(
                0,
                sizes,
                _index_strides_of(op, index_operand, result, sizes, index_bytes),
            ),
            index_bytes,
            inner_level,
            strides[op.indexed_axis],
            is_scatter=False,
        ),
    )


def _contiguous_strides(shape: Sequence[int], item_bytes: int) -> tuple[int, ...]:
    return tuple(stride * item_bytes for stride in row_major_strides(shape))


def _index_strides_of(
    op: IndexedReadInterface,
    operand_index: int,
    result_map: Accesses,
    sizes: Sequence[int],
    item_bytes: int,
) -> tuple[int, ...]:
    """Return the byte strides of the indices of a box of the result."""
    accesses = op.indexing_maps()[operand_index]
    extent = {
        access.terms[0][0]: n for access, n in zip(result_map, sizes, strict=True)
    }
    shape = [prod(extent[each] for each, _ in e.terms) for e in accesses or ()]
    return _operand_strides_of(
        accesses, result_map, _contiguous_strides(shape, item_bytes)
    )


def _operand_strides_of(
    operand_map: Accesses | None, result_map: Accesses, strides: Sequence[int]
) -> tuple[int, ...]:
    """Return the byte strides of an operand along each axis of a result."""
    steps: dict[int, int] = {}
    for access, stride in zip(operand_map or (), strides, strict=True):
        for iterator, factor in access.terms:
            steps[iterator] = steps.get(iterator, 0) + factor * stride
    return tuple(steps.get(access.terms[0][0], 0) for access in result_map)
