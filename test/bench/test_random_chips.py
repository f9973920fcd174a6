"""The table of `bench/random_chips.py`, and its chips."""

import pytest
import random_chips
from chip_measurement import ChipMeasurement, simulate_on_chip
from random_chip import RESOURCES, double_resource, draw_chip
from random_chip_programs import PROGRAMS
from random_chips import ChipRow, ChipTask, format_summary, list_tasks


def test_a_seed_always_draws_the_same_chip():
    assert draw_chip(3) == draw_chip(3)
    assert draw_chip(3).data != draw_chip(4).data


@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_outer_memories_are_larger_and_slower(seed: int):
    inner, middle, outer = draw_chip(seed).levels.values()

    assert inner.capacity < middle.capacity < outer.capacity
    assert inner.bandwidth > middle.bandwidth > outer.bandwidth
    assert inner.latency < middle.latency < outer.latency


@pytest.mark.parametrize("resource", RESOURCES)
def test_one_resource_is_doubled(resource: str):
    chip = draw_chip(0)
    doubled = double_resource(chip, resource)

    before, after = repr(chip.data), repr(doubled.data)
    assert before != after
    assert chip.cores == doubled.cores
    name, *figure = resource.split()
    if figure[0] in ("capacity", "bandwidth"):
        old, new = chip.levels[name], doubled.levels[name]
        assert getattr(new, figure[0]) == 2 * getattr(old, figure[0])
        assert chip.engines == doubled.engines
    else:
        assert [*chip.levels.values()] == [*doubled.levels.values()]


def test_every_program_meets_every_doubled_resource():
    tasks = list_tasks(0, 30, [*PROGRAMS], 2)

    pairs = {(task.program, name) for task in tasks for name in task.doubled}
    assert pairs == {(program, name) for program in PROGRAMS for name in RESOURCES}


def test_summary_counts_errors_and_slowdowns():
    found = ChipMeasurement(50, 104, 100, 40, "memory", "matrix busy 1%")
    task = ChipTask(0, "gemv", ("L1 capacity", "L2 capacity"))
    slower = {"L1 capacity": 150, "L2 capacity": 101}
    rows = [ChipRow(task, found, slower), ChipRow(task, None, {})]

    assert format_summary(rows).splitlines() == [
        "2 programs, 1 do not compile",
        "predicted: median 4.00%, worst 4.00%, 1 of 1 within 10%",
        "formula: median 50.00%, worst 50.00%, 0 of 1 within 10%",
        "gap: median 2.50x, worst 2.50x",
        "slower with more of a resource: 1 of 2, worst 1.50x",
    ]


def test_prints_a_line_for_each_program(capsys: pytest.CaptureFixture[str]):
    arguments = ["--chips", "1", "--seed", "1", "--programs", "gemv"]
    assert random_chips.main([*arguments, "--doublings", "0"]) == 0

    header, chip, row, *summary = capsys.readouterr().out.splitlines()
    assert header == random_chips.HEADER
    assert chip.strip().startswith("chip 1, L1 16K ")
    assert row.split()[:2] == ["1", "gemv"]
    assert summary[0] == "1 programs, 0 do not compile"


def test_unknown_programs_are_named(capsys: pytest.CaptureFixture[str]):
    assert random_chips.main(["--programs", "nothing"]) == 1

    error = capsys.readouterr().err
    assert error.startswith("random_chips: error: expected programs among matmul, ")


def test_plans_for_half_of_a_memory_are_candidates_in_all_levels():
    """
    With all of L1, other innermost tiles are selected, with which the best outer tiles
    take 1.4 times as long.
    """
    chip = draw_chip(53)
    larger = double_resource(chip, "L1 capacity")
    times = [simulate_on_chip(PROGRAMS["gemv"](), each) for each in (chip, larger)]

    assert times[1] <= random_chips.TOLERANCE * times[0]
