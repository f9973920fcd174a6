"""The time of compiled programs without a step for every instruction."""

from pathlib import Path

import pytest

import tlf
from tlf.runtime.npu import parse, run

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.mlir")), ids=lambda p: p.stem)
def test_examples_take_the_same_time(file: Path):
    compiled = tlf.compile(file, target="npu-tiny")
    program = parse(compiled.ir("program.npu"), file.parent)
    short = run(program, {}, functional=False)
    assert short == run(program, {}, functional=False, step_by_step=True)
    assert short.floor.cycles <= short.bound <= short.cycles
    for moved, least in (
        (short.traffic[name], each) for name, each in short.compulsory.items()
    ):
        assert least.read <= moved.read
        assert least.written <= moved.written
