"""
Cost model of NPU buffers: bytes that a product and the elementwise operations after it
need in the innermost memory for each of its results.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import (
    TEMPORARY_BYTES,
    GroupTiling,
    count_elements_of_box,
)
from tlf.dialects.types import itemsize_of
from tlf.planner.cost.npu.nest_prediction import Nests


def epilogue_bytes_per_result(
    tiling: GroupTiling, nests: Nests, product: Operation
) -> float:
    """
    Return the peak bytes of live values from a product to the end of its nest, or to
    the next product, divided by the number of its results. Elementwise operations
    overwrite dead operands of the same size.
    """
    operations = _operations_after_product(tiling, nests, product)
    last = {
        operand: index for index, op in enumerate(operations) for operand in op.operands
    }
    count = count_elements_of_box(tiling.tiles[product].result)
    live: dict[SSAValue, int] = {product.results[0]: count * TEMPORARY_BYTES}
    peak = sum(live.values())
    for index, op in enumerate(operations):
        tiled = tiling.tiles[op]
        for operand, box in zip(op.operands, tiled.reads, strict=True):
            if operand not in live and box is not None:
                live[operand] = count_elements_of_box(box) * itemsize_of(operand)
        dead = [each for each in live if last.get(each, index) <= index]
        result = op.results[0]
        size = count_elements_of_box(tiled.result) * itemsize_of(result)
        is_in_place = any(live[each] == size for each in dead)
        peak = max(peak, sum(live.values()) + (0 if is_in_place else size))
        for each in dead:
            del live[each]
        live[result] = size
    return peak / max(1, count)


def _operations_after_product(
    tiling: GroupTiling, nests: Nests, product: Operation
) -> Sequence[Operation]:
    """
    Return the operations of a product's nest that depend on it, up to the next product.
    """
    dependent: list[Operation] = []
    known: set[SSAValue] = {*product.results}
    for op, tiled in tiling.tiles.items():
        if nests.get(op) != nests[product] or known.isdisjoint(op.operands):
            continue
        if tiled.facts.is_product:
            break
        dependent.append(op)
        known.update(op.results)
    return dependent
