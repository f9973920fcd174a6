"""Cost model of the latency until the threads of a program have reduced a tile."""

from __future__ import annotations

from tlf.analysis.tiling.group_tiling import GroupTiling, TiledOperation
from tlf.planner.cost.gpu.compute_model import ComputeModel, MatrixProduct
from tlf.planner.cost.gpu.source_products import find_source_product


def reduction_latency_of(
    tiled: TiledOperation, tiling: GroupTiling, compute_model: ComputeModel, warps: int
) -> float:
    """Return the latency in cycles of the reduction of one tile in a program."""
    product = _find_reduced_product(tiled, tiling, compute_model)
    is_full_rate = product is not None and compute_model.is_full_rate_mma(product)
    if tiling.cascade is None and not is_full_rate:
        return compute_model.cross_warp_reduction_latency(tiled, warps)
    return compute_model.row_reduction_latency(tiled, warps, product)


def _find_reduced_product(
    tiled: TiledOperation, tiling: GroupTiling, compute_model: ComputeModel
) -> MatrixProduct | None:
    """
    Return the product from which elementwise operations compute the reduced values.
    """
    products = (find_source_product(tiling, each) for each in tiled.op.operands)
    return next(
        (compute_model.matrix_product_of(each) for each in products if each), None
    )
