"""Moves between levels, on random data."""

from collections.abc import Callable

import numpy as np
import pytest

from tlf.runtime.npu import Report, parse, run
from tlf.runtime.npu.dtypes import DTYPES, Array

Simulate = Callable[..., Report]


def random(dtype: str, seed: int, shape: tuple[int, ...]) -> Array:
    generator = np.random.default_rng(seed)
    if dtype == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    return (generator.standard_normal(shape) * 50).astype(DTYPES[dtype])


def there_and_back(machine: str, name: str, array: Array, move: str) -> Array:
    """Run a move from L3 to L2 at address 0, then move the result to an output."""
    (dtype,) = [key for key, value in DTYPES.items() if value == array.dtype]
    shape = "x".join(map(str, array.shape))
    text = machine + f".input {name} L3 0 {dtype} {shape}\n{move}halt\n"
    return run(parse(text), {name: array}).outputs["y"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("low", [-3, 0, 2, 9])
def test_padding(machine: str, dtype: str, low: int):
    """A box of 6 x 4 at an offset; what lies out of the 7 x 5 source is fill."""
    a = random(dtype, 1, (7, 5))
    size = a.itemsize
    move = f"""
.output y L3 4096 {dtype} 4x6
.code
  %i = mov {low}
  %base = mul %i {6 * size}
  %first = sub 0 %i
  %end = sub 7 %i
  %right = sub 5 %i
  dma dma_l3_l2 dst=L2[0]({4 * size},{size}) src=L3[%base]({5 * size},{size}) \
shape=(6, 4) type={dtype} inside=(%first:%end, %first:%right) fill=1
  signal dma_l3_l2 s0
  wait dma_l2_l3 s0
  dma dma_l2_l3 dst=L3[4096]({size},{6 * size}) src=L2[0]({4 * size},{size}) \
shape=(6,4) type={dtype}
"""
    got = there_and_back(machine, "a", a, move)
    wanted = np.ones((6, 4), a.dtype)
    for row in range(6):
        for col in range(4):
            if 0 <= row + low < 7 and 0 <= col + low < 5:
                wanted[row, col] = a[row + low, col + low]
    assert np.array_equal(got.T, wanted)


def test_every_bit_survives(machine: str):
    """NaNs with a payload and the sign of zero are moved as they are."""
    bits = np.array([0x7FC12345, 0x7F812345, 0x80000000, 0xFFFFFFFF], np.uint32)
    move = """
.output y L3 4096 f32 4
.code
  dma dma_l3_l2 dst=L2[0](4) src=L3[0](4) shape=(4) type=f32
  signal dma_l3_l2 s0
  wait dma_l2_l3 s0
  dma dma_l2_l3 dst=L3[4096](4) src=L2[0](4) shape=(4) type=f32
"""
    got = there_and_back(machine, "a", bits.view(np.float32), move)
    assert np.array_equal(got.view(np.uint32), bits)


def test_through_all_levels(machine: str):
    """A row repeated on its way in, and a dynamic number of rows on its way out."""
    a = random("f32", 1, (5,))
    move = """
.output y L3 4096 f32 3x5
.code
  dma dma_l3_l2 dst=L2[0](20,4) src=L3[0](0,4) shape=(4,5) type=f32
  signal dma_l3_l2 s0
  wait dma_l2_l1 s0
  dma dma_l2_l1 dst=L1[8](20,4) src=L2[0](20,4) shape=(4,5) type=f32
  signal dma_l2_l1 s1
  wait dma_l1_l2 s1
  dma dma_l1_l2 dst=L2[800](20,4) src=L1[8](20,4) shape=(4,5) type=f32
  signal dma_l1_l2 s2
  wait dma_l2_l3 s2
  loop %n = 0 to 4 step 3 {
    dma dma_l2_l3 dst=L3[4096](20,4) src=L2[800](20,4) shape=(%n,5) type=f32
  }
"""
    got = there_and_back(machine, "a", a, move)
    assert np.array_equal(got, np.tile(a, (3, 1)))


def test_addresses_beyond_32_bits(machine: str):
    """Only what is used takes memory: nothing here is large but the addresses."""
    text = machine.replace("capacity=17179869184", "capacity=1099511627776")
    text += """
.code
  loop %i = 0 to 3 {
    %at = mul %i 4294967296
    dma dma_l3_l2 dst=L2[0](4) src=L3[%at](4) shape=(8) type=f32
  }
halt
"""
    report = run(parse(text), {}, functional=False)
    assert report.traffic["L3"].read == 3 * 32
    assert report.outputs == {}


def test_constants_and_inputs_of_all_types(simulate: Simulate):
    for dtype in DTYPES:
        a = random(dtype, 4, (3, 1, 7))
        size = a.itemsize
        code = f"vector copy dst=$y({size}):{dtype} a=$a({size}):{dtype} shape=(21)"
        assert np.array_equal(simulate(code, {"a": a}, {"y": a}).outputs["y"], a)
