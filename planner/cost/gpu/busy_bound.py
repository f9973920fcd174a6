"""Cost model of a GPU kernel: lower bound on the time that a chip is busy."""

from __future__ import annotations

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.work.flops_and_bytes import multiplication_type_of, size_in_bytes
from tlf.dialects.interfaces import ContractionInterface, MovementInterface
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.settings.gpu_calibration import LANE_PRODUCTS


def min_busy_cycles_of(members: GroupMembers, chip: Chip) -> float:
    """
    Return a lower bound on the busy cycles of a group on a whole chip, for any tiles:
    those of its products, and of moving its operands and results once. A movement may
    read only a part of its operand, which then does not count.
    """
    products = sum(
        _product_cycles_of(op, chip)
        for op in members.operations
        if isinstance(op, ContractionInterface)
    )
    computed = {result for op in members.operations for result in op.results}
    read = [
        operand
        for op in members.operations
        if not isinstance(op, MovementInterface)
        for operand in op.operands
        if operand not in computed
    ]
    moved = size_in_bytes((*read, *members.results))
    return max(products / chip.processors, moved / chip.memory.bandwidth)


def _product_cycles_of(op: ContractionInterface, chip: Chip) -> float:
    """
    Return the cycles of a product on one processor at the highest rate, with two
    operations per lane without matrix instructions for it.
    """
    lanes = 2 * chip.lanes * LANE_PRODUCTS.reached
    return op.flops() / (chip.matrix_rate(multiplication_type_of(op)) or lanes)
