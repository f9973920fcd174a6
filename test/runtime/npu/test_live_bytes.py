"""Live bytes of a memory over time, as a timeline shows them."""

import json
from pathlib import Path

import pytest
from differential import compiled_text

from tlf.runtime.npu import parse, run

EXAMPLES = Path(__file__).parents[3] / "examples"
BUFFERS = ".input x L3 0 f32 64\n.output y L3 1024 f32 64\n.code\n"
LOAD = "dma dma_l3_l2 dst=L2[{}](4) src=L3[0](4) shape=(64) type=f32\n"
STORE = "dma dma_l2_l3 dst=L3[1024](4) src=L2[{}](4) shape=({}) type=f32\n"


def counts(machine: str, code: str) -> dict[str, list[tuple[int, int]]]:
    program = parse(f"{machine}{BUFFERS}{code}halt\n")
    return run(program, {}, functional=False, timeline=True).live


def test_bytes_live_until_they_are_read(machine: str):
    """A move takes 32 cycles, and 100 more until it is done; one goes at a time."""
    live = counts(machine, LOAD.format(0) + STORE.format(0, 64))

    assert live["L2"] == [(1, 256), (165, 0)]
    assert live["L1"] == []
    assert "L3" not in live


def test_bytes_that_are_not_read_go_first(machine: str):
    live = counts(machine, LOAD.format(0) + STORE.format(0, 16))

    assert live["L2"] == [(1, 256), (133, 64), (141, 0)]


def test_bytes_that_are_written_anew_are_live_once(machine: str):
    code = LOAD.format(0) + STORE.format(0, 64) + LOAD.format(0) + LOAD.format(256)

    assert counts(machine, code)["L2"] == [(1, 256), (97, 512), (197, 256), (229, 0)]


def test_operands_and_sums_are_live_together(machine: str):
    matmul = (
        "matmul c=L1[0](16,4):f32 a=L1[64](16,4):f32 b=L1[128](16,4):f32 batch=() "
        "m=(4) n=(4) k=(4)"
    )
    found = counts(machine, f"{matmul}\n{matmul} accumulate\n")["L1"]

    assert [size for _, size in found] == [3 * 64, 0]


@pytest.mark.parametrize("example", ["rolling_bottleneck", "attention"])
def test_no_more_is_live_than_there_is_room_for(example: str):
    text = (EXAMPLES / f"{example}.mlir").read_text(encoding="utf-8")
    program = parse(compiled_text(text, "npu", search=False))
    report = run(program, {}, functional=False, timeline=True)

    assert set(report.live) == {"L1", "L2"}
    for level, found in report.live.items():
        sizes = [size for _, size in found]
        assert min(sizes) == sizes[-1] == 0
        assert 0 < max(sizes) <= program.machine.levels[level].capacity
    events = json.loads(report.trace())["traceEvents"]
    told = [each["args"]["bytes"] for each in events if each["name"] == "L2 live"]
    assert told == [size for _, size in report.live["L2"]]
