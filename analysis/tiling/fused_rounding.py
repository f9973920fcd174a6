"""
Analysis of a tiled group: contraction results that a matrix instruction rounds itself.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import GroupTiling, is_same_box
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type


def contractions_by_fused_rounding(tiling: GroupTiling) -> dict[Operation, Operation]:
    """
    Return the contraction whose tiles are rounded, for each operation that only rounds.
    The contraction must not have a loop over its reduction, must have no other use, and
    its factors must have the type of the rounded result.
    """
    return {
        op: product
        for op, tiled in tiling.tiles.items()
        if tiled.facts.is_rounding_cast
        and isinstance(product := op.operands[0].owner, ContractionInterface)
        and product in tiling.tiles
        and is_fused_rounding(product, op)
        and product.results[0] not in tiling.results
        and not (product is tiling.anchor and tiling.inner_loops)
        and is_same_box(tiling.tiles[product].result, tiled.result)
    }


def is_fused_rounding(product: ContractionInterface, op: Operation) -> bool:
    """
    Return `True` if rounding is the only use of a product without an initial value, and
    the rounded type is the type of its factors.
    """
    element = tensor_type(product.operands[0]).element_type
    return (
        len(list(product.results[0].uses)) == 1
        and product.init_value is None
        and tensor_type(op.results[0]).element_type == element
    )
