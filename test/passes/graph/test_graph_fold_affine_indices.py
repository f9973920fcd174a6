"""
Values that depend on an affine index tensor alone are computed once per index, bit for
bit.
"""

import random
from collections.abc import Callable

import numpy as np
import pytest
from differential import check, make_case, parsed
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from tlf.dialects import graph
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.graph_fold_affine_indices import GraphFoldAffineIndicesPass
from tlf.tools.run_inputs import make_inputs

STEPS = (
    "graph.abs %{0} : {i}",
    "graph.neg %{0} : {i}",
    "graph.mul %{0}, %three : ({i}, tensor<i64>) -> {i}",
    "graph.rem %{0}, %three : ({i}, tensor<i64>) -> {i}",
    "graph.maximum %{0}, %{1} : {i}",
    "graph.add %{0}, %{1} : {i}",
    "graph.minimum %{0}, %many : ({i}, tensor<i64>) -> {i}",
)


def buckets(seed: int) -> str:
    """A table that is taken of at places that are computed of sums of indices."""
    draw = random.Random(seed)
    rows, columns = draw.choice([5, 16, 23]), draw.choice([7, 16, 31])
    first, second = draw.choice([-2, -1, 1, 3]), draw.choice([-1, 1, 2])
    type_ = f"tensor<{rows}x{columns}xi64>"
    lines: list[str] = []
    for number in range(2, 2 + draw.randrange(1, 7)):
        step = draw.choice(STEPS)
        places = [draw.randrange(number), number - 1]
        lines.append(f"  %{number} = {step.format(*places, i=type_)}")
    last = len(lines) + 1
    heads = draw.choice([1, 3])
    big = f"tensor<{rows}x{columns}x{heads}xf32>"
    return f"""
func.func @buckets(%x: {big}, %t: tensor<12x{heads}xf32>) -> {big} {{
  %i = graph.iota axis 0 : tensor<{rows}x1xi64>
  %j = graph.iota axis 0 : tensor<{columns}xi64>
  %first = graph.constant dense<{first}> : tensor<i64>
  %second = graph.constant dense<{second}> : tensor<i64>
  %three = graph.constant dense<3> : tensor<i64>
  %many = graph.constant dense<9> : tensor<i64>
  %a = graph.mul %i, %first
      : (tensor<{rows}x1xi64>, tensor<i64>) -> tensor<{rows}x1xi64>
  %b = graph.mul %j, %second
      : (tensor<{columns}xi64>, tensor<i64>) -> tensor<{columns}xi64>
  %0 = graph.add %a, %b
      : (tensor<{rows}x1xi64>, tensor<{columns}xi64>) -> {type_}
  %1 = graph.sub %0, %three : ({type_}, tensor<i64>) -> {type_}
{chr(10).join(lines)}
  %g = graph.take %t, %{last} axis 0 : (tensor<12x{heads}xf32>, {type_}) -> {big}
  %y = graph.add %x, %g : {big}
  func.return %y : {big}
}}
"""


def folded(text: str) -> tuple[ModuleOp, bool]:
    """A program after the pass, which computes what it did; and whether it changed."""
    context, module = parsed(text)
    inputs = make_inputs(find_entry_point(module), (), 3)
    wanted = interpret(module, inputs)
    before = str(module)

    GraphFoldAffineIndicesPass().apply(context, module)
    module.verify()

    for found, expected in zip(interpret(module, inputs), wanted, strict=True):
        assert np.array_equal(found, expected)
    return module, str(module) != before


def test_no_bit_changes(draws: Callable[[int], int]):
    texts = [buckets(seed) for seed in range(draws(60))]
    changed = [folded(text)[1] for text in texts]

    assert sum(changed) > 0.8 * len(texts)


