"""
Gathers by affine index tensors become moves by a map: forwards, backwards, and beyond
borders, on both targets.
"""

import random

import pytest
from differential import check, make_case, parsed
from xdsl.transforms.canonicalize import CanonicalizePass

from tlf.dialects import graph

TARGETS = ("npu-tiny:L2=8K,L1=1K", "npu", "h200")


def gathered(seed: int, element: str) -> str:
    """A tensor, plus what a map with factors of either sign gathers of another one."""
    draw = random.Random(seed)
    shape = [draw.choice([2, 3]), draw.choice([5, 13, 29]), draw.choice([7, 16, 33])]
    factors = [draw.choice([-2, -1, 1, 2]), draw.choice([-2, -1, 1])]
    ends = [f * (extent - 1) for f, extent in zip(factors, shape[1:], strict=True)]
    length = sum(map(abs, ends)) + 1
    beyond = draw.choice([0, 0, 2])
    start = -sum(min(0, end) for end in ends) - draw.choice([0, beyond])
    place = f"i * {factors[0]} + j * {factors[1]} + {start}"
    big, table = (
        f"tensor<{'x'.join(map(str, each))}x{element}>"
        for each in (shape, (shape[0], length - draw.choice([0, beyond])))
    )
    fill = "1.0" if element != "i32" else "1"
    made = draw.choice(["graph.neg", "graph.abs"])
    return f"""
func.func @gathered(%x: {big}, %t: {table}) -> {big} {{
  %e = {made} %t : {table}
  %source = graph.add %e, %t : {table}
  %g = graph.unfold %source map affine_map<(h, i, j) -> (h, {place})> fill {fill}
      : ({table}) -> {big}
  %y = graph.add %x, %g : {big}
  func.return %y : {big}
}}
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("element", ["f32", "f16", "i32"])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("target", TARGETS)
def test_maps_of_either_sign(seed: int, element: str, target: str):
    case = make_case(gathered(seed, element), seed)
    assert check(case, target, stages=False, plans=seed) is None


def named(kind: str) -> str:
    """Elements at distances of rows and columns, by head, of all and of some places."""
    first = 18 if kind != "beyond" else 9
    return f"""
!i = tensor<19x14xi64>
func.func @named(%x: tensor<3x19x14xf32>, %t: tensor<32x3xf32>)
    -> tensor<3x19x14xf32> {{
  %rows = graph.iota axis 0 : tensor<19x1xi64>
  %columns = graph.iota axis 0 : tensor<14xi64>
  %first = graph.constant dense<{first}> : tensor<i64>
  %zero = graph.constant dense<0> : tensor<i64>
  %count = graph.constant dense<32> : tensor<i64>
  %apart = graph.sub %columns, %rows : (tensor<14xi64>, tensor<19x1xi64>) -> !i
  %place = graph.add %apart, %first : (!i, tensor<i64>) -> !i
  %below = graph.compare %place, %zero <lt> : (!i, tensor<i64>) -> tensor<19x14xi1>
  %around = graph.add %place, %count : (!i, tensor<i64>) -> !i
  %at = graph.select %below, %around, %place : (tensor<19x14xi1>, !i, !i) -> !i
  %g = graph.take %t, {"%place" if kind == "beyond" else "%at"} axis 0
      : (tensor<32x3xf32>, !i) -> tensor<19x14x3xf32>
  %b = graph.transpose %g permutation [2, 0, 1]
      : (tensor<19x14x3xf32>) -> tensor<3x19x14xf32>
  %y = graph.add %x, %b : tensor<3x19x14xf32>
  func.return %y : tensor<3x19x14xf32>
}}
"""


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["inside", "beyond"])
def test_distances_name_nothing(kind: str, target: str):
    """Places outside of the table have no element, and are 0."""
    assert check(make_case(named(kind)), target) is None


@pytest.mark.parametrize("kind", ["inside", "beyond"])
def test_no_index_is_left(kind: str):
    context, module = parsed(named(kind))
    CanonicalizePass().apply(context, module)

    left = [op.name for op in module.walk() if op.name.startswith("graph.")]
    assert left == ["graph.unfold", "graph.add"]
    (made,) = (op for op in module.walk() if isinstance(op, graph.UnfoldOp))
    reaches_out = made.padding_value(0) is not None
    assert reaches_out == (kind == "beyond")
