"""Choice between combinations in memory and comparisons, on GPUs."""

from dataclasses import replace

import pytest
from differential import parsed
from written_programs import Write

from tlf.dialects import graph
from tlf.dialects.target import load_target_spec
from tlf.planner.cost.gpu.combined_write_cost import CombinedWriteCost

LONG = {
    "vocabulary": Write("add", (50257, 768), (4096, 1), (4096, 768), 0),
    "nodes": Write("add", (100_000, 64), (1_000_000, 1), (1_000_000, 64), 0),
    "elements": Write("add", (1 << 20,), (1 << 20,), (1 << 20,), 0),
    "columns": Write("add", (512, 8192), (512, 4096), (512, 4096), 1),
}

SHORT = {
    "classes": Write("add", (4096, 10), (4096, 1), (4096, 1), 1),
    "positions": Write("add", (4, 64), (100_000, 64), (100_000, 64), 0),
    "histogram": Write("add", (16,), (1 << 20,), (1 << 20,), 0),
    "updates": Write("add", (2048, 1024), (2, 1), (2, 1024), 0),
}


def is_combined(write: Write, kind: str) -> bool:
    """Return `True` if a write is combined in memory on a GPU."""
    costs = CombinedWriteCost.from_target(load_target_spec("h200"))
    assert costs is not None
    _, module = parsed(replace(write, kind=kind).text)
    (op,) = (op for op in module.walk() if isinstance(op, graph.ScatterOp))
    return costs.is_combination_cheaper(op)


@pytest.mark.parametrize("kind", ["set", "add", "max", "min"])
@pytest.mark.parametrize("name", LONG)
def test_long_axes_are_combined_in_memory(name: str, kind: str):
    assert is_combined(LONG[name], kind)


@pytest.mark.parametrize("kind", ["set", "add", "max", "min", "mul"])
@pytest.mark.parametrize("name", SHORT)
def test_short_axes_are_compared(name: str, kind: str):
    assert not is_combined(SHORT[name], kind)


def test_products_are_compared():
    assert not is_combined(LONG["elements"], "mul")


def test_npu_combines_nothing_in_memory():
    assert CombinedWriteCost.from_target(load_target_spec("npu")) is None
