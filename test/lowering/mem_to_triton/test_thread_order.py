"""Order in which the threads of a program access the elements of a tile."""

from collections.abc import Callable

import numpy as np
import pytest

from tlf.lowering.mem_to_triton.thread_order import (
    DimStep,
    find_thread_order,
)
from tlf.runtime import triton
from tlf.runtime.triton.launch_plan import Plan
from tlf.support.affine.axis_orders import inverse_order

PIXELS = """
func.func @f(%x: memref<8x7x7xf32, "L3">, %y: memref<8x32xf32, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %v = mem.im2col %x[0, 0] map affine_map<(c, h, w) -> (c, h, w)>
      basis [[8], [{basis}]] size [8, 32]
      : memref<8x7x7xf32, "L3"> -> tensor<8x32xf32>
  mem.store %v to %y[0, 0] : tensor<8x32xf32> to memref<8x32xf32, "L3">
  func.return
}}"""


def test_threads_fill_the_dim_of_least_step_first():
    steps = {0: DimStep(49), 2: DimStep(2), 3: DimStep(7)}
    assert find_thread_order([4, 1, 8, 8], steps, 4) == [2, 3, 0, 1]


def test_other_dims_are_in_the_order_of_steps_if_contiguous_elements_are_few():
    steps = {0: DimStep(1024), 1: DimStep(1, 2), 3: DimStep(2)}
    assert find_thread_order([4, 2, 1, 16], steps, 4) == [3, 0, 1, 2]
    assert find_thread_order([4, 2, 1, 16], steps, 16) is None


@pytest.mark.parametrize(
    "steps",
    [
        {0: DimStep(49), 2: DimStep(1, 8)},
        {0: DimStep(2), 2: DimStep(7)},
        {2: DimStep(3)},
    ],
)
def test_order_is_kept_if_threads_load_neighbours(steps: dict[int, DimStep]):
    assert find_thread_order([4, 1, 8], steps, 4) is None


def test_inverse_restores_the_dims():
    order = (2, 0, 3, 1)
    inverse = inverse_order(order)
    assert [order[dim] for dim in inverse] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("basis", "is_permuted"), [("7, 7", True), ("6, 8", False), ("49", False)]
)
def test_pixels_of_odd_rows_are_loaded_first(
    basis: str, is_permuted: bool, plan_of: Callable[[str], Plan]
):
    text = PIXELS.format(basis=basis)
    if basis == "49":
        text = text.replace("7x7x", "49x").replace("(c, h, w)", "(c, w)")
    (kernel,) = plan_of(text).kernels
    assert ("tl.permute" in kernel.source) == is_permuted


SHUFFLE = """
func.func @f(%x: memref<8x8x4x2xf32, "L3">, %y: memref<4x8x8x2xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %v = mem.load %x[0, 0, 0, 0] size [8, 8, 4, 2]
      : memref<8x8x4x2xf32, "L3"> -> tensor<8x8x4x2xf32>
  %w = mem.map ins(%v : tensor<8x8x4x2xf32>) domain [4, 8, 8, 2]
      maps [affine_map<(a, b, c, d) -> (b, c, a, d)>,
            affine_map<(a, b, c, d) -> (a, b, c, d)>] {
  ^bb0(%e: f32):
    mem.yield %e : f32
  } -> tensor<4x8x8x2xf32>
  mem.store %w to %y[0, 0, 0, 0] : tensor<4x8x8x2xf32> to memref<4x8x8x2xf32, "L3">
  func.return
}"""


def test_pairs_are_stored_along_rows(
    plan_of: Callable[[str], Plan], compile_plan: Callable[[Plan], None]
):
    plan = plan_of(SHUFFLE)
    assert "tl.store(tl.permute(" in plan.kernels[0].source
    x = np.random.default_rng(0).standard_normal((8, 8, 4, 2)).astype(np.float32)
    (found,) = triton.run(plan, {"x": x}).values()
    np.testing.assert_array_equal(found, x.transpose(2, 0, 1, 3))
    compile_plan(plan)
