"""The search of tile sizes for kernels of a GPU."""

import pytest
from gpu_programs import H200, members, product

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.kernel_model import KernelModel

LINES = """
func.func @f(%x: tensor<512x33x64xf32>, %w: tensor<64x128xf32>)
    -> tensor<512x33x128xf32> {
  %u = graph.im2col %x map affine_map<(n, p, k) -> (n, p, k)>
    basis [[512], [33], [64]] fill 0.0
    : (tensor<512x33x64xf32>) -> tensor<512x33x64xf32>
  %y = graph.contract %u, %w maps [affine_map<(n, p, f, k) -> (n, p, k)>,
    affine_map<(n, p, f, k) -> (k, f)>, affine_map<(n, p, f, k) -> (n, p, f)>]
    : (tensor<512x33x64xf32>, tensor<64x128xf32>) -> tensor<512x33x128xf32>
  func.return %y : tensor<512x33x128xf32>
}
"""
"""A product whose rows are 512 lines of 33 pixels."""


def test_tiles_that_exceed_an_axis_are_not_a_local_optimum():
    """Halves of a tile of 64 pixels compute as much padding, quarters do not."""
    _, group = members(LINES)
    estimator = GpuEstimator.create_for_level(H200, H200.levels["L1"])
    assert estimator is not None
    plan = estimator.find_plan(group)
    assert plan is not None
    pixels = plan.tile_sizes[1]
    assert -(-33 // pixels) * pixels <= 40


@pytest.mark.parametrize(
    "text", [LINES, product(512, 512, 512, "f32"), product(64, 256, 512, "f32")]
)
def test_bounds_exclude_only_sizes_that_are_not_chosen(
    monkeypatch: pytest.MonkeyPatch, text: str
):
    _, group = members(text)

    def find_best() -> tuple[object, int]:
        estimator = GpuEstimator.create_for_level(H200, H200.levels["L1"])
        assert estimator is not None
        candidates = estimator.evaluated_candidates_of(group)
        return estimator.find_plan(group), len(candidates)

    def bound_nothing(self: KernelModel, tiling: GroupTiling, *_: object) -> float:
        return 0.0

    plan, count = find_best()
    more = count
    bounds = (
        "min_cycles_with_resources_of",
        "min_cycles_with_moves_of",
        "min_cycles_of",
    )
    for bound in bounds:
        monkeypatch.setattr(KernelModel, bound, bound_nothing)
        coarse, more = find_best()
        assert plan == coarse
        assert count <= more
    assert count < more
