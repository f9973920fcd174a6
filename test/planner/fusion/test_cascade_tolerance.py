"""One loop may be slower than separate groups by the time of the moves it saves."""

from collections.abc import Sequence

import pytest
from gpu_programs import H200, parsed
from xdsl.dialects import func

from tlf.analysis.tiling.group_analysis import group_members_of
from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.planner.estimator_selection import select_estimator
from tlf.planner.fusion.cascade_fusion import CascadeFusion
from tlf.planner.settings.search_budgets import PARTITION


def scores(queries: int, depth: int) -> str:
    """The greatest scores of queries, which are products of a depth."""
    left, right, result = f"{queries}x{depth}xf32", f"{depth}x512xf32", f"{queries}xf32"
    both = f"tensor<{queries}x512xf32>"
    return f"""
func.func @f(%q: tensor<{left}>, %k: tensor<{right}>) -> tensor<{result}> {{
  %s = graph.matmul %q, %k : (tensor<{left}>, tensor<{right}>) -> {both}
  %m = graph.reduce %s <max> axes [1] : ({both}) -> tensor<{result}>
  func.return %m : tensor<{result}>
}}"""


def operations_of(text: str) -> Sequence[TilingInterface]:
    """Operations of the function of a program."""
    function = parsed(text).body.block.first_op
    assert isinstance(function, func.FuncOp)
    return [op for op in function.body.block.ops if isinstance(op, TilingInterface)]


@pytest.mark.parametrize(("depth", "is_whole"), [(16, True), (8192, False)])
def test_slower_loops_save_moves(depth: int, is_whole: bool):
    operations = operations_of(scores(4096, depth))
    estimator = select_estimator(H200, H200.tile_levels[0])
    assert estimator is not None
    fusion = CascadeFusion(H200, estimator)
    products = [op for op in operations if isinstance(op, ContractionInterface)]
    others = [op for op in operations if op not in products]

    cost = fusion.fusion_cost_of(group_members_of(operations), [products, others])

    assert 0 < cost.tolerance <= PARTITION.cascade_slowdown
    assert (cost.tolerance == PARTITION.cascade_slowdown) == is_whole