BIASES = """
!i = tensor<37x41xi64>
!f = tensor<37x41xf32>
!b = tensor<3x37x41xf32>
func.func @biases(%x: !b, %t: tensor<16x3xf32>) -> !b {
  %i = graph.iota axis 0 : tensor<37x1xi64>
  %j = graph.iota axis 0 : tensor<41xi64>
  %zero = graph.constant dense<0> : tensor<i64>
  %eight = graph.constant dense<8> : tensor<i64>
  %last = graph.constant dense<7> : tensor<i64>
  %scale = graph.constant dense<1.7> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %apart = graph.sub %j, %i : (tensor<41xi64>, tensor<37x1xi64>) -> !i
  %far = graph.abs %apart : !i
  %real = graph.cast %far : (!i) -> !f
  %more = graph.add %real, %one : (!f, tensor<f32>) -> !f
  %log = graph.log %more : !f
  %scaled = graph.mul %log, %scale : (!f, tensor<f32>) -> !f
  %whole = graph.cast %scaled : (!f) -> !i
  %near = graph.minimum %whole, %last : (!i, tensor<i64>) -> !i
  %behind = graph.compare %apart, %zero <gt> : (!i, tensor<i64>) -> tensor<37x41xi1>
  %side = graph.cast %behind : (tensor<37x41xi1>) -> !i
  %offset = graph.mul %side, %eight : (!i, tensor<i64>) -> !i
  %bucket = graph.add %near, %offset : !i
  %g = graph.take %t, %bucket axis 0 : (tensor<16x3xf32>, !i) -> tensor<37x41x3xf32>
  %bias = graph.transpose %g permutation [2, 0, 1] : (tensor<37x41x3xf32>) -> !b
  %decay = graph.neg %log : !f
  %weight = graph.exp %decay : !f
  %moved = graph.mul %x, %weight : (!b, !f) -> !b
  %y = graph.add %moved, %bias : !b
  func.return %y : !b
}
"""
"""Buckets of relative positions, and weights that fall with the distance."""


def test_buckets_and_functions_of_distances():
    module, changed = folded(BIASES)

    assert changed
    kinds = [op for op in module.walk() if isinstance(op, graph.LogOp | graph.TakeOp)]
    gathered = [op for op in module.walk() if isinstance(op, graph.UnfoldOp)]
    assert len(gathered) == 2
    used = [op for op in kinds if op.results[0].uses.get_length()]
    assert "77x" in " ".join(str(op.results[0].type) for op in used)
    context, _ = parsed(BIASES)
    CanonicalizePass().apply(context, module)
    left = {str(op.results[0].type) for op in module.walk() if op.name == "graph.log"}
    assert left == {"tensor<77xf32>"}


def test_long_chains_are_left_alone():
    steps = [f"  %{n + 1} = graph.rem %{n}, %three : !i" for n in range(1_200)]
    text = f"""
!i = tensor<9x9xi64>
func.func @taken(%t: tensor<40xf32>) -> tensor<9x9xf32> {{
  %i = graph.iota axis 0 : !i
  %j = graph.iota axis 1 : !i
  %three = graph.constant dense<3> : !i
  %0 = graph.sub %i, %j : !i
{chr(10).join(steps)}
  %y = graph.take %t, %1200 axis 0 : (tensor<40xf32>, !i) -> tensor<9x9xf32>
  func.return %y : tensor<9x9xf32>
}}
"""
    assert not folded(text)[1]


@pytest.mark.parametrize("target", ["npu-tiny", "npu", "h200"])
def test_on_targets(target: str):
    assert check(make_case(BIASES), target) is None


@pytest.mark.parametrize(
    "line",
    [
        "%at = graph.mul %i, %j : (tensor<9x1xi64>, tensor<9xi64>) -> !i",
        "%at = graph.add %j, %zeros : (tensor<9xi64>, !i) -> !i",
        "%at = graph.add %n, %d : !i",
        "%at = graph.mul %d, %s : !i",
    ],
    ids=["product", "one axis", "argument", "two sums"],
)
def test_other_places_stay(line: str):
    text = f"""
!i = tensor<9x9xi64>
func.func @taken(%t: tensor<40xf32>, %n: !i) -> tensor<9x9xf32> {{
  %i = graph.iota axis 0 : tensor<9x1xi64>
  %j = graph.iota axis 0 : tensor<9xi64>
  %zeros = graph.constant dense<0> : !i
  %d = graph.sub %i, %j : (tensor<9x1xi64>, tensor<9xi64>) -> !i
  %s = graph.add %i, %j : (tensor<9x1xi64>, tensor<9xi64>) -> !i
  {line}
  %y = graph.take %t, %at axis 0 : (tensor<40xf32>, !i) -> tensor<9x9xf32>
  func.return %y : tensor<9x9xf32>
}}
"""
    assert not folded(text)[1]
