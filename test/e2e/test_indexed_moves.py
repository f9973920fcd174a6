"""
Elements that indices name, on NPUs whose moves follow indices: at every stage bit for
bit those of the reference, whatever the indices are.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from differential import (
    check as differential_check,
)
from differential import (
    limit_search,
    make_case,
    parsed,
    printed,
    steps_of,
)
from every_stage import check
from indexed_programs import APART, FUSED, LOOKUPS, ROWS, Lookup, drawn
from numpy.random import Generator
from predicted_cycles import predicted_and_taken
from random_lookups import random_lookup
from slow_chips import CHIPS, NPU_TYPES, slow_chip

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph, mem
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.passes.graph.graph_decompose import GraphDecomposePass

Slow = Callable[..., str]

FEW = 3
"""As many places are soon compared."""


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(11)


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    """A chip that moves rather than compares."""
    return slow_chip(tmp_path)


def compiled(text: str, target: TargetSpec) -> tuple[str, list[mem.DmaGatherOp], int]:
    """The text of a program, its moves by indices, and how many groups it has."""
    context, module = parsed(text)
    target.attach_to_module(module)
    moves: list[mem.DmaGatherOp] = []
    groups = 0
    for step in map(limit_search, steps_of(target)):
        PassManager([step]).run(context, module)
        found = [op for op in module.walk() if isinstance(op, mem.DmaGatherOp)]
        moves = found or moves
        groups = max(groups, sum(isinstance(o, graph.GroupOp) for o in module.walk()))
    return printed(context, module, target), moves, groups


@pytest.mark.one_in(11)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("lookup", LOOKUPS, ids=str)
def test_shapes_and_axes(lookup: Lookup, chip: str, slow: Slow, rng: Generator):
    name = slow(chip)
    check(lookup.text, lookup.inputs(rng), name)
    if lookup.table[lookup.axis] > FEW:
        assert "gather=" in compiled(lookup.text, load_target_spec(name))[0]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("index", ["i64", "i32"])
@pytest.mark.parametrize("element", NPU_TYPES)
@pytest.mark.parametrize("lookup", [ROWS, Lookup("gather", (6, 9), (5, 9), 0)], ids=str)
def test_element_types(
    lookup: Lookup, element: str, index: str, slow: Slow, rng: Generator
):
    lookup = replace(lookup, element=element, index=index)
    check(lookup.text, lookup.inputs(rng), slow("npu-tiny"))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", FUSED)
def test_neighbours(name: str, chip: str, slow: Slow, rng: Generator):
    check(FUSED[name], drawn(FUSED[name], rng), slow(chip))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", APART)
def test_tables_that_are_computed(name: str, chip: str, slow: Slow, rng: Generator):
    text, _ = APART[name]
    check(text, drawn(text, rng), slow(chip))


EMBED = """
func.func @main(%t: tensor<{V}x{W}xf32>, %n: tensor<{N}xi64>, %p: tensor<{N}x{W}xf32>)
    -> tensor<{N}x{W}xf32> {{
  %0 = graph.take %t, %n axis 0
      : (tensor<{V}x{W}xf32>, tensor<{N}xi64>) -> tensor<{N}x{W}xf32>
  %y = graph.add %0, %p
      : (tensor<{N}x{W}xf32>, tensor<{N}x{W}xf32>) -> tensor<{N}x{W}xf32>
  func.return %y : tensor<{N}x{W}xf32>
}}
"""


def test_rows_come_ahead(rng: Generator):
    """Rows of a table larger than L2: the next ones while these are added to."""
    text = EMBED.format(V=5000, W=64, N=301)
    inputs = drawn(text, rng) | {"n": rng.integers(-2, 5002, 301)}
    check(text, inputs, "npu-tiny")
    _, moves, groups = compiled(text, load_target_spec("npu-tiny"))
    assert (len(moves), groups) == (1, 1)
    assert moves[0].prefetch_distance == 1


def is_moved(text: str, target: TargetSpec) -> bool:
    """Return `True` if rows are left to a move that follows indices."""
    context, module = parsed(text)
    target.attach_to_module(module)
    PassManager([GraphDecomposePass()]).run(context, module)
    return any(isinstance(op, graph.TakeOp) for op in module.walk())


@pytest.mark.parametrize("chip", ["npu", *CHIPS])
def test_moves_are_chosen_where_they_are_faster(chip: str):
    """A vocabulary is moved, a few classes are compared."""
    many, few = (EMBED.format(V=places, W=64, N=32) for places in (5000, 3))
    assert is_moved(many, load_target_spec(chip))
    assert not is_moved(few, load_target_spec(chip))


def test_a_chip_without_rows_compares(slow: Slow):
    text = EMBED.format(V=300, W=8, N=9)
    assert is_moved(text, load_target_spec(slow("npu-tiny")))
    assert not is_moved(text, load_target_spec(slow("npu-tiny", "")))


@pytest.mark.parametrize("chip", ["npu", "npu-tiny", "bm1684x-like"])
def test_time_is_predicted(chip: str):
    """
    The time predicted before buffers and instructions exist matches the simulated time.
    """
    text = EMBED.format(V=5000, W=64, N=304)
    told, taken = predicted_and_taken(text, load_target_spec(chip))
    assert abs(told - taken) <= taken / 50


PUT = """
func.func @main(%x: tensor<50x24xf32>, %n: tensor<7x1xi64>, %u: tensor<7x24xf32>)
    -> tensor<50x24xf32> {
  %0 = graph.broadcast %n : (tensor<7x1xi64>) -> tensor<7x24xi64>
  %y = graph.scatter %x, %0, %u axis 0 <set>
      : (tensor<50x24xf32>, tensor<7x24xi64>, tensor<7x24xf32>) -> tensor<50x24xf32>
  func.return %y : tensor<50x24xf32>
}
"""


def test_slices_that_replace_others(slow: Slow, rng: Generator):
    name = slow("npu-tiny")
    check(PUT, drawn(PUT, rng), name)
    assert "scatter=" in compiled(PUT, load_target_spec(name))[0]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("seed", range(110, 126))
def test_random_lookups(seed: int, chip: str, slow: Slow):
    """Values that are read where others say, between all kinds of steps."""
    fault = differential_check(make_case(random_lookup(seed).text()), slow(chip))
    assert fault is None, str(fault)
