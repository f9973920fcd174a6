"""Cost model of indexed writes on GPUs: as combinations in memory or as comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from tlf.dialects.indexed_write_interface import CombinedWrites, IndexedWriteInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import dtype_of, tensor_type
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.settings.gpu_calibration import COMBINED_WRITES


@dataclass(frozen=True)
class CombinedWriteCost:
    """
    Cost comparison of indexed writes by combinations in memory, in any order, or by
    comparisons of all indices with all positions.
    """

    chip: Chip

    @staticmethod
    def from_target(target: TargetSpec) -> CombinedWriteCost | None:
        """Return the costs of a target, or `None` if it does not combine in memory."""
        chip = Chip.from_target(target)
        if chip is None or not target.has_atomics:
            return None
        return CombinedWriteCost(chip)

    def is_combination_cheaper(self, op: Operation) -> bool:
        """
        Return `True` if an operation combines in memory, or takes less time if it does
        than by comparisons.
        """
        if not isinstance(op, IndexedWriteInterface):
            return False
        if op.combining_kind is not None:
            return True
        if (writes := op.combined_writes) is None:
            return False
        index_bytes = dtype_of(tensor_type(op.operands[1]).element_type).itemsize
        combined = self._combination_cycles(writes, index_bytes)
        return combined < self._comparison_cycles(writes)

    def _combination_cycles(self, writes: CombinedWrites, index_bytes: int) -> float:
        """
        Return the cycles of the kernel that initialises the table, and of that which
        combines it with the updates. Updates of one element follow each other.
        """
        updates, elements = prod(writes.update_shape), prod(writes.table_shape)
        item = dtype_of(writes.element_type).itemsize
        bandwidth = self.chip.memory.bandwidth
        initialised = 2 * elements * item / bandwidth
        loaded = updates * (item + index_bytes) / bandwidth
        combined = updates / min(self.chip.gpu.atomics, elements)
        launches = COMBINED_WRITES.kernels * self.chip.gpu.launch
        return launches + initialised + max(loaded, combined)

    def _comparison_cycles(self, writes: CombinedWrites) -> float:
        """Return the cycles of the comparisons of each index with each position."""
        positions = writes.table_shape[writes.scatter_axis]
        steps = prod(writes.update_shape) * positions * COMBINED_WRITES.comparison_steps
        return steps / (self.chip.lane_rate * self.chip.processors)
