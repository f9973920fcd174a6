"""The search of tile sizes for kernels of a GPU."""

from gpu_programs import H200, members

from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator

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
