"""
Moves of `mem`, interpreted and on the simulated NPU: bounds, and the waits for them.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from mem_programs import memref, wrapped
from numpy.typing import NDArray
from xdsl.utils.exceptions import InterpretationError

from tlf.runtime.npu import NPUTrap, Report

Array = NDArray[np.generic]
Interpret = Callable[[str, Sequence[Array]], None]
Simulate = Callable[[str, Sequence[Array]], Report]
Check = Callable[[str, Sequence[Array], Sequence[Array], float], None]


FAR, MID = (memref((8, 6), "f32", level) for level in ("L3", "L2"))


def moving(
    before: Sequence[str], offset: int, moves: Sequence[str], results: int
) -> str:
    """
    A program of three buffers, of which so many are results: some lines, and moves
    with an offset `%i` that is only known when their loop runs.
    """
    loop = [
        f"%i0 = arith.constant {offset} : index",
        f"%i1 = arith.constant {offset + 1} : index",
        "%d = arith.constant 1 : index",
        "scf.for %i = %i0 to %i1 step %d {",
        *moves,
        "}",
    ]
    text = wrapped([((8, 6), "f32")] * 3, results, "")
    return text.replace("func.return", "\n".join([*before, *loop, "func.return"]))


@pytest.mark.parametrize("offset", [-9, -4, -1, 0, 2, 6, 9])
def test_move_across_both_bounds(offset: int, check_mem: Check) -> None:
    """A box that sticks out of the source is filled, out of the destination cut."""
    x = np.random.default_rng(7).standard_normal((8, 6)).astype(np.float32)
    moves = [
        f"%p = mem.dma %x0[%i, -1] to %w[0, 0] size [8, 6] fill 7.0 : {FAR} to {MID}",
        "mem.wait %p",
        f"%q = mem.dma %w[0, 0] to %y1[0, 0] size [8, 6] : {MID} to {FAR}",
        "mem.wait %q",
        f"%r = mem.dma %w[1, 0] to %y2[%i, 2] size [7, 6] : {MID} to {FAR}",
        "mem.wait %r",
    ]
    text = moving([f"%w = mem.alloc : {MID}"], offset, moves, 2)
    padded = np.full((40, 40), 7, np.float32)
    padded[16:24, 16:22] = x
    moved = padded[16 + offset : 24 + offset, 15:21]
    wide = np.zeros((40, 40), np.float32)
    wide[16 + offset : 23 + offset, 18:24] = moved[1:]
    inputs = [x, np.zeros_like(x), np.zeros_like(x)]
    check_mem(text, inputs, [moved, wide[16:24, 16:22]], 0)


@pytest.mark.parametrize("offset", [-9, -3, 0, 5, 9])
def test_a_clipped_move_across_both_bounds(offset: int, check_mem: Check) -> None:
    """Neither what the source nor what the destination has not is moved."""
    x, y = np.random.default_rng(7).standard_normal((2, 8, 6)).astype(np.float32)
    before = [
        f"%w = mem.alloc : {MID}",
        f"%p = mem.dma %x0[0, 0] to %w[0, 0] size [8, 6] : {FAR} to {MID}",
        "mem.wait %p",
        f"%v = mem.alloc : {MID}",
        f"%o = mem.dma %x1[0, 0] to %v[0, 0] size [8, 6] : {FAR} to {MID}",
        "mem.wait %o",
        f"%n = mem.dma %v[0, 0] to %y2[0, 0] size [8, 6] : {MID} to {FAR}",
        "mem.wait %n",
    ]
    moves = [
        f"%q = mem.dma %w[%i, -1] to %y2[2, 1] size [9, 5] clipped : {MID} to {FAR}",
        "mem.wait %q",
    ]
    text = moving(before, offset, moves, 1)
    expected = y.copy()
    for row in range(max(offset, 0), min(offset + 6, 8)):
        expected[row - offset + 2, 2:6] = x[row, :4]
    check_mem(text, [x, y, np.zeros_like(x)], [expected], 0)


MOVES = """
func.func @main(%x: memref<64xf32, "L3">, %y: memref<64xf32, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %b = mem.alloc : memref<64xf32, "L2">
  %t = mem.dma %x[0] to %b[0] size [64] : memref<64xf32, "L3"> to memref<64xf32, "L2">
  {wait}
  %u = mem.dma %b[0] to %y[0] size [64] : memref<64xf32, "L2"> to memref<64xf32, "L3">
  mem.wait %u
  func.return
}}
"""


def test_a_missing_wait_traps(interpret_mem: Interpret, simulate_mem: Simulate) -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    simulate_mem(MOVES.format(wait="mem.wait %t"), [x])
    with pytest.raises(NPUTrap, match="no wait orders that before"):
        simulate_mem(MOVES.format(wait=""), [x])
    with pytest.raises(InterpretationError, match="was read before its wait"):
        interpret_mem(MOVES.format(wait=""), [x, y])


PREFETCH = """
func.func @main(%x: memref<40x8xf32, "L3">, %y: memref<40x8xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c36 = arith.constant 36 : index
  %b = mem.alloc : memref<2x4x8xf32, "L2">
  %even = memref.reinterpret_cast %b to offset: [0], sizes: [4, 8], strides: [8, 1]
      : memref<2x4x8xf32, "L2"> to memref<4x8xf32, "L2">
  %t0 = mem.dma %x[0, 0] to %even[0, 0] size [4, 8]
      : memref<40x8xf32, "L3"> to memref<4x8xf32, "L2">
  %last = scf.for %i = %c0 to %c36 step %c4 iter_args(%t = %t0) -> (!mem.token) {
    mem.wait %t
    %slot = affine.apply affine_map<(d0) -> ((d0 floordiv 4) mod 2)> (%i)
    %other = affine.apply affine_map<(d0) -> (1 - d0)> (%slot)
    %now = memref.subview %b[%slot, 0, 0] [1, 4, 8] [1, 1, 1]
        : memref<2x4x8xf32, "L2"> to memref<4x8xf32, strided<[8, 1], offset: ?>, "L2">
    %next = memref.subview %b[%other, 0, 0] [1, 4, 8] [1, 1, 1]
        : memref<2x4x8xf32, "L2"> to memref<4x8xf32, strided<[8, 1], offset: ?>, "L2">
    %j = affine.apply affine_map<(d0) -> (d0 + 4)> (%i)
    %t1 = mem.dma %x[%j, 0] to %next[0, 0] size [4, 8] : memref<40x8xf32, "L3">
        to memref<4x8xf32, strided<[8, 1], offset: ?>, "L2">
    %u = mem.dma %now[0, 0] to %y[%i, 0] size [4, 8]
        : memref<4x8xf32, strided<[8, 1], offset: ?>, "L2"> to memref<40x8xf32, "L3">
    mem.wait %u
    scf.yield %t1 : !mem.token
  }
  mem.wait %last
  %odd = memref.reinterpret_cast %b to offset: [32], sizes: [4, 8], strides: [8, 1]
      : memref<2x4x8xf32, "L2"> to memref<4x8xf32, strided<[8, 1], offset: 32>, "L2">
  %v = mem.dma %odd[0, 0] to %y[36, 0] size [4, 8]
      : memref<4x8xf32, strided<[8, 1], offset: 32>, "L2"> to memref<40x8xf32, "L3">
  mem.wait %v
  func.return
}
"""


def test_a_loop_that_carries_the_token_of_the_next_move(check_mem: Check) -> None:
    x = np.random.default_rng(9).standard_normal((40, 8)).astype(np.float32)
    check_mem(PREFETCH, [x], [x], 0)
