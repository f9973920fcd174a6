"""
Traps on faults that hardware would silently get wrong, and on nothing that is sound.
"""

from collections.abc import Callable

import numpy as np
import pytest

from tlf.runtime.npu import NPUTrap, Report, parse, run

Simulate = Callable[..., Report]

X = np.arange(16, dtype=np.float32)

COPY = "vector copy dst=L1[512](4):f32 a=L1[0](4):f32 shape=(16)"


def traps(machine: str, code: str) -> NPUTrap:
    """Run with 16 floats in each level at address 0; return the trap."""
    text = machine
    for level in ("L1", "L2", "L3"):
        text += f".input x{level} {level} 0 f32 16\n"
    program = parse(text + ".code\n" + code + "\nhalt\n")
    with pytest.raises(NPUTrap) as caught:
        run(program, {f"x{level}": X for level in ("L1", "L2", "L3")})
    return caught.value


@pytest.mark.parametrize(
    ("code", "reason", "address"),
    [
        (
            "vector copy dst=L1[64](4):f32 a=L2[0](4):f32 shape=(4)",
            "expected an operand in L1, got L2",
            0,
        ),
        (
            "matmul c=L2[64](4,4):f32 a=L1[0](4,4):f32 b=L1[0](4,4):f32 "
            "batch=() m=(2) n=(1) k=(1)",
            "expected an operand in L1, got L2",
            64,
        ),
        (
            "vector fill dst=L1[262140](4):f32 a=#0 shape=(2)",
            "L1[262140] to L1[262148] is out of the capacity of 262144 bytes",
            262144,
        ),
        (
            "vector neg dst=L1[64](4):f32 a=L1[4](-4):f32 shape=(4)",
            "L1[-8] to L1[8] is out of the capacity of 262144 bytes",
            -8,
        ),
        (
            "dma dma_l3_l2 dst=L2[64](4) src=L3[-4](4) shape=(4) type=f32",
            "L3[-4] to L3[12] is out of the capacity",
            -4,
        ),
        (
            "vector neg dst=L1[64](4):f32 a=L1[2](4):f32 shape=(4)",
            "L1[2] and its strides are not multiples of the element size 4",
            2,
        ),
        (
            "vector neg dst=L1[64](6):f32 a=L1[0](4):f32 shape=(4)",
            "L1[64] and its strides are not multiples of the element size 4",
            64,
        ),
        (
            "vector neg dst=L1[64](4):f32 a=L1[48](4):f32 shape=(6)",
            "L1[64] was never written",
            64,
        ),
        (
            "reduce sum dst=L1[64](0):f32 a=L1[0](4):f32 shape=(4) axes=(0) accumulate",
            "L1[64] was never written",
            64,
        ),
        (
            "dma dma_l3_l2 dst=L2[64](16,4) src=L3[0](24,8) shape=(3,3) type=f32",
            "L3[64] was never written",
            64,
        ),
        (
            "vector fill dst=L1[64](4,4):f32 a=#0 shape=(2,2)",
            "elements of the destination overlap",
            64,
        ),
        (
            "dma dma_l3_l2 dst=L2[64](0) src=L3[0](4) shape=(4) type=f32",
            "elements of the destination overlap",
            64,
        ),
        (
            "vector neg dst=L1[4](4):f32 a=L1[0](4):f32 shape=(8)",
            "L1[4] is read and written in one instruction",
            4,
        ),
        (
            "vector add dst=L1[0](4):f32 a=L1[0](4):f32 b=L1[32](-4):f32 shape=(8)",
            "L1[4] is read and written in one instruction",
            4,
        ),
        (
            "matmul c=L1[0](4,4):f32 a=L1[0](4,4):f32 b=L1[32](4,4):f32 "
            "batch=() m=(2) n=(1) k=(1)",
            "L1[0] is read and written in one instruction",
            0,
        ),
        (
            "reduce max dst=L1[12](0):f32 a=L1[0](4):f32 shape=(4) axes=(0)",
            "L1[12] is read and written in one instruction",
            12,
        ),
        (
            "dma dma_l2_l1 dst=L1[64](4) src=L2[0](4) shape=(4) type=f32\n"
            "vector neg dst=L1[128](4):f32 a=L1[64](4):f32 shape=(4)",
            "L1[64] is still in use: `dma_l2_l1` writes it, and no wait orders that "
            "before (RAW); see line 17",
            64,
        ),
        (
            "vector neg dst=L1[128](4):f32 a=L1[0](4):f32 shape=(16)\n"
            "dma dma_l2_l1 dst=L1[48](4) src=L2[0](4) shape=(8) type=f32",
            "L1[48] is still in use: `vector` reads it, and no wait orders that before "
            "(WAR); see line 17",
            48,
        ),
        (
            "vector fill dst=L1[64](8):f32 a=#0 shape=(4)\n"
            "dma dma_l2_l1 dst=L1[68](4) src=L2[0](4) shape=(4) type=f32",
            "L1[72] is still in use: `vector` writes it, and no wait orders that "
            "before (WAW); see line 17",
            72,
        ),
        ("wait vector s3", "deadlock: no earlier instruction signals s3", None),
        ("loop %i = 0 to 4 step 0 {\n}", "expected a step of at least 1, got 0", None),
        ("%a = div 1 0", "integer division by zero", None),
        ("%a = rem 1 0", "integer division by zero", None),
        (
            "%a = mul 4611686018427387904 2",
            "9223372036854775808 does not fit in 64 bits",
            None,
        ),
        (
            "loop %i = 0 to 0 {\n%a = mov 1\n}\n%b = mov %a",
            "%a has no value yet",
            None,
        ),
        (
            "%n = mov -1\nvector fill dst=L1[64](4):f32 a=#0 shape=(%n)",
            "expected a size of at least 0, got -1",
            None,
        ),
        (
            "vector div dst=L1[64](4):i32 a=#1 b=#0 shape=(1)",
            "integer division by zero",
            None,
        ),
    ],
)
def test_trap(machine: str, code: str, reason: str, address: int | None):
    trap = traps(machine, code)
    assert reason in trap.reason
    assert trap.address == address
    assert f"line {trap.line}: `{trap.text}`: " in str(trap)
    lines = (code + "\nhalt").split("\n")
    assert trap.text == lines[trap.line - 17]


