"""
Windows of ring buffers, interpreted and on the simulated NPU: every box of every window
at every place in the ring, also where source, window and ring all have ends.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from mem_programs import memref
from numpy.typing import NDArray

Array = NDArray[np.generic]
Check = Callable[[str, Sequence[Array], Sequence[Array], float], None]


@dataclass(frozen=True)
class Ring:
    """A ring of `slots` slices along an axis, and a window that starts somewhere."""

    shape: tuple[int, ...]
    axis: int
    slots: int
    extent: int

    @property
    def whole(self) -> tuple[int, ...]:
        return self._along(self.slots)

    @property
    def window(self) -> tuple[int, ...]:
        return self._along(self.extent)

    @property
    def type(self) -> str:
        """The type of the window."""
        names = [f"d{axis}" for axis in range(len(self.shape))]
        results = list(names)
        results[self.axis] = f"(d{self.axis} + s0) mod {self.slots}"
        map_ = f"affine_map<({', '.join(names)})[s0] -> ({', '.join(results)})>"
        return memref(self.window, "f32", "L2").replace(', "L2"', f', {map_}, "L2"')

    def offsets(self, along: str) -> str:
        texts = [along if axis == self.axis else "0" for axis in range(len(self.shape))]
        return f"[{', '.join(texts)}]"

    def _along(self, extent: int) -> tuple[int, ...]:
        shape = list(self.shape)
        shape[self.axis] = extent
        return tuple(shape)


def program(
    ring: Ring, starts: range, into: int, out_of: int, clipped: bool = False
) -> str:
    """
    In every iteration, move a box of `x` to `into` of a window that starts where the
    loop is, and back from `out_of` of it to a place of its own in `y`, over what is
    there if the move is clipped.
    """
    far, mid = memref(ring.shape, "f32", "L3"), memref(ring.whole, "f32", "L2")
    result = memref((len(starts), *ring.shape), "f32", "L3")
    strides = np.cumprod((1, *ring.shape[::-1]))[::-1].tolist()
    flat = memref(ring.shape, "f32", "L3").replace(
        ', "L3"', f', strided<{strides[1:]}, offset: ?>, "L3"'
    )
    size, zeros = f"size {list(ring.shape)}", ring.offsets("0")
    plain, rest = memref(ring.shape, "f32", "L2"), "clipped" if clipped else "fill 7.0"
    rows = f"[{', '.join(map(str, (1, *ring.shape)))}]"
    ones = f"[{', '.join('1' for _ in (1, *ring.shape))}]"
    count = f"affine_map<(i) -> ((i - {starts.start}) floordiv {starts.step})>"
    return f"""
func.func @main(%x: {far}, %y: {result}) attributes {{tlf.results = 1 : i64}} {{
  %first = arith.constant {starts.start} : index
  %last = arith.constant {starts.stop} : index
  %step = arith.constant {starts.step} : index
  %ring = mem.alloc : {mid}
  scf.for %i = %first to %last step %step {{
    %n = affine.apply {count} (%i)
    %w = mem.window %ring{ring.offsets("%i")} size {list(ring.window)} axis {ring.axis}
        : {mid} to {ring.type}
    %a = mem.dma %x{zeros} to %w{ring.offsets("0")} size {list(ring.window)} fill 1.0
        : {far} to {ring.type}
    mem.wait %a
    %t = mem.dma %x{zeros} to %w{ring.offsets(str(into))} {size} : {far} to {ring.type}
    mem.wait %t
    %v = memref.subview %y[%n, {zeros[1:-1]}] {rows} {ones} : {result} to {flat}
    %b = mem.alloc : {plain}
    %l = mem.dma %x{zeros} to %b{zeros} {size} : {far} to {plain}
    mem.wait %l
    %s = mem.dma %b{zeros} to %v{zeros} {size} : {plain} to {flat}
    mem.wait %s
    %u = mem.dma %w{ring.offsets(str(out_of))} to %v{zeros} {size} {rest}
        : {ring.type} to {flat}
    mem.wait %u
  }}
  func.return
}}"""


def expected(
    ring: Ring, x: Array, into: int, out_of: int, clipped: bool = False
) -> Array:
    """
    Return the values that one iteration moves: the same wherever the window starts.
    """
    axis, count = ring.axis, ring.shape[ring.axis]
    moved = np.moveaxis(x, axis, 0)
    window = np.ones((ring.extent, *moved.shape[1:]), x.dtype)
    for slot in range(min(count, ring.extent)):
        window[slot] = moved[slot]
    for slot in range(count):
        if 0 <= into + slot < ring.extent:
            window[into + slot] = moved[slot]
    result = moved.copy() if clipped else np.full_like(moved, 7)
    for slot in range(count):
        if 0 <= out_of + slot < ring.extent:
            result[slot] = window[out_of + slot]
    return np.moveaxis(result, 0, axis)


@pytest.mark.one_in(1)
@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_boxes_of_windows(seed: int, clipped: bool, check_mem: Check) -> None:
    generator = random.Random(seed)
    rank = generator.randint(1, 3)
    shape = tuple(generator.randint(1, 5) for _ in range(rank))
    slots = generator.randint(1, 6)
    ring = Ring(shape, generator.randrange(rank), slots, generator.randint(1, slots))
    step = generator.randint(1, 4)
    first = generator.choice([0, 0, 3, -5])
    starts = range(first, first + 3 * slots * step, step)
    into, out_of = generator.randint(-5, 5), generator.randint(-5, 5)
    x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    wanted = np.stack([expected(ring, x, into, out_of, clipped)] * len(starts))
    check_mem(program(ring, starts, into, out_of, clipped), [x], [wanted], 0)
