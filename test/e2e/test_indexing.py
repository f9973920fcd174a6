"""
Elements that indices name, at every stage and on the targets: bit for bit those of the
reference, whatever the indices are.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from differential import (
    Arrays,
    executed,
    make_case,
    parsed,
    printed,
    runnable,
    steps_of,
)
from differential import check as differential_check
from indexed_programs import DTYPES, Lookup, some_indices, some_table
from numpy.random import Generator

from tlf.dialects import graph, mem, tile
from tlf.dialects.entry import entry_point
from tlf.dialects.interpreters.run import interpret
from tlf.dialects.target import load
from tlf.dialects.types import tensor_type
from tlf.runtime.triton.sanitizers import sanitize
from tlf.tools.pass_manager import PassManager

Results = tuple[np.ndarray, ...]


@pytest.fixture(params=range(2))
def rng(request: pytest.FixtureRequest) -> Generator:
    """A generator for each round."""
    return np.random.default_rng(request.param)


def every_result(text: str, inputs: Arrays, name: str) -> Iterator[tuple[str, Results]]:
    """
    The results after every pass that changes a program, as long as it can be
    interpreted, and those of a target.
    """
    target = load(name)
    context, module = parsed(text)
    target.attach(module)
    before = ""
    for step in steps_of(target):
        PassManager([step]).run(context, module)
        if runnable(module) and (after := str(module)) != before:
            before = after
            yield step.name, interpret(module, inputs)
    program = printed(context, module, target)
    if name == "h200":
        with sanitize():
            yield name, executed(program, target, inputs)
    else:
        yield name, executed(program, target, inputs)


def bits(array: np.ndarray) -> bytes:
    """The array's bytes, with one NaN for all."""
    if array.dtype.kind in "ib":
        return array.tobytes()
    return np.where(np.isnan(array), array.dtype.type(np.nan), array).tobytes()


def check(text: str, inputs: Arrays, name: str = "h200") -> None:
    """Compare all stages with the reference."""
    expected = interpret(parsed(text)[1], inputs)
    for step, results in every_result(text, inputs, name):
        for found, wanted in zip(results, expected, strict=True):
            same = (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            assert same, step
            assert bits(found) == bits(wanted), f"after {step}"


def compiled(text: str, name: str = "h200") -> dict[type, int]:
    """How many loads by indices a program has on each level, and how many kernels."""
    target = load(name)
    context, module = parsed(text)
    target.attach(module)
    counted = (graph.GroupOp, tile.GatherOp, mem.GatherOp)
    most = dict.fromkeys(counted, 0)
    for step in steps_of(target):
        PassManager([step]).run(context, module)
        for kind in counted:
            count = sum(isinstance(op, kind) for op in module.walk())
            most[kind] = max(most[kind], count)
    return dict(most)


ROWS = Lookup("take", (19, 7), (5,), 0)

LOOKUPS = [
    ROWS,
    Lookup("take", (19, 7), (5,), 1),
    Lookup("take", (300, 33), (37,), 0, index="i32"),
    Lookup("take", (9,), (11,), 0),
    Lookup("take", (9,), (), 0, index="i32"),
    Lookup("take", (5, 6, 7), (2, 3), 1),
    Lookup("take", (5, 6, 7), (3,), 2, index="i32"),
    Lookup("take", (5, 6, 7), (), 1),
    Lookup("take", (3, 4, 130), (2, 1, 9), 0),
    Lookup("take", (1, 3), (6,), 0),
    Lookup("take", (3, 1), (6,), 1),
    Lookup("take", (1,), (1,), 0),
    Lookup("take", (3, 3000), (2,), 0),
    Lookup("take", (3000, 3), (2000,), 0),
    Lookup("gather", (19, 7), (5, 7), 0),
    Lookup("gather", (19, 7), (19, 5), 1, index="i32"),
    Lookup("gather", (9,), (31,), 0),
    Lookup("gather", (5, 6, 7), (4, 70, 3), 1),
    Lookup("gather", (5, 6, 1), (5, 2, 9), 2, index="i32"),
    Lookup("gather", (1, 6), (9, 6), 0),
    Lookup("gather", (1, 1), (1, 1), 1),
    Lookup("gather", (40, 90), (33, 77), 0),
]


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
    target = load("h200")
    context, module = parsed(WIDE.format(I=index))
    target.attach(module)
    PassManager(steps_of(target)).run(context, module)
    table = np.zeros((70000, 40000), np.int8)
    table[69999], table[53688] = 7, 5
    inputs = {"t": table, "n": np.array([69999, 53688, -1], DTYPES[index])}
    (found,) = executed(printed(context, module, target), target, inputs)
    assert found[:, [0, -1]].tolist() == [[7, 7], [5, 5], [0, 0]]
    assert (found == found[:, :1]).all()


TABLE, TOKENS, WORDS = "tensor<50x24xf32>", "tensor<3x7xi64>", "tensor<3x7x24xf32>"
TAKE = f"graph.take %t, %n axis 0 : ({TABLE}, {TOKENS}) -> {WORDS}"

FUSED = {
    "sum-of-two": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}, %p: tensor<7x24xf32>) -> {WORDS} {{
  %0 = {TAKE}
  %i = graph.iota axis 0 : tensor<7xi64>
  %1 = graph.take %p, %i axis 0
    : (tensor<7x24xf32>, tensor<7xi64>) -> tensor<7x24xf32>
  %y = graph.add %0, %1 : ({WORDS}, tensor<7x24xf32>) -> {WORDS}
  func.return %y : {WORDS}
}}""",
    "scaled": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> {WORDS} {{
  %0 = {TAKE}
  %c = graph.constant dense<4.5> : tensor<f32>
  %y = graph.mul %0, %c : ({WORDS}, tensor<f32>) -> {WORDS}
  func.return %y : {WORDS}
}}""",
    "computed-indices": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}, %m: {TOKENS}) -> {WORDS} {{
  %0 = graph.add %n, %m : ({TOKENS}, {TOKENS}) -> {TOKENS}
  %y = graph.take %t, %0 axis 0 : ({TABLE}, {TOKENS}) -> {WORDS}
  func.return %y : {WORDS}
}}""",
    "both-results": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> ({WORDS}, {WORDS}) {{
  %0 = {TAKE}
  %1 = graph.neg %0 : {WORDS}
  func.return %0, %1 : {WORDS}, {WORDS}
}}""",
    "greatest-of-row": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> tensor<3x7xf32> {{
  %0 = {TAKE}
  %y = graph.reduce %0 <max> axes [2] : ({WORDS}) -> tensor<3x7xf32>
  func.return %y : tensor<3x7xf32>
}}""",
    "greatest-of-words": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> tensor<3x24xf32> {{
  %0 = {TAKE}
  %y = graph.reduce %0 <min> axes [1] : ({WORDS}) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}}""",
    "transposed": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> tensor<24x3x7xf32> {{
  %0 = {TAKE}
  %y = graph.transpose %0 permutation [2, 0, 1] : ({WORDS}) -> tensor<24x3x7xf32>
  func.return %y : tensor<24x3x7xf32>
}}""",
    "constant-indices": f"""
