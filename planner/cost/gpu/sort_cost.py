"""Cost model of sorts on GPUs: as sorting networks of tiles or as comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tlf.dialects.argsort_operation import is_sortable_in_words
from tlf.dialects.sort_interface import SortInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.settings.gpu_calibration import SORTS


@dataclass(frozen=True)
class SortCost:
    """
    Cost comparison of sorts by a network of exchanges in a tile, or by comparisons of
    all pairs of elements.
    """

    chip: Chip
    longest_extent: int

    @staticmethod
    def from_target(target: TargetSpec) -> SortCost | None:
        """Return the costs of a target, or `None` if it does not sort tiles."""
        chip = Chip.from_target(target)
        if chip is None or not target.sortable_extent:
            return None
        return SortCost(chip, target.sortable_extent)

    def is_network_cheaper(self, op: Operation) -> bool:
        """
        Return `True` if a network takes less time, and a tile has room for a row or for
        the first elements of two chunks of it.
        """
        if not isinstance(op, SortInterface):
            return False
        operand = tensor_type(op.operands[0])
        extent = op.sorted_extent
        if not is_sortable_in_words(operand.element_type):
            return False
        if extent > self.longest_extent:
            return 2 * op.result_extent <= self.longest_extent
        rows = operand.element_count() // extent
        rate = self.chip.lane_rate * self.chip.processors
        steps = rows * _network_steps(extent, op.result_extent)
        compared_steps = rows * _comparison_steps(extent, op.result_extent)
        return self.chip.gpu.launch + steps / rate < compared_steps / rate

    def find_chunk_extent(self, op: SortInterface) -> int | None:
        """
        Return the extent of the chunks in which a long axis is sorted: the least power
        of two of which one tile has room for the first elements of all chunks, or the
        greatest. None if the axis need not be divided.
        """
        if op.sorted_extent <= self.longest_extent:
            return None
        chunk = 1 << (2 * op.result_extent - 1).bit_length()
        while 2 * chunk <= self.longest_extent:
            candidates = -(-op.sorted_extent // chunk) * op.result_extent
            if candidates <= self.longest_extent and chunk >= SORTS.least_chunk:
                break
            chunk *= 2
        return chunk


def _network_steps(extent: int, result_extent: int) -> int:
    """
    Return the lane steps of sorting one row by a bitonic network. If only the first
    elements are needed, parts of their number are sorted, and half of the elements
    remain after each merge of two parts.
    """
    levels, sorted_levels = (
        max(1, (each - 1).bit_length()) for each in (extent, result_extent)
    )
    stages = sorted_levels * (sorted_levels + 1) // 2
    if sorted_levels < levels:
        stages += sorted_levels
    return SORTS.exchange_steps * stages << levels


def _comparison_steps(extent: int, result_extent: int) -> int:
    """Return the lane steps of ranking all elements, and selecting them by rank."""
    ranked = SORTS.ranking_steps * extent
    return (ranked + SORTS.selection_steps * result_extent) * extent
