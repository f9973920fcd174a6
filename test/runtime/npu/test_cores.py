"""Programs of machines with several cores: values, order, time, traps."""

import random

import numpy as np
import pytest
from npu_loops import LoopWriter

from tlf.machine.instruction_costs import InstructionCosts
from tlf.runtime.npu import NPUParseError, NPUTrap, parse, run
from tlf.runtime.npu.dtypes import Array
from tlf.runtime.npu.timing_planner import TimingPlanner

DOUBLE = """\
wait dma_l2_l1 s0
cores %c {{
  %first = mul %c 4
  loop %i = %first to {count} step 16 {{
    %a = mul %i 4
    %n = sub {count} %i
    %n = min %n 4
    wait dma_l2_l1 s1
    dma dma_l2_l1 dst=L1[0](4) src=L2[%a](4) shape=(%n) type=f32
    signal dma_l2_l1 s2
    wait vector s2
    wait vector s4
    vector add dst=L1[64](4):f32 a=L1[0](4):f32 b=L1[0](4):f32 shape=(%n)
    signal vector s3
    signal vector s1
    wait dma_l1_l2 s3
    dma dma_l1_l2 dst=L2[%a+4096](4) src=L1[64](4) shape=(%n) type=f32
    signal dma_l1_l2 s4
  }}
}}
signal dma_l1_l2 s5
"""
"""Doubles what is in L2, 4 elements at a time, the cores in turn."""


def double(machine: str, count: int) -> str:
    return (
        machine
        + f".input x L3 0 f32 {count}\n.output y L3 4096 f32 {count}\n.code\n"
        + f"dma dma_l3_l2 dst=L2[0](4) src=L3[0](4) shape=({count}) type=f32\n"
        + "signal dma_l3_l2 s0\nsignal vector s1\nsignal dma_l1_l2 s4\n"
        + DOUBLE.format(count=count)
        + "wait dma_l2_l3 s5\n"
        + f"dma dma_l2_l3 dst=L3[4096](4) src=L2[4096](4) shape=({count}) type=f32\n"
        + "wait dma_l2_l3 s1\nwait dma_l2_l3 s4\nhalt\n"
    )


def numbers(count: int) -> Array:
    return np.arange(count, dtype=np.float32)


@pytest.mark.parametrize("count", [1, 4, 7, 16, 19, 33, 61, 64, 65])
def test_iterations_are_dealt_to_cores(many_cores: str, count: int):
    report = run(parse(double(many_cores, count)), {"x": numbers(count)})
    np.testing.assert_array_equal(report.outputs["y"], 2 * numbers(count))
    timed = run(parse(double(many_cores, count)), {}, functional=False)
    assert timed.cycles == report.cycles
    assert timed.busy == report.busy
    assert report.copies["matrix"] == 4
    assert report.copies["dma_l3_l2"] == 1


def test_one_core_does_all_of_it(machine: str):
    """The same text runs on a machine with one core, which has the number 0."""
    text = double(machine, 64).replace("step 16", "step 4")
    report = run(parse(text), {"x": numbers(64)})
    np.testing.assert_array_equal(report.outputs["y"], 2 * numbers(64))


def test_every_core_has_its_own_memory(many_cores: str):
    code = (
        ".output y L2 0 f32 4\n.code\ncores %c {\n"
        "vector fill dst=L1[0](4):f32 a=#1.0 shape=(1)\n"
        "loop %i = 0 to %c {\n"
        "vector add dst=L1[0](4):f32 a=L1[0](4):f32 b=#1.0 shape=(1)\n}\n"
        "signal vector s0\nwait dma_l1_l2 s0\n%a = mul %c 4\n"
        "dma dma_l1_l2 dst=L2[%a](4) src=L1[0](4) shape=(1) type=f32\n}\nhalt\n"
    )
    report = run(parse(many_cores + code), {})
    np.testing.assert_array_equal(report.outputs["y"], [1, 2, 3, 4])
    assert report.peak["L1"] == 4


def test_outside_of_cores_the_first_one_works(many_cores: str):
    code = (
        ".output y L1 0 f32 4\n.code\n"
        "vector fill dst=L1[0](4):f32 a=#1.0 shape=(4)\nhalt\n"
    )
    report = run(parse(many_cores + code), {}, timeline=True)
    assert [event.engine for event in report.timeline] == ["vector.0"]


def test_the_cores_share_the_bandwidth_of_a_level(many_cores: str):
    """Four moves of 64 bytes from L2, one by one through a port of 64 per cycle."""
    move = "dma dma_l2_l1 dst=L1[0](4) src=L2[0](4) shape=(1024) type=f32\n"
    alone = run(parse(f"{many_cores}.code\n{move}halt\n"), {}, functional=False)
    code = f".code\ncores %c {{\n{move}}}\nhalt\n"
    shared = run(parse(many_cores + code), {}, functional=False)
    assert alone.cycles == 1 + 64 + 10
    assert shared.cycles == 2 + 4 * 64 + 10
    assert shared.bounds["dma_l2_l1"] == 4 * 64
    assert shared.stalls["dma_l2_l1"]["L2"] == (1 + 2 + 3) * 64