def test_luck_is_no_excuse(machine: str):
    """By the time of the second copy the data is long there, but nothing says so."""
    code = "dma dma_l2_l1 dst=L1[256](4) src=L2[0](4) shape=(4) type=f32\n"
    code += "vector exp dst=L1[512](4):f32 a=L1[0](4):f32 shape=(16)\n" * 20
    code += "vector neg dst=L1[512](4):f32 a=L1[256](4):f32 shape=(4)"
    assert "(RAW); see line 17" in traps(machine, code).reason


def test_a_signal_covers_only_what_is_before_it(machine: str):
    code = "signal dma_l2_l1 s0\nwait vector s0\n"
    code += "dma dma_l2_l1 dst=L1[0](4) src=L2[0](4) shape=(4) type=f32\n" + COPY
    assert "(RAW); see line 19" in traps(machine, code).reason


def test_a_second_round_needs_a_second_wait(machine: str):
    code = """loop %i = 0 to 2 {
dma dma_l2_l1 dst=L1[0](4) src=L2[0](4) shape=(16) type=f32
signal dma_l2_l1 s0
wait vector s0
vector neg dst=L1[512](4):f32 a=L1[0](4):f32 shape=(16)
}"""
    trap = traps(machine, code)
    assert trap.line == 18
    assert "(WAR); see line 21" in trap.reason


def test_output_not_written(machine: str):
    text = machine + ".output y L3 0 f32 4\n.code\nhalt\n"
    with pytest.raises(NPUTrap, match=r"output `y`: L3\[0\] was never written"):
        run(parse(text), {})


def test_order_is_transitive(simulate: Simulate):
    """dma to vector to matrix: the matrix engine never waits for the dma itself."""
    code = """
    dma dma_l2_l1 dst=L1[0](4) src=$x(4) shape=(16) type=f32
    signal dma_l2_l1 s0
    wait vector s0
    signal vector s1
    wait matrix s1
    matmul c=L1[64](16,4):f32 a=L1[0](16,4):f32 b=L1[0](16,4):f32 \
batch=() m=(4) n=(4) k=(4)
    signal matrix s2
    wait dma_l1_l2 s2
    dma dma_l1_l2 dst=$y(4) src=L1[64](4) shape=(16) type=f32"""
    report = simulate(code, {"x": X}, {"y": X}, level="L2")
    square = X.reshape(4, 4).astype(np.float64)
    assert np.array_equal(report.outputs["y"].reshape(4, 4), square @ square)


def test_interleaved_halves_do_not_overlap(simulate: Simulate):
    """Rows of 4 floats: the left halves are negated into the right ones, in place."""
    code = """
    vector copy dst=$y(4):f32 a=$x(4):f32 shape=(16)
    vector neg dst=L1[72](16,4):f32 a=$y(16,4):f32 shape=(4,2)
    vector add dst=$y(16,4):f32 a=$y(16,4):f32 b=$y(16,4):f32 shape=(4,2)"""
    got = simulate(code, {"x": X}, {"y": X}).outputs["y"].reshape(4, 4)
    wanted = X.reshape(4, 4)
    assert np.array_equal(got[:, 2:], -wanted[:, :2])
    assert np.array_equal(got[:, :2], 2 * wanted[:, :2])


def test_small_elements_keep_their_own_shadow(simulate: Simulate):
    """Bytes next to each other may be in use by different engines."""
    bits = np.ones(8, np.int8)
    code = """
    vector neg dst=$y(2):i8 a=L1[0](2):i8 shape=(4)
    dma dma_l2_l1 dst=L1[65](2) src=L2[0](1) shape=(4) type=i8 inside=(0:0) fill=3"""
    got = simulate(code, {"x": bits}, {"y": bits}).outputs["y"]
    assert got.tolist() == [-1, 3, -1, 3, -1, 3, -1, 3]
