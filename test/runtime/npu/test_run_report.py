"""Report of a run, in numbers, as a table, as JSON and as a timeline."""

import json

import pytest

from tlf.machine.roofline_bounds import CompulsoryTraffic
from tlf.runtime.npu import Report, parse, run

LOAD = "dma dma_l3_l2 dst=L2[0](4) src=L3[0](4) shape=(64) type=f32\n"
STORE = "dma dma_l2_l3 dst=L3[0](4) src=L2[0](4) shape=(64) type=f32\n"

PRODUCT = """.input x L3 0 f32 16x16
.input unused L3 1024 f32 16x16
.output y L3 2048 f32 16x16
.code
loop %i = 0 to 2 {
  %a = mul %i 512
  dma dma_l3_l2 dst=L2[0](64,4) src=L3[%a](64,4) shape=(8,16) type=f32
  dma dma_l3_l2 dst=L2[0](64,4) src=L3[%a](64,4) shape=(8,16) type=f32 inside=(0:4,0:16)
  matmul c=L1[0](4,4):f32 a=L1[0](4,4):f32 b=L1[0](4,4):f32 batch=() m=(7) n=(7) k=(16)
  dma dma_l2_l3 dst=L3[%a+2048](64,4) src=L2[0](64,4) shape=(8,16) type=f32
}
halt
"""


def timed(text: str, timeline: bool = False) -> Report:
    return run(parse(text), {}, functional=False, timeline=timeline)


@pytest.fixture
def moves(machine: str) -> Report:
    return timed(f"{machine}.code\n{LOAD}{STORE}halt\n", timeline=True)


@pytest.fixture
def product(machine: str) -> Report:
    return timed(machine + PRODUCT)


def test_table(moves: Report):
    table = moves.table().splitlines()
    assert table[0] == "165 cycles, 0.083 us, lower bound 64 cycles (38.8%)"
    rows = [line.split() for line in table]
    assert ["dma_l3_l2", "32", "19.4%", "issue", "0.6%"] in rows
    assert ["dma_l2_l3", "32", "19.4%", "L3", "18.8%,", "issue", "1.2%"] in rows
    assert ["L3", "256", "256", "256", "256", "-", "-", "-", "-"] in rows
    assert "dma 2" in table[-1]


def test_trace(moves: Report):
    trace = json.loads(moves.trace())["traceEvents"]
    work = [event for event in trace if event["ph"] == "X"]
    assert [(event["ts"], event["dur"]) for event in work] == [(1, 32), (33, 32)]


def test_what_must_be_moved(product: Report):
    """An input that no move reads does not count; what is read twice counts once."""
    assert product.compulsory == {"L3": CompulsoryTraffic(1024, 1024)}
    assert product.traffic["L3"].read == 1024 + 512
    assert product.home == "L3"


def test_what_the_machine_needs(product: Report):
    """4 x 8 cells, 4 cycles for a step in f32, and 8 bytes per cycle in L3."""
    work = 2 * 7 * 7 * 16
    assert product.macs == work
    assert product.floor.memory == 2048 // 8
    assert product.floor.compute == work * 4 // 32
    assert product.floor.array == product.busy["matrix"] == 2 * 2 * 16 * 4
    assert product.floor.cycles == 256
    assert product.gap == product.cycles / 256
    assert product.intensity == work / (2048 + 512)
    assert product.ridge == 8 / 8
    table = product.table().splitlines()
    assert table[1].startswith("roofline bound: 256 cycles, memory 256, compute 196,")
    assert table[2].startswith("1,568 multiply-accumulates, 0.6 per byte of L3, ridge")
    assert table[2].endswith("at 1.0: memory-bound")
    assert any(line.split()[-2:] == ["1.25x", "1.25x"] for line in table)


def test_no_more_must_be_moved_than_is(machine: str):
    """A program that reads a part of its input."""
    part = machine + ".input x L3 0 f32 1000\n.code\n" + LOAD + "halt\n"
    assert timed(part).compulsory == {"L3": CompulsoryTraffic(256, 0)}


def test_irregular_programs_may_read_all(machine: str):
    text = machine + ".input x L3 0 f32 8\n.input y L3 32 f32 8\n.code\n"
    text += "%a = mov 0\nloop %i = 0 to 4 {\n"
    text += "dma dma_l3_l2 dst=L2[0](4) src=L3[%a](4) shape=(4) type=f32\n"
    text += "%a = add %a 16\n}\nhalt\n"
    assert timed(text).compulsory == {"L3": CompulsoryTraffic(64, 0)}


def test_json(product: Report):
    data = json.loads(product.json())
    assert data["cycles"] == product.cycles
    assert data["floor"]["cycles"] == 256
    assert data["traffic"]["L3"]["read"] == 1536
    assert data["stalls"]["matrix"] == product.stalls["matrix"]