func.func @main(%t: {TABLE}) -> {WORDS} {{
  %n = graph.constant dense<3> : {TOKENS}
  %y = {TAKE}
  func.return %y : {WORDS}
}}""",
}
"""Programs of one kernel, exact in f32."""

APART = {
    "computed-table": (
        f"""
func.func @main(%x: {TABLE}, %n: {TOKENS}) -> {WORDS} {{
  %t = graph.neg %x : {TABLE}
  %y = {TAKE}
  func.return %y : {WORDS}
}}""",
        2,
    ),
    "constant-table": (
        f"""
func.func @main(%n: {TOKENS}) -> {WORDS} {{
  %t = graph.constant dense<2.5> : {TABLE}
  %y = {TAKE}
  func.return %y : {WORDS}
}}""",
        2,
    ),
    "row-of-row": (
        f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}, %k: tensor<2xi32>) -> tensor<2x7x24xf32> {{
  %0 = {TAKE}
  %y = graph.take %0, %k axis 0
    : ({WORDS}, tensor<2xi32>) -> tensor<2x7x24xf32>
  func.return %y : tensor<2x7x24xf32>
}}""",
        2,
    ),
    "indices-of-indices": (
        f"""
func.func @main(%t: {TABLE}, %n: tensor<9xi64>, %k: {TOKENS}) -> {WORDS} {{
  %0 = graph.take %n, %k axis 0 : (tensor<9xi64>, {TOKENS}) -> {TOKENS}
  %y = graph.take %t, %0 axis 0 : ({TABLE}, {TOKENS}) -> {WORDS}
  func.return %y : {WORDS}
}}""",
        1,
    ),
    "own-indices": (
        """
func.func @main(%n: tensor<9xi64>) -> tensor<9xi64> {
  %y = graph.take %n, %n axis 0 : (tensor<9xi64>, tensor<9xi64>) -> tensor<9xi64>
  func.return %y : tensor<9xi64>
}""",
        1,
    ),
    "own-indices-computed": (
        """
func.func @main(%n: tensor<9xi64>) -> tensor<9xi64> {
  %0 = graph.neg %n : tensor<9xi64>
  %y = graph.take %0, %0 axis 0 : (tensor<9xi64>, tensor<9xi64>) -> tensor<9xi64>
  func.return %y : tensor<9xi64>
}""",
        2,
    ),
}
"""Programs, and how many kernels each takes: a table is never computed beside."""


def drawn(text: str, rng: Generator) -> dict[str, np.ndarray]:
    """Inputs for the arguments of a program."""
    arrays: dict[str, np.ndarray] = {}
    for argument in entry_point(parsed(text)[1], None).body.block.args:
        name, type_ = str(argument.name_hint), tensor_type(argument)
        element, shape = str(type_.element_type), type_.get_shape()
        if element.startswith("i"):
            arrays[name] = some_indices(rng, shape, element, 9)
        else:
            # Reductions may take either of two zeros.
            table = some_table(rng, shape, element)
            arrays[name] = np.add(table, np.float32(0))
    return arrays


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
