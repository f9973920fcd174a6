"""Cycles, ports and traffic against formulae worked out by hand."""

import random
from collections.abc import Callable

import numpy as np
import pytest

from tlf.runtime.npu import Report, parse, run

Simulate = Callable[..., Report]

LOAD = "dma dma_l3_l2 dst=L2[0](4) src=L3[0](4) shape=(64) type=f32\n"
STORE = "dma dma_l2_l3 dst=L3[0](4) src=L2[0](4) shape=(64) type=f32\n"


def times(machine: str, code: str) -> Report:
    """Find the time of code that need not be sound."""
    text = machine + ".code\n" + code + "halt\n"
    report = run(parse(text), {}, functional=False, timeline=True)
    assert report.cycles >= report.bound
    return report


def starts(report: Report) -> list[tuple[str, int, int]]:
    return [(event.engine, event.start, event.end) for event in report.timeline]


def test_one_move(machine: str):
    """256 bytes at 8 per cycle after 1 cycle of issue; the data is there 100 later."""
    report = times(machine, LOAD)
    assert starts(report) == [("dma_l3_l2", 1, 33)]
    assert report.cycles == 133
    assert report.busy["dma_l3_l2"] == 32
    assert report.bounds["L3"] == 32
    assert report.seconds == pytest.approx(133 / 2e9)


def test_latency_is_pipelined(machine: str):
    assert times(machine, LOAD * 5).cycles == 1 + 5 * 32 + 100


def test_signal_goes_out_when_the_data_is_there(machine: str):
    code = LOAD + "signal dma_l3_l2 s0\nwait dma_l2_l3 s0\n" + STORE
    report = times(machine, code)
    assert starts(report)[1] == ("dma_l2_l3", 133, 165)
    assert report.cycles == 265


def test_signal_does_not_stop_the_queue(machine: str):
    report = times(machine, LOAD + "signal dma_l3_l2 s0\n" + LOAD)
    assert starts(report)[1] == ("dma_l3_l2", 33, 65)


def test_queues_share_a_channel(machine: str):
    """The bus of L3 is free at 33; the ends in L2 need 4 cycles each."""
    report = times(machine, LOAD + STORE)
    assert starts(report) == [("dma_l3_l2", 1, 33), ("dma_l2_l3", 33, 65)]
    assert report.stalls["dma_l2_l3"] == {"issue": 2, "L3": 31}
    assert report.bounds["L3"] == 64


def test_every_queue_has_a_port_of_other_levels(machine: str):
    report = times(machine.replace("shared=true", "shared=false"), LOAD + STORE)
    assert starts(report) == [("dma_l3_l2", 1, 33), ("dma_l2_l3", 2, 34)]
    assert "L3" not in report.bounds
    assert report.bounds["dma_l3_l2"] == report.bounds["dma_l2_l3"] == 32


def test_a_channel_serves_in_program_order(machine: str):
    """The store is first in the program; the loads come after it, ready or not."""
    code = "vector exp dst=L1[0](4):f32 a=L1[0](4):f32 shape=(160)\n"
    code += "signal vector s0\nwait dma_l2_l3 s0\n" + STORE + LOAD * 2
    report = times(machine, code)
    vector_end = 1 + 10 * 4
    store = vector_end + 3
    assert starts(report) == [
        ("vector", 1, vector_end),
        ("dma_l2_l3", store, store + 32),
        ("dma_l3_l2", store + 32, store + 64),
        ("dma_l3_l2", store + 64, store + 96),
    ]
    assert report.stalls["dma_l2_l3"] == {"issue": 3, "vector": store - 3}
    assert report.stalls["dma_l3_l2"] == {"issue": 5, "L3": store + 32 - 5}


def test_a_move_of_nothing_needs_no_channel(machine: str):
    """Only zeros are written, and only to L2."""
    nothing = LOAD.replace("type=f32", "type=f32 inside=(9:9)")
    report = times(machine, STORE + nothing)
    assert starts(report) == [("dma_l2_l3", 1, 33), ("dma_l3_l2", 2, 6)]


