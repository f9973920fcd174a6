"""Time without a step for every instruction: the same figures, the same traps."""

import random
import time

import numpy as np
import pytest
from npu_loops import LoopWriter

from tlf.machine.instruction_costs import InstructionCosts
from tlf.runtime.npu import NPUTrap, Program, Report, parse, run
from tlf.runtime.npu.register_intervals import IrregularError, compute_operand_intervals
from tlf.runtime.npu.scalar_arithmetic import Numbers, find_distinct_rows
from tlf.runtime.npu.timing_planner import TimingPlanner, find_repeated_patterns


def program(machine: str, code: str) -> Program:
    return parse(f"{machine}.code\n{code}halt\n")


def both(program: Program) -> tuple[Report, Report]:
    """The report of a run by plans, which must be possible, and step by step."""
    TimingPlanner(program, InstructionCosts(program.machine)).plan_program()
    return (
        run(program, {}, functional=False),
        run(program, {}, functional=False, step_by_step=True),
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(150))
def test_random_loops(machine: str, seed: int):
    code = LoopWriter(random.Random(seed)).code()
    short, long = both(program(machine, code))
    assert short == long


def test_a_million_iterations(machine: str):
    """Row by row through phases of a burst, in loops around a loop."""
    code = "signal vector s0\n"
    code += "loop %i = 0 to 1000 {\nloop %j = 0 to 1000 {\n"
    code += "%a = mul %j 28\nwait dma_l2_l1 s0\n"
    code += "dma dma_l2_l1 dst=L1[0](4) src=L2[%a](4) shape=(7) type=f32\n"
    code += "signal dma_l2_l1 s1\nwait vector s1\n"
    code += "vector exp dst=L1[0](4):f32 a=L1[0](4):f32 shape=(7)\n"
    code += "signal vector s0\n}\n}\n"
    started = time.perf_counter()
    report = run(program(machine, code), {}, functional=False)
    assert time.perf_counter() - started < 2
    assert report.instructions["dma"] == 1_000_000
    assert report.instructions["scalar"] == 1_000_000
    # 7 floats at 28 j in bursts of 8 bytes: at 0 mod 8 they touch 4, at 4 mod 8 too.
    assert report.traffic["L2"].bus_read == 32 * 1_000_000
    # Each move waits for the operation before it: 1 + 10 to move, 4 + 3 to work.
    assert report.cycles == pytest.approx(18 * 1_000_000, rel=1e-3)


def test_a_loop_that_does_not_look_at_its_register(machine: str):
    code = "loop %i = 0 to 1000000000000 {\n"
    code += "vector neg dst=L1[0](4):f32 a=L1[0](4):f32 shape=(64)\n}\n"
    report = run(program(machine, code), {}, functional=False)
    assert report.cycles == 2 + 4 * 10**12 + 3


IRREGULAR = {
    "a register from the iteration before": """%a = mov 0
loop %i = 0 to 9 {
  vector neg dst=L1[0](4):f32 a=L1[0](4):f32 shape=(%a)
  %a = add %a 7
}
""",
    "a register from the last iteration": """loop %i = 0 to 9 {
  %a = add %i 7
}
vector neg dst=L1[0](4):f32 a=L1[0](4):f32 shape=(%a)
""",
    "a product of any size": """loop %i = 0 to 9 {
  %a = mul %i 1000000000000000000
  %b = min %a 3
  vector neg dst=L1[0](4):f32 a=L1[0](4):f32 shape=(%b)
}
""",
}


@pytest.mark.parametrize("code", IRREGULAR.values(), ids=IRREGULAR)
def test_irregular_programs_go_step_by_step(machine: str, code: str):
    found = program(machine, code)
    with pytest.raises(IrregularError):
        compute_operand_intervals(found.body)
    short = run(found, {}, functional=False)
    assert short == run(found, {}, functional=False, step_by_step=True)


TRAPS = {
    "wait": "loop %i = 0 to 9 {\nwait vector s0\n}\n",
    "late": "signal vector s0\nloop %i = 0 to 9 {\nwait vector s0\n}\n",
    "size": "loop %i = 0 to 9 {\n%a = sub 5 %i\n"
    "vector neg dst=L1[0](4):f32 a=L1[0](4):f32 shape=(%a)\n}\n",
    "zero": "loop %i = 0 to 9 {\n%a = sub 5 %i\n%b = div 7 %a\n}\n",
    "step": "loop %i = 0 to 9 {\n%a = sub 5 %i\nloop %j = 0 to 3 step %a {\n}\n}\n",
    "overflow": "%a = mul 4611686018427387904 4\n",
    "unset": "loop %i = 3 to 3 {\n%a = add %i 1\n}\n%b = add %a 1\n",
}


@pytest.mark.parametrize("code", TRAPS.values(), ids=TRAPS)
def test_traps_are_the_same(machine: str, code: str):
    messages: list[str] = []
    for step_by_step in (False, True):
        with pytest.raises(NPUTrap) as trap:
            run(
                program(machine, code),
                {},
                functional=False,
                step_by_step=step_by_step,
            )
        messages.append(str(trap.value))
    assert messages[0] == messages[1]


def test_patterns_add_up():
    generator = random.Random(4)
    for _ in range(200):
        numbers: list[int] = []
        for _ in range(generator.randrange(1, 5)):
            piece = [generator.randrange(3) for _ in range(generator.randrange(1, 9))]
            numbers += piece * generator.randrange(1, 9)
        cut = find_repeated_patterns(np.array(numbers, np.int64))
        assert [each for piece, count in cut for each in piece * count] == numbers


def test_patterns_are_found():
    numbers = np.array([5] + [1] * 1000 + [2, 3] * 1000 + [7], np.int64)
    assert find_repeated_patterns(numbers) == [
        ((5,), 1),
        ((1,), 1000),
        ((2, 3), 1000),
        ((7,), 1),
    ]
    assert find_repeated_patterns(np.zeros(0, np.int64)) == []


@pytest.mark.parametrize("scale", [1, 1 << 20, 1 << 60])
def test_rows_that_are_alike(scale: int):
    """Columns of great numbers too, whose product does not fit in 64 bits."""
    generator = np.random.default_rng(2)
    columns: list[Numbers] = [generator.integers(0, 3, 200) * scale for _ in range(4)]
    first, like = find_distinct_rows([7, *columns], 200)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert len(first) == len(set(rows))
    assert [rows[first[number]] for number in like] == rows
