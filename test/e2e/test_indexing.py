"""
Elements that indices name, at every stage and on the targets: bit for bit those of the
reference, whatever the indices are.
"""

from dataclasses import replace

import numpy as np
import pytest
from differential import (
    check as differential_check,
)
from differential import (
    executed,
    limit_search,
    make_case,
    parsed,
    printed,
    steps_of,
)
from every_stage import check, every_result
from indexed_programs import APART, DTYPES, FUSED, LOOKUPS, ROWS, Lookup, drawn
from numpy.random import Generator

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph, mem, tile
from tlf.dialects.target import load_target_spec


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> Generator:
    """A generator for each round."""
    return np.random.default_rng(request.param)


def compiled(text: str, name: str = "h200") -> dict[type, int]:
    """
    Return the numbers of indexed loads of a program on each level, and of its kernels.
    """
    target = load_target_spec(name)
    context, module = parsed(text)
    target.attach_to_module(module)
    counted = (graph.GroupOp, tile.GatherOp, mem.GatherOp)
    most = dict.fromkeys(counted, 0)
    for step in map(limit_search, steps_of(target)):
        PassManager([step]).run(context, module)
        for kind in counted:
            count = sum(isinstance(op, kind) for op in module.walk())
            most[kind] = max(most[kind], count)
    return dict(most)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("lookup", LOOKUPS, ids=str)
def test_shapes_and_axes(lookup: Lookup, rng: Generator):
    check(lookup.text, lookup.inputs(rng))
    assert set(compiled(lookup.text).values()) == {1}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("index", ["i64", "i32"])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("lookup", [ROWS, Lookup("gather", (6, 9), (5, 9), 0)], ids=str)
def test_element_types(lookup: Lookup, element: str, index: str):
    lookup = replace(lookup, element=element, index=index)
    check(lookup.text, lookup.inputs(np.random.default_rng(2)))


@pytest.mark.one_in(1)
@pytest.mark.parametrize("lookup", [ROWS, Lookup("gather", (6, 9), (5, 9), 0)], ids=str)
def test_targets_without_indexed_loads_compare(lookup: Lookup, rng: Generator):
    check(lookup.text, lookup.inputs(rng), "npu-tiny")
    assert compiled(lookup.text, "npu-tiny")[tile.GatherOp] == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [(1,), (8,), (9,)])
@pytest.mark.parametrize("index", ["i64", "i32"])
def test_nothing_is_found_outside(shape: tuple[int, ...], index: str):
    lookup = Lookup("take", (3, 4), shape, 0, index=index)
    limits = np.iinfo(DTYPES[index].name)
    table = np.ones(lookup.table, np.float32)
    for outside in (-1, -3, 3, limits.min, limits.max, 2**31 - 1, -(2**31)):
        indices = np.full(shape, outside, DTYPES[index])
        inputs = {"t": table, "n": indices}
        for step, (found,) in every_result(lookup.text, inputs, "h200"):
            assert not found.any(), step


def test_a_vocabulary(rng: Generator):
    lookup = Lookup("take", (50257, 64), (37,), 0)
    check(lookup.text, lookup.inputs(rng))


WIDE = """
func.func @main(%t: tensor<70000x40000xi8>, %n: tensor<3x{I}>) -> tensor<3x40000xi8> {{
  %y = graph.take %t, %n axis 0
    : (tensor<70000x40000xi8>, tensor<3x{I}>) -> tensor<3x40000xi8>
  func.return %y : tensor<3x40000xi8>
}}
"""


@pytest.mark.parametrize("index", ["i64", "i32"])
def test_offsets_beyond_32_bits(index: str):
    """A table of which, but for two rows, only addresses are used."""
    target = load_target_spec("h200")
    context, module = parsed(WIDE.format(I=index))
    target.attach_to_module(module)
    PassManager(tuple(map(limit_search, steps_of(target)))).run(context, module)
    table = np.zeros((70000, 40000), np.int8)
    table[69999], table[53688] = 7, 5
    inputs = {"t": table, "n": np.array([69999, 53688, -1], DTYPES[index])}
    (found,) = executed(printed(context, module, target), target, inputs)
    assert found[:, [0, -1]].tolist() == [[7, 7], [5, 5], [0, 0]]
    assert (found == found[:, :1]).all()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", FUSED)
def test_neighbours_run_together(name: str, rng: Generator):
    check(FUSED[name], drawn(FUSED[name], rng))
    assert compiled(FUSED[name])[graph.GroupOp] == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", APART)
def test_tables_are_whole(name: str, rng: Generator):
    text, groups = APART[name]
    check(text, drawn(text, rng))
    assert compiled(text)[graph.GroupOp] == groups


LAYERS = {
    "normalized": """
func.func @main(%t: tensor<50x24x{T}>, %n: tensor<3x7xi64>, %p: tensor<7x24x{T}>,
                %w: tensor<24x{T}>) -> tensor<3x7x24x{T}> {{
  %0 = graph.take %t, %n axis 0
    : (tensor<50x24x{T}>, tensor<3x7xi64>) -> tensor<3x7x24x{T}>
  %1 = graph.add %0, %p
    : (tensor<3x7x24x{T}>, tensor<7x24x{T}>) -> tensor<3x7x24x{T}>
  %y = graph.layer_norm %1 weight %w epsilon 1.0e-5
    : (tensor<3x7x24x{T}>, tensor<24x{T}>) -> tensor<3x7x24x{T}>
  func.return %y : tensor<3x7x24x{T}>
}}""",
    "multiplied": """
func.func @main(%t: tensor<50x70x{T}>, %n: tensor<37xi64>, %w: tensor<70x33x{T}>)
    -> tensor<37x33x{T}> {{
  %0 = graph.take %t, %n axis 0
    : (tensor<50x70x{T}>, tensor<37xi64>) -> tensor<37x70x{T}>
  %y = graph.matmul %0, %w
    : (tensor<37x70x{T}>, tensor<70x33x{T}>) -> tensor<37x33x{T}>
  func.return %y : tensor<37x33x{T}>
}}""",
    "multiplied-along": """
func.func @main(%t: tensor<50x33x{T}>, %n: tensor<37xi64>, %w: tensor<29x37x{T}>)
    -> tensor<29x33x{T}> {{
  %0 = graph.take %t, %n axis 0
    : (tensor<50x33x{T}>, tensor<37xi64>) -> tensor<37x33x{T}>
  %y = graph.matmul %w, %0
    : (tensor<29x37x{T}>, tensor<37x33x{T}>) -> tensor<29x33x{T}>
  func.return %y : tensor<29x33x{T}>
}}""",
    "bag": """
func.func @main(%t: tensor<50x24x{T}>, %n: tensor<5x37xi32>) -> tensor<5x24x{T}> {{
  %0 = graph.take %t, %n axis 0
    : (tensor<50x24x{T}>, tensor<5x37xi32>) -> tensor<5x37x24x{T}>
  %y = graph.mean %0 axes [1] : (tensor<5x37x24x{T}>) -> tensor<5x24x{T}>
  func.return %y : tensor<5x24x{T}>
}}""",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_take_rows_as_they_need_them(name: str, element: str):
    text = LAYERS[name].format(T=element)
    fault = differential_check(make_case(text), "h200")
    assert fault is None, str(fault)
    assert compiled(text)[graph.GroupOp] == 1