def test_a_line_is_issued_once_for_all_cores(many_cores: str):
    work = "vector add dst=L1[0](4):f32 a=#1.0 b=#1.0:f32 shape=(160)\n"
    code = f".code\ncores %c {{\n{work}{work}}}\nhalt\n"
    report = run(parse(many_cores + code), {}, functional=False)
    assert report.cycles == 2 + 2 * 10 + 3
    assert report.instructions == {"cores": 1, "vector": 2, "halt": 1}
    assert report.busy["vector"] == 4 * 20
    assert report.bounds["vector"] == 20


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", range(150))
def test_random_loops(many_cores: str, seed: int):
    """Plans and a run step by step agree."""
    code = LoopWriter(random.Random(seed), cores=True).code()
    program = parse(f"{many_cores}.code\n{code}halt\n")
    TimingPlanner(program, InstructionCosts(program.machine)).plan_program()
    short = run(program, {}, functional=False)
    long = run(program, {}, functional=False, step_by_step=True)
    assert short == long


def test_a_million_iterations(many_cores: str):
    """Loops that have settled are skipped over here, too."""
    text = double(many_cores, 4_000_003).replace("4096", "67108864")
    text = text.replace("capacity=1048576", "capacity=1073741824")
    report = run(parse(text), {}, functional=False)
    assert report.instructions["dma"] == 2 * 250_001 + 2
    assert report.busy["vector"] == 1_000_001


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("signal dma_l1_l2 s5\nwait dma_l2_l3 s5\n", "RAW"),
        ("wait dma_l2_l1 s0\n", "RAW"),
        ("    wait vector s2\n", "RAW"),
        ("    wait dma_l2_l1 s1\n", "WAR"),
        ("    wait vector s4\n", "WAR"),
    ],
)
def test_races_trap(many_cores: str, line: str, reason: str):
    """Every wait matters, one for all cores and one in a core."""
    text = double(many_cores, 61)
    for each in line.splitlines(keepends=True):
        assert each in text
        text = text.replace(each, "", 1)
    with pytest.raises(NPUTrap, match=reason):
        run(parse(text), {"x": numbers(61)})


def test_two_cores_may_not_write_the_same_bytes(many_cores: str):
    text = double(many_cores, 64).replace("mul %c 4\n", "mov 0\n")
    with pytest.raises(NPUTrap, match=r"dma_l1_l2\.0` writes it.*WAW"):
        run(parse(text), {"x": numbers(64)})


def test_a_signal_of_a_core_is_its_own(many_cores: str):
    """Core 0 never signals, so that a wait for all of them would never end."""
    code = "cores %c {\nloop %i = 0 to %c {\nsignal vector s0\n}\n}\nwait vector s0\n"
    with pytest.raises(NPUTrap, match="deadlock"):
        run(parse(f"{many_cores}.code\n{code}halt\n"), {})


def test_a_core_reads_what_another_wrote_after_a_wait_for_all(many_cores: str):
    code = (
        ".output y L2 64 f32 4\n.code\ncores %c {\n%a = mul %c 4\n"
        "vector fill dst=L1[0](4):f32 a=#3.0 shape=(1)\n"
        "signal vector s0\nwait dma_l1_l2 s0\n"
        "dma dma_l1_l2 dst=L2[%a](4) src=L1[0](4) shape=(1) type=f32\n}\n"
        "signal dma_l1_l2 s1\nwait dma_l2_l1 s1\ncores %c {\n"
        "%a = mul %c 4\n%b = sub 12 %a\n"
        "dma dma_l2_l1 dst=L1[8](4) src=L2[%b](4) shape=(1) type=f32\n"
        "signal dma_l2_l1 s2\nwait dma_l1_l2 s2\n"
        "dma dma_l1_l2 dst=L2[%a+64](4) src=L1[8](4) shape=(1) type=f32\n}\nhalt\n"
    )
    report = run(parse(many_cores + code), {})
    np.testing.assert_array_equal(report.outputs["y"], [3, 3, 3, 3])
    local = code.replace(
        "}\nsignal dma_l1_l2 s1\n", "signal dma_l1_l2 s1\n}\n"
    ).replace("wait dma_l2_l1 s1\ncores %c {\n", "cores %c {\nwait dma_l2_l1 s1\n")
    with pytest.raises(NPUTrap, match="RAW"):
        run(parse(many_cores + local), {})


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("cores %c {\nsignal dma_l3_l2 s0\n}\n", "expected an engine of a core"),
        ("cores %c {\ncores %d {\n}\n}\n", "expected no `cores` in another"),
        ("cores %c {\n}\n%a = mov %c\n", "a register that an earlier line defines"),
        ("cores %c {\nhalt\n", "expected `}`, got `halt` in `cores`"),
        ("cores 4 {\n}\n", "expected a register, got `4`"),
    ],
)
def test_wrong_texts(many_cores: str, code: str, reason: str):
    with pytest.raises(NPUParseError) as caught:
        parse(f"{many_cores}.code\n{code}halt\n")
    assert reason in caught.value.reason


def test_cores_cannot_share_a_channel_of_their_own_memory(many_cores: str):
    text = many_cores.replace("scope=core", "scope=core shared=true")
    with pytest.raises(NPUParseError, match="expected no channel of L1"):
        parse(f"{text}.code\nhalt\n")


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(20))
def test_a_faster_part_never_takes_longer(many_cores: str, seed: int):
    """Ports that cores share are parts of a max-plus system, too."""
    code = LoopWriter(random.Random(1000 + seed), cores=True).code()
    text = f"{many_cores}.code\n{code}halt\n"
    cycles = run(parse(text), {}, functional=False).cycles
    for slower, faster in (
        ("bandwidth=64", "bandwidth=256"),
        ("latency=10 ", "latency=3 "),
        ("lanes=16", "lanes=64"),
        ("rows=4", "rows=16"),
        ("bandwidth=8 ", "bandwidth=32 "),
    ):
        assert slower in text
        quick = run(parse(text.replace(slower, faster)), {}, functional=False)
        assert quick.cycles <= cycles
