"""The report of a program is read from the compilation that runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from zoo import WORKLOADS

import tlf
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.explain.group_costs import GroupTable
from tlf.dialects.graph import GroupOp
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.tools.tlf_explain import main as explain
from tlf.tools.tlf_run import main as run

EXAMPLES = Path(__file__).parents[3] / "examples"
GIVEN = Path(__file__).parents[2] / "tools/tlf-explain-given.mlir"

ADD = """
func.func @f(%x: tensor<5x7xf32>, %y: tensor<7xf32>) -> tensor<5x7xf32> {
  %sum = graph.add %x, %y : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %z = graph.relu %sum : tensor<5x7xf32>
  func.return %z : tensor<5x7xf32>
}
"""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[ModuleOp]:
    """The modules that passes were run on."""
    found: list[ModuleOp] = []
    original = PassManager.run

    def counting(self: PassManager, context: Context, module: ModuleOp) -> None:
        found.append(module)
        original(self, context, module)

    monkeypatch.setattr(PassManager, "run", counting)
    return found


@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_nothing_is_compiled_to_tell_of_it(target: str, counted: list[ModuleOp]):
    compiled = tlf.compile(ADD, target=target)
    count = len(counted)
    for _ in range(2):
        assert compiled.explain()
    assert count == len(counted) == (target != "reference")


@pytest.mark.parametrize("target", ["npu", "triton"])
def test_passes_run_once_more_to_show_programs(target: str, counted: list[ModuleOp]):
    compiled = tlf.compile(ADD, target=target)
    for _ in range(2):
        assert [compiled.ir(stage) for stage in compiled.stages]
    assert len(counted) == 2


@pytest.mark.parametrize("arguments", [[], ["--simulate"], ["--why-not-fuse", "0,1"]])
def test_a_program_is_compiled_once(arguments: list[str], counted: list[ModuleOp]):
    explain([str(GIVEN), "--entry", "alone", *arguments])

    assert len(counted) == 1


def test_stages_are_those_of_the_passes_that_ran():
    compiled = tlf.compile(ADD, target="npu")

    stages = [each for each in compiled.stages if each.startswith("graph-group")]
    assert stages == ["graph-group", "graph-group.2"]
    assert "#graph.plan" not in compiled.ir("graph-group")
    assert "#graph.plan<L2" in compiled.ir("graph-select-tile-sizes")
    assert "#graph.plan<L1" in compiled.ir("graph-select-tile-sizes.2")
    # Passes that change nothing leave the stage before.
    assert compiled.ir("canonicalize") == compiled.ir("tlf-cse")


PROGRAMS = (
    # What the search prices in this one depends on how often it has to.
    ("resnet18", "npu:L2=4K"),
    ("attention", "npu"),
    ("bottleneck", "npu"),
    ("transformer_layer", "npu"),
    ("given", "npu"),
    ("layer_norm", "npu"),
    ("unet", "npu:L2=16K"),
    ("softmax", "bm1684x-like"),
    ("residual_mlp", "npu"),
    ("gelu", "npu"),
    ("matmul_bias_relu", "npu"),
    ("weighted_sum", "npu"),
    ("dense", "npu:L2=4K"),
    ("softmax", "npu"),
)
"""Examples, one with plans, and networks of the zoo, and what for."""


def arguments_of(name: str, target: str, folder: Path) -> list[str]:
    """The command line for a program."""
    file, options = EXAMPLES / f"{name}.mlir", ["--target", target]
    if name == "given":
        file, options = GIVEN, [*options, "--entry", "first"]
    if name in WORKLOADS and not file.exists():
        file = folder / f"{name}.mlir"
        file.write_text(f"{WORKLOADS[name].small_module()!s}\n", encoding="utf-8")
    return [str(file), *options]


def tiles_in(module: ModuleOp) -> list[tuple[list[int], list[int]]]:
    """The tiles of the groups that run at every call."""
    return [
        (list(op.plan.tile_sizes), list(op.plan.reduce_sizes))
        for function in module.ops
        if isinstance(function, func.FuncOp) and not is_preparation_function(function)
        for op in function.walk()
        if isinstance(op, GroupOp) and op.plan is not None
    ]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("program", PROGRAMS)
def test_groups_are_those_that_run(
    program: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """By name, tiles, bound, and cycles by the model, in all and one by one."""
    arguments = arguments_of(*program, tmp_path)
    explain([*arguments, "--json"])
    (function,) = json.loads(capsys.readouterr().out)
    seen: list[tuple[list[int], list[int]]] = []
    see = GroupTable.record_module

    def seeing(self: GroupTable, module: ModuleOp) -> None:
        seen.extend(tiles_in(module))
        see(self, module)

    monkeypatch.setattr(GroupTable, "record_module", seeing)
    run([*arguments, "--timing", "--groups"])
    table = capsys.readouterr().out
    rows = dict(re.findall(r"^(group \d+|groups) +(.*)", table, re.MULTILINE))

    assert rows.pop("groups").startswith(_cycles(function))
    groups = function["groups"]
    assert [*rows] == [f"group {number}" for number in range(len(groups))]
    for text, group in zip(rows.values(), groups, strict=True):
        assert text.startswith(f"{group['title']}: {_cycles(group)}")
    plans = [each["plan"] for each in groups]
    assert [(each["tile"], each["reduce"]) for each in plans] == seen


def _cycles(part: dict[str, Any]) -> str:
    """Return the cycles that `tlf-run` reports for a group or for the whole."""
    figures = part["figures"]
    return (
        f"lower bound {figures['bound_cycles']:,} cycles, predicted "
        f"{figures['cycles']:,}"
    )


@pytest.mark.parametrize("example", ["softmax", "matmul_bias_relu"])
def test_kernels_are_those_of_a_compiled_program(
    example: str, capsys: pytest.CaptureFixture[str]
):
    file = EXAMPLES / f"{example}.mlir"
    explain([str(file), "--target", "h200"])

    lines = tlf.compile(file, target="h200").explain().splitlines()
    assert capsys.readouterr().out.splitlines() == lines
    assert re.match("  predicted [0-9.]+ us, ", lines[1])


def test_remarks_are_those_of_a_compiled_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "add.mlir"
    file.write_text(ADD)
    explain([str(file)])
    told = capsys.readouterr().out.splitlines()
    lines = tlf.compile(file, target="npu").explain().splitlines()

    remarks = [line for line in lines if not line.startswith(("group ", " "))]
    assert "in L1: graph-group: passed: %z: run together: add, relu" in remarks
    assert [line for line in told if line in set(remarks)] == remarks
