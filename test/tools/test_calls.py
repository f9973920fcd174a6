"""Programs whose functions call each other."""

from pathlib import Path

import numpy as np
import pytest

import tlf
from tlf.tools import tlf_explain, tlf_run

pytestmark = pytest.mark.usefixtures("first_plans")

PROGRAM = """
func.func @f(%w: tensor<5x3xf32>, %i: tensor<4xi64>) -> tensor<4x3xf32> {
  %r = func.call @rows(%w, %i) : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %y = func.call @twice(%r) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
func.func @rows(%w: tensor<5x3xf32>, %i: tensor<4xi64>) -> tensor<4x3xf32> {
  %0 = graph.take %w, %i axis 0
      : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %y = func.call @twice(%0) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
func.func private @twice(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %y = graph.add %x, %x : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}"""

TARGETS = ["reference", "npu-tiny", "triton"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(PROGRAM, encoding="utf-8")


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", [None, "f", "rows"])
def test_calls_run(target: str, entry: str | None):
    w = np.arange(15, dtype=np.float32).reshape(5, 3)
    i = np.array([3, 0, 3, 4])
    result = tlf.compile(PROGRAM, target=target, entry=entry)(w, i)
    np.testing.assert_array_equal(result, w[i] * (2 if entry == "rows" else 4))


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_called_is_checked(target: str):
    compiled = tlf.compile(PROGRAM, target=target, check_indices=True)
    w, i = np.ones((5, 3), np.float32), np.array([3, 0, 5, 4])
    with pytest.raises(ValueError, match=r":8:3: .* from 0 to 4, got 5"):
        compiled(w, i)


def test_tools_take_the_function_that_no_other_calls(
    capsys: pytest.CaptureFixture[str],
):
    tlf_run.main(["f.mlir", "--check"])
    assert "result y" in capsys.readouterr().out
    tlf_explain.main(["f.mlir"])
    assert "@f" in capsys.readouterr().out
