"""
Writes where indices say, on NPUs whose moves follow indices: at every stage bit for bit
those of the reference, whatever the indices are.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from differential import (
    limit_search,
    parsed,
    printed,
    steps_of,
)
from every_stage import check
from indexed_programs import drawn
from numpy.random import Generator
from predicted_cycles import predicted_and_taken
from slow_chips import CHIPS, NPU_TYPES, slow_chip
from written_programs import AROUND, PLACES, ROWS, WRITES, Write

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.graph_decompose import GraphDecomposePass
from tlf.runtime import npu

Slow = Callable[..., str]


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(11)


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    """A chip that moves rather than compares."""
    return slow_chip(tmp_path)


def compiled(text: str, chip: str) -> str:
    """The text of a program."""
    context, module = parsed(text)
    target = load_target_spec(chip)
    target.attach_to_module(module)
    PassManager(tuple(map(limit_search, steps_of(target)))).run(context, module)
    return printed(context, module, target)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("write", WRITES, ids=str)
def test_shapes_and_axes(write: Write, chip: str, slow: Slow, rng: Generator):
    name = slow(chip)
    check(write.text, write.inputs(rng), name)
    if write.table[write.axis] > 1:
        assert "scatter=" in compiled(write.text, name)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("index", ["i64", "i32"])
@pytest.mark.parametrize("element", NPU_TYPES)
@pytest.mark.parametrize("kind", ["add", "set"])
@pytest.mark.parametrize("write", [ROWS, PLACES], ids=str)
def test_element_types(
    write: Write, kind: str, element: str, index: str, slow: Slow, rng: Generator
):
    if (kind, element) == ("add", "i1"):
        return
    write = replace(write, kind=kind, element=element, index=index)
    name = slow("npu-tiny")
    check(write.text, write.inputs(rng), name)
    assert "scatter=" in compiled(write.text, name)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", AROUND)
def test_neighbours(name: str, chip: str, slow: Slow, rng: Generator):
    check(AROUND[name], drawn(AROUND[name], rng), slow(chip))
    assert "scatter=" in compiled(AROUND[name], slow(chip))


@pytest.mark.parametrize("kind", ["set", "add"])
def test_equal_indices(kind: str, slow: Slow, rng: Generator):
    """All updates for one place, over several tiles: in their order."""
    write = Write(kind, (9, 24), (300, 1), (300, 24), 0)
    scale = 2.0 ** rng.integers(-20, 20, (300, 24))
    updates = (rng.standard_normal((300, 24)) * scale).astype(np.float32)
    zeros = np.zeros((9, 24), np.float32)
    inputs = {"x": zeros, "n": np.full((300, 1), 3), "u": updates}
    check(write.text, inputs, slow("npu-tiny"))
    (found,) = interpret(parsed(write.text)[1], inputs)
    sums = np.add.accumulate(updates, dtype=np.float32)
    assert np.array_equal(found[3], updates[-1] if kind == "set" else sums[-1])
    assert not np.delete(found, 3, 0).any()


def is_moved(write: Write, chip: str) -> bool:
    """Return `True` if rows are left to a move that follows indices."""
    context, module = parsed(write.text)
    load_target_spec(chip).attach_to_module(module)
    PassManager([GraphDecomposePass()]).run(context, module)
    return any(isinstance(op, graph.ScatterOp) for op in module.walk())


@pytest.mark.parametrize("kind", ["set", "add"])
@pytest.mark.parametrize("chip", ["npu", *CHIPS])
def test_moves_are_chosen_where_they_are_faster(chip: str, kind: str):
    """Rows of a vocabulary are moved, those of a few classes compared."""
    many, few = (
        Write(kind, (places, 64), (500, 1), (500, 64), 0) for places in (5000, 3)
    )
    assert is_moved(many, chip)
    assert not is_moved(few, chip)


def test_a_chip_without_rows_compares(slow: Slow):
    assert is_moved(PLACES, slow("npu-tiny"))
    assert not is_moved(PLACES, slow("npu-tiny", ""))


def cycles_of(write: Write, chip: str) -> int:
    """Return the simulated cycles of a program."""
    program = npu.parse(compiled(write.text, chip))
    return npu.run(program, {}, functional=False).cycles


@pytest.mark.parametrize(
    "write",
    [
        Write("add", (4096, 64), (256, 1), (256, 64), 0),
        Write("set", (64, 4096), (64, 64), (64, 64), 1),
    ],
    ids=str,
)
def test_time_is_that_of_bytes(write: Write):
    """
    Places are not multiplied by indices: the table is copied, updates come, and go to
    whole bursts, which are read before where they are added to.
    """
    table, updates = np.prod(write.table), np.prod(write.updates)
    burst, bandwidth = 256, 64
    rows = updates // 64 if write.axis == 0 else updates
    moved = rows * burst * (2 if write.kind == "add" else 1)
    named = np.prod(write.indices) * 8
    least = (2 * 4 * table + 4 * updates + named + moved) / bandwidth
    assert cycles_of(write, "npu") <= 1.1 * least + 4000


@pytest.mark.parametrize("chip", ["npu", "npu-tiny", "bm1684x-like"])
def test_time_is_predicted(chip: str):
    """
    The time predicted before buffers and instructions exist matches the simulated time.
    """
    text = Write("add", (2000, 64), (900, 1), (900, 64), 0).text
    told, taken = predicted_and_taken(text, load_target_spec(chip))
    assert abs(told - taken) <= taken / 50
