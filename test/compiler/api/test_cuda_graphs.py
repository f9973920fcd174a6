"""The choice of CUDA graphs, which programs for the CPU accept, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tlf
from tlf.compiler.api.torch_settings import CudaGraphs, Settings
from tlf.runtime.triton.executable_plan import Executable

TEXT = """
func.func @scaled(%x: tensor<5x8xf32>, %w: tensor<8xf32> {tlf.parameter})
    -> tensor<5x8xf32> {
  %0 = graph.exp %w : tensor<8xf32>
  %y = graph.mul %x, %0 : (tensor<5x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  func.return %y : tensor<5x8xf32>
}
"""

T: Any = torch


def prepared_plans(monkeypatch: pytest.MonkeyPatch) -> list[Executable]:
    """Return the list of plans that are prepared from now on."""
    prepared: list[Executable] = []
    inner = Executable.__init__

    def note(self: Executable, *arguments: Any) -> None:
        inner(self, *arguments)
        prepared.append(self)

    monkeypatch.setattr(Executable, "__init__", note)
    return prepared


@pytest.mark.parametrize("target", ["reference", "npu-tiny", "triton"])
def test_programs_accept_the_choice(target: str, monkeypatch: pytest.MonkeyPatch):
    plans = prepared_plans(monkeypatch)
    compiled = tlf.compile(TEXT, target=target, cache=False)
    assert all(each.uses_graphs for each in plans)
    compiled.use_cuda_graphs(False)
    # The preparation runs once, without graphs or with them.
    choices = sorted(each.uses_graphs for each in plans)
    assert choices == ([False, True] if target == "triton" else [])
    x, w = np.ones((5, 8), np.float32), np.zeros(8, np.float32)
    np.testing.assert_array_equal(compiled(x, w), x)


@pytest.mark.parametrize("choice", ["auto", "off"])
def test_option_of_the_backend(choice: str, monkeypatch: pytest.MonkeyPatch):
    plans = prepared_plans(monkeypatch)
    options = {"target": "h200", "cudagraphs": choice, "cache": False}
    layer = T.nn.Linear(8, 8).eval()
    with T.no_grad():
        T.compile(layer, backend="tlf", options=options)(T.zeros(2, 8))
    assert [each.uses_graphs for each in plans[:1]] == [choice == "auto"]


def test_other_choices_are_refused():
    assert Settings().cudagraphs is CudaGraphs.AUTO
    with pytest.raises(ValueError, match="cudagraphs `auto` or `off`, got trees"):
        Settings.from_options({"cudagraphs": "trees"})
