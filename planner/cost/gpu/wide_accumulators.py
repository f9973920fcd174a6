"""
Decision on the accumulators of a loop: a tile of partial results, which the threads
combine once after the loop, or results, for which they combine each tile.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlf.dialects.triton import WARP_SIZE
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION


def can_widen_accumulators(element_counts: Sequence[int], warps: int) -> bool:
    """
    Return `True` if the accumulators of a loop have room in the registers as tiles of
    partial results, given the elements of these tiles.
    """
    limit = TRITON_CALIBRATION.wide_accumulator_registers * WARP_SIZE * warps
    return 0 < sum(element_counts) <= limit
