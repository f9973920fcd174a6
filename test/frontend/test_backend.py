"""`torch.compile(backend="tlf")` on every target."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import nn
from torch_check import assert_close

from tlf.compiler.api.torch_backend import REPORT, tlf

compile_by_torch: Callable[..., Any] = getattr(torch, "compile")


@pytest.mark.parametrize("target", ["reference", "npu", "npu-tiny", "triton"])
def test_programs_with_memory_of_their_own(target: str):
    """Temporaries and constants, made while PyTorch traces with fake tensors."""
    network = nn.Sequential(
        nn.Linear(7, 9), nn.Softmax(-1), nn.Linear(9, 5), nn.LayerNorm(5)
    ).eval()
    x = torch.rand(3, 7)
    REPORT.clear()
    torch.compiler.reset()

    compiled = compile_by_torch(network, backend=tlf, options={"target": target})

    with torch.no_grad():
        assert_close(compiled(x), network(x), 1e-5)
        assert_close(compiled(x + 1), network(x + 1), 1e-5)
    assert REPORT.compiled > 0
    assert not REPORT.eager


def test_name_of_the_backend():
    compiled = compile_by_torch(
        nn.ReLU(), backend="tlf", options={"target": "reference"}
    )
    with torch.no_grad():
        assert compiled(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": "npu"}, "expected the option"),
        ({"target": "npux"}, r"expected a target \(.*, got `npux`"),
        ({"target": "npu:L9=1K"}, "L9"),
        ({"numerics": "loose"}, "expected numerics"),
    ],
)
def test_wrong_options(options: dict[str, str], message: str):
    compiled = compile_by_torch(nn.ReLU(), backend=tlf, options=options)
    with torch.no_grad(), pytest.raises(Exception, match=message):
        compiled(torch.rand(2))


def test_calls_only_run_the_code_of_the_graph(monkeypatch: pytest.MonkeyPatch):
    """PyTorch does not find out at each call if the code is up to date."""
    lazy: Any = import_module("torch.fx._lazy_graph_module")
    network = nn.Linear(4, 4).eval()
    compiled = compile_by_torch(network, backend=tlf, options={"target": "reference"})
    x = torch.ones(2, 4)
    with torch.no_grad():
        expected = compiled(x)
        monkeypatch.setattr(lazy._LazyGraphModule, "real_recompile", None)
        assert compiled(x).equal(expected)
