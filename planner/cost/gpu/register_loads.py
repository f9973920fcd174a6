"""
Cost model of GPU loads through registers: operands of a tiled group that are too narrow
for asynchronous copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    count_elements_of_box,
)
from tlf.dialects.interfaces import AccumulatingInterface, ContractionInterface
from tlf.planner.cost.gpu.global_traffic import TrafficModel
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION


@dataclass(frozen=True)
class RegisterLoads:
    """Elements that each iteration of a reduction loads into registers."""

    factor_elements: int
    """Elements of factors of products, which wait for their loads."""
    other_elements: int

    @staticmethod
    def from_tiling(tiling: GroupTiling, traffic_model: TrafficModel) -> RegisterLoads:
        """
        Return the elements per iteration of a group's reduction that are loaded into
        registers because their accesses are too narrow.
        """
        counts = {True: 0, False: 0}
        if loads := list(_find_narrow_loads(tiling, traffic_model)):
            dependents = _accumulations_and_their_users(tiling)
            for value, count in loads:
                counts[_is_product_operand(tiling, dependents, value)] += count
        return RegisterLoads(counts[True], counts[False])


def _find_narrow_loads(
    tiling: GroupTiling, traffic_model: TrafficModel
) -> Iterator[tuple[SSAValue, int]]:
    """
    Yield the values that threads load with narrow accesses, with the elements of a
    tile.
    """
    for (value, scope), boxes in tiling.reads.items():
        if scope is not LoopLevel.OUTER:
            for box in boxes:
                if (
                    traffic_model.bytes_per_masked_access(value, box)
                    < TRITON_CALIBRATION.min_async_bytes
                ):
                    yield value, count_elements_of_box(box)
    for op in tiling.gathered_operations:
        tiled = tiling.tiles[op]
        if tiled.loop_level is not LoopLevel.INNER:
            continue
        if (
            traffic_model.bytes_per_gather_load(tiled)
            < TRITON_CALIBRATION.min_async_bytes
        ):
            yield op.results[0], count_elements_of_box(tiled.result)


def _is_product_operand(
    tiling: GroupTiling, dependents: AbstractSet[Operation], value: SSAValue
) -> bool:
    """
    Return `True` if a product reads a value, or one computed from it without the
    accumulating operations and their users, `dependents`.
    """
    pending, visited = [value], set[SSAValue]()
    while pending:
        each = pending.pop()
        if each in visited:
            continue
        visited.add(each)
        for use in each.uses:
            op = use.operation
            if op not in tiling.tiles:
                continue
            if isinstance(op, ContractionInterface):
                return True
            if op not in dependents:
                pending += op.results
    return False


def _accumulations_and_their_users(tiling: GroupTiling) -> set[Operation]:
    """Return the accumulating operations and all their transitive users."""
    users = set[Operation]()
    for op in tiling.tiles:
        depends = any(operand.owner in users for operand in op.operands)
        if depends or isinstance(op, AccumulatingInterface):
            users.add(op)
    return users
