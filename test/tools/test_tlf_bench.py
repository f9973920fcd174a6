"""`tlf-bench`: experiments with small programs, and what is said of mistakes."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from zoo import WORKLOADS

from tlf.analysis.bounds.lower_bounds import LowerBounds, WorkBreakdown
from tlf.compiler.experiments.capacity_sweep import SweepPoint, TrafficCurve
from tlf.compiler.experiments.compile_variants import ABLATIONS, BASELINES
from tlf.compiler.experiments.dp_gains import OTHERS
from tlf.compiler.experiments.machine_balance import (
    describe_bottleneck,
    explain_gap,
    make_balance_variants,
)
from tlf.compiler.experiments.measurement import Failure, Measurement
from tlf.compiler.experiments.pipeline_variants import change_pipeline
from tlf.compiler.experiments.result_table import CYCLES, RATIO, TEXT, Table
from tlf.compiler.experiments.strategy_comparison import NAMES, run_searches
from tlf.compiler.experiments.traffic_plot import render_curves
from tlf.dialects.target import load_target_spec
from tlf.tools.tlf_bench import main

pytestmark = pytest.mark.usefixtures("first_plans")

PROGRAM = """
func.func @chain(%x: tensor<2x8x16x16xf16>, %v: tensor<8x8x3x3xf16>,
                 %w: tensor<8x8x1x1xf16>) -> tensor<2x8x16x16xf16> {
  %0 = graph.conv2d %x, %v padding [1, 1, 1, 1]
      : (tensor<2x8x16x16xf16>, tensor<8x8x3x3xf16>) -> tensor<2x8x16x16xf16>
  %1 = graph.relu %0 : tensor<2x8x16x16xf16>
  %y = graph.conv2d %1, %w
      : (tensor<2x8x16x16xf16>, tensor<8x8x1x1xf16>) -> tensor<2x8x16x16xf16>
  func.return %y : tensor<2x8x16x16xf16>
}
"""
TINY = "npu-tiny:L2=16K"


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "chain.mlir"
    file.write_text(PROGRAM, encoding="utf-8")
    return str(file)


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """The rows that an experiment finds."""
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)["rows"]


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message that an experiment ends in."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 1
    return capsys.readouterr().err


@pytest.mark.long
def test_rungs_of_the_ladder_move_less_and_less(
    program: str, capsys: pytest.CaptureFixture[str]
):
    found = rows(capsys, "baselines", program, "--target", TINY)

    assert [row["way"] for row in found] == ["naive", "unfused", "fused", "bound"]
    naive, unfused, fused, bound = (row["L3 MB"] for row in found)
    assert naive > unfused > fused >= bound
    assert found[1]["gain on unfused"] == found[3]["of bound"] == 1
    assert found[2]["on naive"] > 1


@pytest.mark.long
def test_each_means_costs_when_left_out(
    program: str, capsys: pytest.CaptureFixture[str]
):
    found = rows(capsys, "ablate", program, "--target", TINY)

    assert [row["way"] for row in found] == list(ABLATIONS)
    costs = {row["way"]: row["costs"] for row in found}
    assert costs["everything"] is None
    assert costs["no fusion"] > 0
    assert costs["no double buffering"] > 0
    assert costs["no spatial tiling"] is not None


@pytest.mark.long
def test_sweep_finds_knees_and_draws_them(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    plot = tmp_path / "curves.svg"
    sizes = "2K,16K,64K"
    found = rows(
        capsys,
        *("sweep-l2", program, "--target", "npu-tiny", "--l2", sizes),
        *("--plot", str(plot), "--jobs", "2"),
    )

    assert [row["L2 KiB"] for row in found] == [2, 16, 64]
    assert all(row["L3 MB"] is None or row["L3 MB"] >= row["least MB"] for row in found)
    assert found[-1]["of least"] == 1
    drawn = ET.fromstring(plot.read_text(encoding="utf-8"))
    assert len(drawn.findall("{*}polyline")) == 2


@pytest.mark.parametrize(
    ("sizes", "notes"),
    [
        pytest.param("16K", [""], marks=pytest.mark.long),
        ("1,16K", ["does not fit", ""]),
    ],
)
def test_sweep_over_one_capacity_that_is_enough(
    sizes: str, notes: list[str], program: str, capsys: pytest.CaptureFixture[str]
):
    found = rows(capsys, "sweep-l2", program, "--target", "npu-tiny", "--l2", sizes)

    assert [row["note"] for row in found] == notes


@pytest.mark.long
def test_chips_have_bounds_of_their_own(
    program: str, capsys: pytest.CaptureFixture[str]
):
    found = rows(capsys, "targets", program, "--target", TINY)

    assert [row["chip"] for row in found] == list(
        make_balance_variants(load_target_spec("npu-tiny"))
    )
    assert all(row["cycles"] >= row["in passes"] >= row["bound"] for row in found)
    for row in found:
        assert bool(row["binds"]) == (max(row["of bound"], row["bytes"]) > 1.15)


@pytest.mark.long
def test_free_layouts_fill_bursts(program: str, capsys: pytest.CaptureFixture[str]):
    """Rows of 24 pixels are no whole bursts, as those of 16 are."""
    text = PROGRAM.replace("16x16", "24x24")
    Path(program).write_text(text, encoding="utf-8")
    common = ["targets", program, "--target", "npu:L2=32K", "--only"]
    (given,) = rows(capsys, *common)
    (free,) = rows(capsys, *common, "--layout", "any")

    assert free["on bus"] < given["on bus"]
    assert free["cycles"] < given["cycles"]


def test_searches_are_compared_by_model_and_simulator(
    program: str, capsys: pytest.CaptureFixture[str]
):
    main(["strategies", program, "--target", TINY])

    title, *lines = capsys.readouterr().out.splitlines()
    assert title.split()[:3] == ["program", "chip", "search"]
    assert [line.split()[2] for line in lines[: len(NAMES)]] == list(NAMES)
    assert any("dp gains nothing over" in line for line in lines)
    found = rows(capsys, "strategies", program, "--model", "--l2", "16K,1M")
    assert [row["chip"] for row in found[:: len(NAMES)]] == ["L2=16K", "L2=1M"]


def test_gains_have_a_row_for_each_program(
    program: str, capsys: pytest.CaptureFixture[str]
):
    common = ["strategies", program, "--l2", "16K,1M"]
    told = {
        (row["chip"], row["search"]): row for row in rows(capsys, *common, "--model")
    }
    found = rows(capsys, *common, "--brief")

    assert [row["chip"] for row in found] == ["L2=16K", "L2=1M"]
    for row in found:
        best = told[row["chip"], "dp"]
        assert row["cycles"] == best["model cycles"]
        others = [told[row["chip"], name]["over dp"] for name in OTHERS]
        assert [row[name] for name in OTHERS] == others
    assert any(row["unfused"] > 0 for row in found)

    main([*common, "--brief"])
    assert "dp gains over unfused in" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("form", ["--brief", "--model"])
def test_where_nothing_fits_that_is_told(
    form: str, program: str, capsys: pytest.CaptureFixture[str]
):
    main(["strategies", program, "--l2", "100", form])

    lines = capsys.readouterr().out.splitlines()
    assert any("on L2=100: no schedule: not even" in each for each in lines)
    assert not any("gains" in each and "in 0 of 0" not in each for each in lines)


def test_shares_are_those_of_all_cores(
    program: str, capsys: pytest.CaptureFixture[str]
):
    (found,) = rows(capsys, "targets", program, "--target", "npu-4core", "--only")

    shares = [int(each) for each in re.findall(r"(\d+)%", found["binds"])]
    assert shares
    assert max(shares) <= 100


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("bottleneck", "npu-tiny"),
        ("bottleneck", "npu:L2=256K"),
        ("resnet18", "npu:L2=64K"),
        ("random-dag", "npu-tiny"),
        ("random-tree", "npu-tiny:L2=16K"),
    ],
)
def test_no_search_beats_dp_where_that_is_exact(name: str, target: str):
    found = run_searches(WORKLOADS[name].small_module(), load_target_spec(target))

    best = found["dp"]
    assert best is not None
    others = [each for each in found.values() if each is not None]
    assert not best.exact or all(best.cycles <= each.cycles for each in others)


def point(capacity: int, moved: int | None) -> SweepPoint:
    if moved is None:
        return SweepPoint(capacity, 100, 10, Failure("too little"))
    found = Measurement(20, moved, moved, {"matrix": 20}, {"matrix": 10}, {}, 0.0)
    return SweepPoint(capacity, 100, 10, found)


def test_a_knee_is_where_a_fall_ends():
    traffic = [None, 400, 300, 200, 199, 198, 120, 118]
    points = [point(1 << at, moved) for at, moved in enumerate(traffic)]
    curve = TrafficCurve("stairs", tuple(points))

    assert curve.traffic_knees == {1 << 3, 1 << 6}
    drawn = ET.fromstring(render_curves([curve], "L2"))
    assert len(drawn.findall("{*}circle")) == 2


def test_changes_reach_the_passes_that_they_name():
    target = load_target_spec("npu")
    outermost = 'graph-select-tile-sizes{level="L2"'
    nearest = 'graph-select-tile-sizes{level="L1"'

    whole = change_pipeline(target, BASELINES["fused"])
    assert f"{outermost}}}" in whole
    assert f"{nearest}}}" in whole
    batch = change_pipeline(target, ABLATIONS["no spatial tiling"])
    assert f"{outermost} axes=0}}" in batch
    assert f"{nearest}}}" in batch
    single = change_pipeline(target, ABLATIONS["no double buffering"])
    assert f"{outermost} stages=1}}" in single
    assert f"{nearest} stages=1}}" in single
    naive = change_pipeline(target, BASELINES["naive"])
    assert naive.index("convert-graph-to-tile") < naive.index("graph-decompose")


def test_tables_align_texts_to_the_left():
    table = Table({"program": TEXT, "of": RATIO, "cycles": CYCLES}, notes=["so it is"])
    table.rows += [("a", 1.234, 12345), ("long", None, 1)]

    assert table.to_text().splitlines() == [
        " program     of  cycles",
        " a        1.23x  12,345",
        " long         -       1",
        "so it is",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "the following arguments are required: EXPERIMENT"),
        (["targets"], "the following arguments are required: FILE"),
        (["targets", "missing.mlir"], "cannot read `missing.mlir`: No such file"),
        (["targets", "x", "--jobs", "0"], "expected a number from 1, got `0`"),
        (["targets", "x", "--layout", "0,1"], "invalid choice: '0,1'"),
        (["targets", "x", "--target", "h200"], "expected a target of the backend npu"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
):
    error = failure(capsys, *arguments)

    assert error.startswith("tlf-bench: error: ")
    assert expected in error
    assert error.count("\n") == 1


def test_sizes_are_checked(program: str, capsys: pytest.CaptureFixture[str]):
    wrong = failure(capsys, "sweep-l2", program, "--l2", "much")
    assert wrong == "tlf-bench: error: expected a size such as 512K, got `much`\n"
    single = failure(
        capsys, "sweep-l2", program, "--target", "bm1684x-like", "--l2", "1M"
    )
    assert "expected a level among L1, L3" in single


@pytest.mark.parametrize(
    ("work", "least", "waits", "expected"),
    [
        ({"matrix": 95}, {"matrix": 80}, {"matrix": {}}, "1.19x of its work at peak"),
        ({"matrix": 95}, {"matrix": 95}, {"matrix": {}}, "1.90x of the least work"),
        ({"matrix": 50, "L3": 95}, {"L3": 95}, {}, "2.00x of the least traffic"),
        ({"matrix": 60}, {}, {"matrix": {"a": 9, "b": 30}}, "waits 30% for b"),
        ({"dma": 60, "L3": 70}, {}, {"dma": {"L3": 20}}, "dma 60%, waits 20% for L3"),
    ],
)
def test_what_binds_is_told(
    work: dict[str, int],
    least: dict[str, int],
    waits: dict[str, dict[str, int]],
    expected: str,
):
    found = Measurement(100, 200, 200, work, least, waits, 0.0)
    bounds = least_of_bytes(100)

    assert describe_bottleneck(found, bounds).endswith(expected)


@pytest.mark.parametrize(
    ("cycles", "moved", "expected"),
    [
        (57, 114, ""),
        (58, 114, "matrix 100% busy, 1.16x of its work at peak"),
        (57, 116, "matrix 100% busy, 1.14x of its work at peak; L3 49% busy"),
    ],
)
def test_more_time_or_bytes_are_explained(cycles: int, moved: int, expected: str):
    work = {"matrix": cycles, "L3": cycles // 2}
    found = Measurement(cycles, moved, moved, work, {"matrix": 50}, {"matrix": {}}, 0.0)

    assert explain_gap(found, least_of_bytes(100), "L3") == expected


def least_of_bytes(count: int) -> LowerBounds:
    nothing = WorkBreakdown(count, count, (), 0, ())
    return LowerBounds(count, count, 50, 50, 50, "matrix", (), 1, nothing)