def test_matmul_cycles(machine: str):
    """Batches, whole passes of a 4 x 8 array, 19 steps of k, 4 cycles each in f32."""
    code = "matmul c=L1[0](4,4,4):f32 a=L1[0](4,4,4):f32 b=L1[0](4,4,4):f32 "
    code += "batch=(3) m=(5) n=(9) k=(19)\n"
    report = times(machine, code)
    assert report.busy["matrix"] == 3 * 2 * 2 * 19 * 4
    assert report.cycles == 1 + report.busy["matrix"] + 7
    assert report.bounds["matrix"] == -(-3 * 5 * 9 * 19 * 4 // 32)
    half = times(
        machine,
        code.replace(":f32", ":i8").replace("c=L1[0](4,4,4):i8", "c=L1[0](4,4,4):i32"),
    )
    assert half.busy["matrix"] == 3 * 2 * 2 * 19 // 2


@pytest.mark.parametrize(
    ("operation", "factor"),
    [("add", 1), ("div", 4), ("max", 1), ("and", 1)],
)
def test_vector_cycles(machine: str, operation: str, factor: int):
    dtype = "i32"
    code = f"vector {operation} dst=L1[0](20,4):{dtype} a=L1[0](20,4):{dtype} "
    code += f"b=L1[0](20,4):{dtype} shape=(7,5)\n"
    assert times(machine, code).busy["vector"] == 3 * factor


def test_reduce_cycles(machine: str):
    code = "reduce sum dst=L1[0](4,0):f32 a=L1[0](20,4):f32 shape=(7,5) axes=(1)\n"
    assert times(machine, code).busy["vector"] == 3


def test_startup_delays_results_not_work(machine: str):
    """Two operations of 4 cycles in a row; what waits for them waits 3 more."""
    code = "vector add dst=L1[0](4):f32 a=L1[0](4):f32 b=#1.0 shape=(64)\n" * 2
    code += "signal vector s0\nwait dma_l2_l3 s0\n" + STORE
    report = times(machine, code)
    assert starts(report) == [
        ("vector", 1, 5),
        ("vector", 5, 9),
        ("dma_l2_l3", 12, 44),
    ]


@pytest.mark.parametrize(
    ("settings", "cycles"),
    [
        ("", 2 * 2 * 19 * 4),
        ("pipelined=false", 2 * 2 * (4 + 8 - 2 + 19) * 4),
        ("dataflow=ws", 5 * 2 * 5 * 4),
        ("dataflow=is pipelined=false", 5 * 1 * (2 * 4 + 8 - 2 + 9) * 4),
    ],
)
def test_dataflows(machine: str, settings: str, cycles: int):
    """19 steps of k over 5 x 9 results, on 4 x 8 cells, 4 cycles per step in f32."""
    code = "matmul c=L1[0](4,4):f32 a=L1[0](4,4):f32 b=L1[0](4,4):f32 "
    code += "batch=() m=(5) n=(9) k=(19)\n"
    report = times(machine.replace("startup=7", f"startup=7 {settings}"), code)
    assert report.busy["matrix"] == cycles


def test_issue_limits_short_work(machine: str):
    """One instruction per cycle; a loop costs once, its scalar work every time."""
    code = "loop %i = 0 to 10 {\n%a = add %i 1\n%b = mul %a 2\n}\n"
    report = times(machine, code)
    assert report.cycles == 1 + 20 + 1
    assert report.instructions == {"scalar": 20, "loop": 1, "halt": 1}
    slow = times(machine.replace("issue_cycles=1", "issue_cycles=3"), code)
    assert slow.cycles == 3 * 22


@pytest.mark.parametrize(
    ("move", "payload", "bus_read", "bus_written"),
    [
        # 20 bytes from byte 28 touch two bursts of 32; in L2, from 4 on, 3 of 8.
        ("dst=L2[4](4) src=L3[28](4) shape=(5)", 20, 64, 24),
        # Rows of 64 bytes that follow each other are one run.
        ("dst=L2[0](64,4) src=L3[32](64,4) shape=(4,16)", 256, 256, 256),
        # Rows of 8 bytes, 40 apart: bursts at 0, 40-48, 80-88, 120-128, 160.
        ("dst=L2[0](8,4) src=L3[0](40,4) shape=(5,2)", 40, 160, 40),
        # Columns first: every element is a run of its own in L3.
        ("dst=L2[0](16,4) src=L3[0](4,64) shape=(4,4)", 64, 512, 64),
        # A repeated row is read once.
        ("dst=L2[0](32,4) src=L3[0](0,4) shape=(3,8)", 32, 32, 96),
        # Only what is inside is read.
        ("dst=L2[0](64,4) src=L3[0](64,4) shape=(4,16) inside=(1:3,0:8)", 64, 64, 256),
        ("dst=L2[0](4) src=L3[0](4) shape=(16) inside=(5:5)", 0, 0, 64),
    ],
)
def test_bursts(machine: str, move: str, payload: int, bus_read: int, bus_written: int):
    report = times(machine, f"dma dma_l3_l2 {move} type=f32\n")
    traffic = report.traffic["L3"], report.traffic["L2"]
    assert (traffic[0].read, traffic[0].bus_read) == (payload, bus_read)
    assert (traffic[0].written, traffic[1].read) == (0, 0)
    assert traffic[1].bus_written == bus_written
    cycles = max(-(-bus_read // 8), -(-bus_written // 64))
    assert report.busy["dma_l3_l2"] == cycles


def test_bursts_of_unaligned_runs_one_by_one(machine: str):
    """Against counting the bursts of every run."""
    generator = random.Random(5)
    for _ in range(100):
        base = 4 * generator.randrange(40)
        outer, inner = generator.randrange(1, 9), generator.randrange(1, 9)
        stride = 4 * generator.randrange(inner + 1, 40)
        code = f"dma dma_l3_l2 dst=L2[0]({4 * inner},4) src=L3[{base}]({stride},4) "
        code += f"shape=({outer},{inner}) type=f32\n"
        bursts = 0
        for row in range(outer):
            first = base + row * stride
            bursts += (first + 4 * inner - 1) // 32 - first // 32 + 1
        assert times(machine, code).traffic["L3"].bus_read == 32 * bursts


def tiles(count: int, buffers: int) -> str:
    """Load tiles of 640 floats from L2 and work on each, in so many buffers."""
    code = ""
    for buffer in range(buffers):
        code += f"signal vector s{buffer}\n"
    code += f"loop %i = 0 to {count} step {buffers} {{\n"
    for buffer in range(buffers):
        tile = f"L1[{2560 * buffer}](4)"
        code += f"""wait dma_l2_l1 s{buffer}
dma dma_l2_l1 dst={tile} src=L2[0](4) shape=(640) type=f32
signal dma_l2_l1 s{buffer + 4}
wait vector s{buffer + 4}
vector exp dst={tile}:f32 a={tile}:f32 shape=(640)
signal vector s{buffer}
"""
    return code + "}\n"


@pytest.mark.parametrize("count", [2, 6, 24])
def test_double_buffering(machine: str, count: int):
    """
    A tile takes 40 cycles to move, 10 to arrive, 160 to work on, 3 to be there. With
    one buffer all add up, with two only the first move and the last 3 cycles show.
    """
    text = machine + ".input x L2 0 f32 640\n.code\n"
    arrays = {"x": np.zeros(640, np.float32)}
    once = run(parse(text + tiles(count, 1) + "halt\n"), arrays)
    twice = run(parse(text + tiles(count, 2) + "halt\n"), arrays)
    assert once.cycles == 4 + count * (40 + 10 + 163)
    assert twice.cycles == 5 + 40 + 10 + count * 160 + 3
    assert twice.cycles < once.cycles
    assert twice.bound <= twice.cycles


def test_time_only_is_the_same_time(machine: str):
    text = machine + ".input x L2 0 f32 640\n.code\n" + tiles(8, 2) + "halt\n"
    arrays = {"x": np.zeros(640, np.float32)}
    full, short = (
        run(parse(text), arrays),
        run(parse(text), {}, functional=False),
    )
    assert (full.cycles, full.busy, full.traffic) == (
        short.cycles,
        short.busy,
        short.traffic,
    )


def test_no_program_beats_its_bounds(machine: str):
    """Random work on all engines at once, with waits here and there."""
    generator = random.Random(3)
    for _ in range(40):
        code, signals = "", 0
        for _ in range(40):
            size = generator.randrange(1, 300)
            name, source, target = generator.choice(
                [
                    ("dma_l3_l2", "L3", "L2"),
                    ("dma_l2_l3", "L2", "L3"),
                    ("dma_l2_l1", "L2", "L1"),
                    ("dma_l1_l2", "L1", "L2"),
                ]
            )
            kind = generator.randrange(5)
            if kind == 0 and signals:
                signals -= 1
                code += f"wait {name} s0\n"
            elif kind == 1:
                signals += 1
                code += f"signal {name} s0\n"
            elif kind == 2:
                tile = f"L1[0]({4 * size},4):f32"
                code += f"matmul c={tile} a={tile} b={tile} batch=() "
                code += f"m=({size % 13}) n=({size % 11}) k=({size})\n"
            elif kind == 3:
                code += f"vector exp dst=L1[0](4):f32 a=L1[0](4):f32 shape=({size})\n"
            else:
                offset = 4 * generator.randrange(16)
                code += f"dma {name} dst={target}[{offset}](4) src={source}[4](4) "
                code += f"shape=({size}) type=f32\n"
        report = times(machine, code)
        for engine, busy in report.busy.items():
            assert busy + sum(report.stalls[engine].values()) <= report.cycles


def test_peak_is_the_end_of_what_is_written(simulate: Simulate):
    code = "vector fill dst=L1[1000](8):f32 a=#0 shape=(3)"
    report = simulate(code, {}, {})
    assert report.peak == {"L3": 0, "L2": 0, "L1": 1020}
