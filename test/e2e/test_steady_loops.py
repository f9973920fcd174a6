"""The time of compiled programs without a step for every instruction."""

from pathlib import Path

import pytest

import tlf
from tlf.runtime.npu import Program, parse, run

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.mlir"), key=lambda file: file.stat().st_size)


MANY = 1_000_000
"""With more instructions than these, the steps take longer than they tell."""


def _program(file: Path, target: str) -> Program:
    compiled = tlf.compile(file, target=target)
    return parse(compiled.ir("program.npu"), file.parent)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples_take_the_same_time(file: Path):
    program = _program(file, "npu-tiny")
    if sum(run(program, {}, functional=False).instructions.values()) > MANY:
        program = _program(file, "npu")
    short = run(program, {}, functional=False)
    assert short == run(program, {}, functional=False, step_by_step=True)
    assert short.floor.cycles <= short.bound <= short.cycles
    for moved, least in (
        (short.traffic[name], each) for name, each in short.compulsory.items()
    ):
        assert least.read <= moved.read
        assert least.written <= moved.written
