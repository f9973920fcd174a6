"""
Elements further than 2**31 from the start of a tensor, which 32 bits do not reach.

The tensors are of `numpy.zeros`: only the pages that are touched take memory.
"""

from collections.abc import Callable

import numpy as np
import pytest
from differential import compiled_text

from tlf.runtime import triton
from tlf.runtime.triton.launch_plan import Plan

FAR = (3, 30_000, 30_000)
"""An i8 tensor of 2.7e9 elements."""

PLANE = FAR[1] * FAR[2]

WHOLE = f"tensor<{FAR[0]}x{FAR[1]}x{FAR[2]}xi8>"


def far_tensor() -> np.ndarray:
    """Zeros, but for the last rows and columns of each plane."""
    array = np.zeros(FAR, np.int8)
    corner = np.random.default_rng(0).integers(-100, 100, (3, 40, 40))
    array[:, -40:, -40:] = corner
    return array


def run(plan: Plan, x: np.ndarray) -> np.ndarray:
    (result,) = triton.run(plan, [x]).values()
    return np.asarray(result)


@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 3, 5)])
def test_a_part_beyond_32_bits(strides: tuple[int, int, int]):
    starts = (0, FAR[1] - 31, FAR[2] - 23)
    part = tuple(map(slice, starts, FAR, strides))
    x = far_tensor()
    shape = "x".join(map(str, x[part].shape))
    text = f"""
func.func @f(%x: {WHOLE}) -> tensor<{shape}xi8> {{
  %0 = graph.slice %x offsets {list(starts)} strides {list(strides)}
      : ({WHOLE}) -> tensor<{shape}xi8>
  %1 = graph.neg %0 : tensor<{shape}xi8>
  func.return %1 : tensor<{shape}xi8>
}}"""
    plan = triton.load_plan(compiled_text(text, "h200"))
    assert "int64" in plan.kernels[0].source
    np.testing.assert_array_equal(run(plan, x), -x[part])


def test_indices_beyond_32_bits():
    """Rows that indices name, of a table with more than 2**31 elements."""
    table, x = f"tensor<{FAR[0] * FAR[1]}x{FAR[2]}xi8>", far_tensor()
    rows = np.array([0, 29_999, 59_970, 89_999, 89_960], np.int32)
    text = f"""
func.func @f(%x: {table}, %i: tensor<5xi32>) -> tensor<5x16xi8> {{
  %0 = graph.slice %x offsets [0, 29984] strides [1, 1]
      : ({table}) -> tensor<90000x16xi8>
  %1 = graph.take %0, %i axis 0
      : (tensor<90000x16xi8>, tensor<5xi32>) -> tensor<5x16xi8>
  func.return %1 : tensor<5x16xi8>
}}"""
    plan = triton.load_plan(compiled_text(text, "h200"))
    flat = x.reshape(-1, FAR[2])
    (found,) = triton.run(plan, [flat, rows]).values()
    np.testing.assert_array_equal(np.asarray(found), flat[rows, 29984:])


HOST = f"""
func.func @f(%x: memref<{FAR[0]}x{FAR[1]}x{FAR[2]}xi8, "L3">,
             %y: memref<3x16xi8, "L3">) attributes {{tlf.results = 1 : i64}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %row = arith.constant {FAR[1] - 1} : index
  %column = arith.constant {FAR[2] - 16} : index
  "scf.parallel"(%c0, %c3, %c1) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%h: index):
    "scf.parallel"(%c0, %c16, %c16) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}>
    ({{
    ^bb0(%j: index):
      %v = mem.load %x[%h, %row, %column] size [1, 1, 16]
          : memref<{FAR[0]}x{FAR[1]}x{FAR[2]}xi8, "L3"> -> tensor<1x1x16xi8>
      %w = mem.map ins(%v : tensor<1x1x16xi8>) domain [1, 16]
          maps [affine_map<(d0, d1) -> (0, d0, d1)>,
                affine_map<(d0, d1) -> (d0, d1)>] {{
      ^bb1(%e: i8):
        mem.yield %e : i8
      }} -> tensor<1x16xi8>
      mem.store %w to %y[%h, %j] : tensor<1x16xi8> to memref<3x16xi8, "L3">
      scf.reduce
    }}) {{mapping = "grid"}} : (index, index, index) -> ()
    scf.reduce
  }}) {{mapping = "host"}} : (index, index, index) -> ()
  func.return
}}"""


def test_loops_of_the_host_beyond_32_bits(plan_of: Callable[[str], Plan]):
    """An index of the host is an argument, of 32 bits wherever it is small."""
    plan, x = plan_of(HOST), far_tensor()
    assert any("h0 + tl.full([], 0, tl.int64)" in k.source for k in plan.kernels)
    np.testing.assert_array_equal(run(plan, x), x[:, -1, -16:])


FOLDED = """
func.func @f(%x: memref<60000xi32, "L3">, %y: memref<60000xi32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %n = arith.constant 60000 : index
  "scf.parallel"(%c0, %n, %c32) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %far = affine.apply affine_map<(d0) -> ((d0 * 70000) floordiv 70000)> (%i)
    %v = mem.load %x[%far] size [32] : memref<60000xi32, "L3"> -> tensor<32xi32>
    mem.store %v to %y[%i] : tensor<32xi32> to memref<60000xi32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}"""


def test_what_is_large_on_the_way_only(plan_of: Callable[[str], Plan]):
    """The product is beyond 32 bits, and what is made of it is not."""
    plan, x = plan_of(FOLDED), np.arange(60_000, dtype=np.int32)
    np.testing.assert_array_equal(run(plan, x), x)
