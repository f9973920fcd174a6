"""Predicted against simulated time."""

from pathlib import Path
from statistics import median

import prediction
import pytest
from differential import parsed
from prediction import CycleComparison, PredictionRow, compare_cycles, compare_rows

from tlf.dialects.target import load_target_spec

DOCS = Path(__file__).parents[2] / "docs"

PROGRAMS = {
    "chain": """
!t = tensor<512x256xf32>
func.func @chain(%x: !t, %w: !t) -> !t {
  %0 = graph.add %x, %w : (!t, !t) -> !t
  %1 = graph.relu %0 : !t
  func.return %1 : !t
}
""",
    "product": """
!t = tensor<128x128xf16>
func.func @product(%x: !t, %w: !t) -> tensor<128x128xf32> {
  %0 = graph.matmul %x, %w : (!t, !t) -> tensor<128x128xf32>
  func.return %0 : tensor<128x128xf32>
}
""",
    "layer": """
!t = tensor<64x128xf16>
func.func @layer(%x: !t, %w: tensor<128x128xf16>) -> !t {
  %0 = graph.matmul %x, %w : (!t, tensor<128x128xf16>) -> !t
  %1 = graph.relu %0 : !t
  func.return %1 : !t
}
""",
    "sum": """
func.func @sum(%x: tensor<64x64xf32>) -> tensor<64xf32> {
  %0 = graph.reduce %x <sum> axes [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}
""",
}
"""Programs whose tiles are all of one size."""

ZOO = (
    PredictionRow("bottleneck", 8, "npu-tiny", 16),
    PredictionRow("bottleneck", 10, "u85-like", 4),
    PredictionRow("mbconv", 10, "npu-tiny", 16, dtype="f32"),
    PredictionRow("vgg16-head", 8, "npu-tiny", 16, dtype="f32"),
    PredictionRow("fsrcnn", 6, "npu-tiny", 8, dtype="f32"),
    PredictionRow("transformer", 32, divisor=16),
    PredictionRow("gemv", 250, "npu-tiny", dtype="f32"),
    PredictionRow("random-tree", 24),
)


SLACK = {("product", "npu-tiny"): 100, ("layer", "npu-tiny"): 20}
"""
Cycles of prologues that are not known exactly: sums of pieces are filled first, in
iterations so short that the control processor limits them.
"""

ATTENTION = """
!q = tensor<4x512x64xf16>
!k = tensor<4x64x512xf16>
!s = tensor<4x512x512xf16>
func.func @attention(%q: !q, %k: !k, %v: !q) -> !q {
  %s = graph.matmul %q, %k : (!q, !k) -> !s
  %p = graph.softmax %s axis 2 : (!s) -> !s
  %o = graph.matmul %p, %v : (!s, !q) -> !q
  func.return %o : !q
}
"""


@pytest.fixture(scope="module")
def zoo() -> dict[PredictionRow, CycleComparison]:
    """A small zoo, compared."""
    return dict(compare_rows(ZOO))


@pytest.mark.parametrize("target", ["npu:L2=256K,L1=64K", "npu-tiny"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_tiles_of_one_size_take_what_is_predicted(name: str, target: str):
    _, module = parsed(PROGRAMS[name])
    load_target_spec(target).attach_to_module(module)

    found = compare_cycles(module)

    assert abs(found.predicted.cycles - found.cycles) <= SLACK.get((name, target), 0)
    assert found.predicted.outer_bytes == found.bytes


@pytest.mark.usefixtures("first_plans")
@pytest.mark.parametrize("target", ["npu-4core", "npu-tiny:cores=3"])
@pytest.mark.parametrize("name", ["chain", "layer", "sum"])
def test_tiles_on_several_cores_take_about_what_is_predicted(name: str, target: str):
    _, module = parsed(PROGRAMS[name])
    load_target_spec(target).attach_to_module(module)

    found = compare_cycles(module)

    assert abs(found.difference) < 1
    assert found.predicted.outer_bytes == found.bytes


@pytest.mark.long
def test_products_that_start_ahead_take_what_is_predicted():
    _, module = parsed(ATTENTION)
    load_target_spec("npu").attach_to_module(module)

    found = compare_cycles(module)

    assert abs(found.predicted.cycles - found.cycles) <= 4
    # Products and softmax one after the other take 76,000 cycles.
    assert found.cycles < 70_000


@pytest.mark.long
@pytest.mark.long
def test_workloads_take_about_what_is_predicted(
    zoo: dict[PredictionRow, CycleComparison],
):
    differences = {row: abs(found.difference) for row, found in zoo.items()}

    assert median(differences.values()) < 0.5
    assert max(differences.values()) < 5


@pytest.mark.long
def test_workloads_move_what_is_predicted(zoo: dict[PredictionRow, CycleComparison]):
    moved = {
        row: (found.predicted.outer_bytes, found.bytes) for row, found in zoo.items()
    }

    assert all(predicted == simulated for predicted, simulated in moved.values())


def test_prints_a_line_for_each_workload(capsys: pytest.CaptureFixture[str]):
    assert prediction.main(["--only", "gemv 256"]) == 0

    header, line, last = capsys.readouterr().out.splitlines()
    assert header == prediction.HEADER
    page = (DOCS / "cost-model.md").read_text(encoding="utf-8")
    assert f"    {line[:-7]}" in page
    assert last.startswith("median ")


def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(prediction, "ROWS", (PredictionRow("nothing", 1),))

    assert prediction.main([]) == 1

    assert capsys.readouterr().err.startswith("prediction: error: expected one of ")
