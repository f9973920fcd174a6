"""The cycles of groups, of a run and by the model."""

from pathlib import Path

import pytest

from tlf.compiler.api.compiled_program import CompiledProgram, read_verified_program
from tlf.compiler.explain.group_costs import (
    attribute_cycles_to_groups,
    format_group_cycles,
)
from tlf.runtime import npu
from tlf.runtime.npu.run_metrics import ProgramSegment
from tlf.tools.tlf_opt import main as opt

pytestmark = pytest.mark.usefixtures("first_plans")

EXAMPLES = Path(__file__).parents[3] / "examples"


def stretch(end: int, *origins: str) -> ProgramSegment:
    return ProgramSegment(1, end, frozenset(origins))


def test_cycles_belong_to_the_group_that_moves_the_end():
    groups = [frozenset({"a:1:1", "both"}), frozenset({"a:2:1", "a:3:1", "both"})]
    parts = [
        stretch(5, "function"),
        stretch(100, "a:1:1", "both"),
        stretch(110, "both"),
        stretch(150, "a:2:1", "a:3:1", "a:1:1"),
        stretch(150, "a:1:1"),
        stretch(160),
    ]

    assert attribute_cycles_to_groups(groups, parts) == {0: 120, 1: 40}


def test_a_gap_is_told_of_what_takes_longer_than_its_bound():
    assert format_group_cycles(100, 150, 120).endswith("simulated 120; gap 1.20x")
    assert format_group_cycles(100, 150, None).endswith("predicted 150; gap 1.50x")
    assert format_group_cycles(100, 150, 80).endswith(
        "simulated 80, overlapping other groups"
    )


def test_nothing_is_told_of_groups_that_are_not_found():
    same = [frozenset({"a:1:1"}), frozenset({"a:1:1"})]

    assert attribute_cycles_to_groups(same, [stretch(100, "a:1:1")]) == {}
    assert attribute_cycles_to_groups(same, []) == {}


@pytest.mark.one_in(1)
@pytest.mark.parametrize("example", ["rolling_bottleneck", "attention"])
def test_stretches_are_those_of_a_run_step_by_step(example: str, tmp_path: Path):
    text = tmp_path / "program.npu"
    options = f"npu{{origins=true function={example}}}"
    if example == "rolling_bottleneck":
        options = "npu{origins=true}"
    file = str(EXAMPLES / f"{example}.mlir")
    opt([file, "--target", "npu", "-p", "npu-pipeline", "-t", options, "-o", str(text)])
    program = npu.parse(text.read_text(encoding="utf-8"), tmp_path)
    fast = npu.run(program, {}, functional=False)
    slow = npu.run(program, {}, functional=False, step_by_step=True)

    assert fast.segments == slow.segments
    assert fast.segments[-1].end == fast.cycles
    ends = [each.end for each in fast.segments]
    assert ends == sorted(ends)


def test_a_compiled_program_tells_of_costs():
    module, base = read_verified_program(EXAMPLES / "matmul_bias_relu.mlir")
    text = CompiledProgram(module, "npu", side_file_folder=base).explain()

    assert text.startswith("group 0: ")
    assert "lower bound" in text.splitlines()[1]
    assert "cycles, predicted" in text.splitlines()[1]
