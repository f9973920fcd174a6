"""Every kind of trap names the instruction, and the place that it comes from."""

import numpy as np
import pytest

from tlf.runtime.npu import NPUTrap, parse, run

FILL = "vector fill dst=L1[64](4):f32 a=#1.0 shape=(16) ; model.mlir:3:5\n"

TRAPS = {
    "uninitialised read": (
        "vector neg dst=L1[64](4):f32 a=L1[512](4):f32 shape=(1) ; model.mlir:7:3",
        "L1[512] was never written",
    ),
    "overlap within an instruction": (
        FILL
        + "vector neg dst=L1[68](4):f32 a=L1[64](4):f32 shape=(4) ; model.mlir:7:3",
        "is read and written in one instruction",
    ),
    "overlap of a live buffer": (
        FILL + "dma dma_l2_l1 dst=L1[96](4) src=L2[0](4) shape=(4) type=f32 "
        "; model.mlir:7:3",
        "`vector` writes it, and no wait orders that before (WAW); "
        "see line 18 of model.mlir:3:5",
    ),
    "race": (
        FILL + "dma dma_l1_l2 dst=L2[512](4) src=L1[64](4) shape=(4) type=f32 "
        "; model.mlir:7:3",
        "(RAW); see line 18 of model.mlir:3:5",
    ),
    "deadlock": (
        "wait vector s0 ; model.mlir:7:3",
        "deadlock: no earlier instruction signals s0",
    ),
    "out of bounds": (
        "vector fill dst=L1[262140](4):f32 a=#0 shape=(2) ; model.mlir:7:3",
        "is out of the capacity of 262144 bytes",
    ),
    "misalignment": (
        "vector fill dst=L1[2](4):f32 a=#0 shape=(2) ; model.mlir:7:3",
        "are not multiples of the element size 4",
    ),
}


def trap(machine: str, code: str, *, exactly_once: bool = False) -> NPUTrap:
    text = (
        f"{machine}.input x L2 0 f32 16\n.output y L3 256 f32 16\n.code\n\n\n{code}\n"
    )
    program = parse(text + "halt\n")
    x = np.arange(16, dtype=np.float32)
    with pytest.raises(NPUTrap) as caught:
        run(program, {"x": x}, exactly_once=exactly_once)
    return caught.value


@pytest.mark.parametrize(("code", "reason"), TRAPS.values(), ids=TRAPS)
def test_traps_name_the_source(machine: str, code: str, reason: str):
    found = trap(machine, code)
    instruction = code.splitlines()[-1].partition(" ;")[0]
    assert found.origin == "model.mlir:7:3"
    assert found.text == instruction
    assert str(found).startswith(
        f"line {found.line} of model.mlir:7:3: `{instruction}`"
    )
    assert reason in str(found)


def test_other_comments_are_no_origin(machine: str):
    found = trap(machine, "wait vector s0 ; at 10:30 in the morning")
    assert found.origin is None
    assert str(found).startswith(f"line {found.line}: `wait vector s0`")


STORE = (
    "dma dma_l2_l3 dst=L3[256](4) src=L2[0](4) shape=(16) type=f32 ; model.mlir:1:1\n"
)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            STORE + "dma dma_l2_l3 dst=L3[316](8) src=L2[0](4) shape=(2) type=f32",
            "L3[316] of output `y` is written twice; see line 18 of model.mlir:1:1",
        ),
        (
            STORE + "signal dma_l2_l3 s0\nwait dma_l3_l2 s0\n"
            "dma dma_l3_l2 dst=L2[64](4) src=L3[252](4) shape=(2) type=f32 "
            "inside=(1:2)",
            "L3[256] of output `y` is read",
        ),
    ],
)
def test_exactly_once(machine: str, code: str, reason: str):
    assert reason in str(trap(machine, code, exactly_once=True))


@pytest.mark.parametrize("exactly_once", [False, True])
def test_an_output_on_an_input_may_be_read(machine: str, exactly_once: bool):
    """Before it is written; next to an output anything may be written any time."""
    move = "dma dma_l3_l2 dst=L2[0](4) src=L3[256](4) shape=(16) type=f32\n"
    order = "signal dma_l3_l2 s0\nwait dma_l2_l3 s0\n"
    aside = "dma dma_l2_l3 dst=L3[128](4) src=L2[0](4) shape=(32) type=f32\n"
    text = f"{machine}.input x L3 256 f32 16\n.output y L3 256 f32 16\n.code\n{move}"
    text += order + (aside.replace("(32)", "(16)") * 2) + STORE + "halt\n"
    x = np.arange(16, dtype=np.float32)
    report = run(parse(text), {"x": x}, exactly_once=exactly_once)
    assert report.outputs["y"].tolist() == x.tolist()
