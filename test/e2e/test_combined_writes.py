"""
Writes where indices say, on GPUs that combine elements of memory in any order: at every
stage bit for bit those of the reference, whatever the indices are.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from differential import parsed
from every_stage import check
from indexed_programs import drawn
from numpy.random import Generator
from slow_chips import NPU_TYPES, slow_chip
from written_programs import AROUND, PLACES, ROWS, WRITES, Write

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph
from tlf.dialects.interfaces import Array
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.graph_decompose import GraphDecomposePass

KINDS = ("set", "add", "max", "min")


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(11)


@pytest.fixture
def slow(tmp_path: Path) -> str:
    """A GPU that combines rather than compares."""
    return slow_chip(tmp_path)("h200")


def exact_inputs(inputs: dict[str, Array]) -> dict[str, Array]:
    """
    Return inputs with floats whose sums are exact and whose zeros are positive, so that
    results do not depend on the order of updates.
    """
    return {
        name: (np.round(array.astype(np.float64) * 4) / 4 + 0.0).astype(array.dtype)
        if array.dtype.kind not in "ib"
        else array
        for name, array in inputs.items()
    }


def combined_writes_of(text: str, chip: str) -> list[graph.ScatterOp]:
    """Return the writes that a chip combines in memory."""
    context, module = parsed(text)
    load_target_spec(chip).attach_to_module(module)
    PassManager([GraphDecomposePass()]).run(context, module)
    return [op for op in module.walk() if isinstance(op, graph.ScatterOp)]


@pytest.mark.one_in(11)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("write", WRITES, ids=str)
def test_shapes_and_axes(write: Write, kind: str, slow: str, rng: Generator):
    write = replace(write, kind=kind)
    check(write.text, exact_inputs(write.inputs(rng)), slow)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("index", ["i64", "i32"])
@pytest.mark.parametrize("element", NPU_TYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("write", [ROWS, PLACES], ids=str)
def test_element_types(
    write: Write, kind: str, element: str, index: str, slow: str, rng: Generator
):
    if (kind, element) == ("add", "i1"):
        return
    write = replace(write, kind=kind, element=element, index=index)
    check(write.text, exact_inputs(write.inputs(rng)), slow)
    assert combined_writes_of(write.text, slow)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", AROUND)
def test_neighbours(name: str, slow: str, rng: Generator):
    check(AROUND[name], exact_inputs(drawn(AROUND[name], rng)), slow)
    assert combined_writes_of(AROUND[name], slow)
