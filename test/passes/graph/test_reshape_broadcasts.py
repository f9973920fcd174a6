"""Products that read once what a broadcast repeats compute the same."""

from collections.abc import Mapping

import numpy as np
import pytest
from differential import disagreement, make_case
from xdsl.ir import BlockArgument
from xdsl.transforms.canonicalize import CanonicalizePass

from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.graph_hoist_reshapes import GraphHoistReshapesPass

ELEMENTS = ["f64", "f32", "f16", "bf16", "i64", "i32", "i8"]
WIDE = {"i8": "i32", "f16": "f32", "bf16": "f32"}


def shared_heads(
    sizes: Mapping[str, int], element: str, *, inner: bool, turned: bool
) -> str:
    """
    Attention whose heads share keys and values in groups: each is repeated for heads
    beside each other (`inner`) or apart; keys are read transposed (`turned`) or not.
    """
    b, g, r, q, k, d = (sizes[name] for name in "bgrqkd")
    h, acc = g * r, WIDE.get(element, element)
    alone, several = (f"{g}x1", f"{g}x{r}") if inner else (f"1x{g}", f"{r}x{g}")

    def tensor(shape: str, kind: str = element) -> str:
        return f"tensor<{shape}x{kind}>"

    def repeated(name: str) -> str:
        one, all_ = f"{b}x{alone}x{k}x{d}", f"{b}x{several}x{k}x{d}"
        merged = tensor(f"{b}x{h}x{k}x{d}")
        return f"""
  %{name}1 = graph.reshape %{name} : ({tensor(f"{b}x{g}x{k}x{d}")}) -> {tensor(one)}
  %{name}2 = graph.broadcast %{name}1 : ({tensor(one)}) -> {tensor(all_)}
  %{name}3 = graph.reshape %{name}2 : ({tensor(all_)}) -> {merged}"""

    keys, score = tensor(f"{b}x{h}x{k}x{d}"), f"{b}x{h}x{q}x{k}"
    turn, read, order = "", "%k3", "b, h, k, d"
    if turned:
        read, order, keys = "%k4", "b, h, d, k", tensor(f"{b}x{h}x{d}x{k}")
        turn = f"""
  %k4 = graph.transpose %k3 permutation [0, 1, 3, 2]
      : ({tensor(f"{b}x{h}x{k}x{d}")}) -> {keys}"""
    head, row = f"{b}x{h}x{q}x{d}", f"{b}x{h}x{q}x1"
    names = "(b, h, q, k, d)"
    return f"""
func.func @main(%q: {tensor(head)}, %k: {tensor(f"{b}x{g}x{k}x{d}")},
    %v: {tensor(f"{b}x{g}x{k}x{d}")}) -> {tensor(f"{b}x{q}x{h * d}")} {{{repeated("k")}{
        turn
    }
  %s = graph.contract %q, {read} maps [affine_map<{names} -> (b, h, q, d)>,
      affine_map<{names} -> ({order})>, affine_map<{names} -> (b, h, q, k)>] acc {acc}
      : ({tensor(head)}, {keys}) -> {tensor(score, acc)}
  %m = graph.reduce %s <max> axes [3] keepdims : ({tensor(score, acc)})
      -> {tensor(row, acc)}
  %n = graph.sub %s, %m : ({tensor(score, acc)}, {tensor(row, acc)})
      -> {tensor(score, acc)}
  %t = graph.cast %n : ({tensor(score, acc)}) -> {tensor(score)}{repeated("v")}
  %a = graph.contract %t, %v3 maps [affine_map<{names} -> (b, h, q, k)>,
      affine_map<{names} -> (b, h, k, d)>, affine_map<{names} -> (b, h, q, d)>]
      acc {acc}
      : ({tensor(score)}, {tensor(f"{b}x{h}x{k}x{d}")}) -> {tensor(head, acc)}
  %e = graph.cast %a : ({tensor(head, acc)}) -> {tensor(head)}
  %o = graph.transpose %e permutation [0, 2, 1, 3] : ({tensor(head)})
      -> {tensor(f"{b}x{q}x{h}x{d}")}
  %y = graph.reshape %o : ({tensor(f"{b}x{q}x{h}x{d}")}) -> {tensor(f"{b}x{q}x{h * d}")}
  func.return %y : {tensor(f"{b}x{q}x{h * d}")}
}}
"""


def random_heads(seed: int, element: str) -> str:
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(1, 4)) for name in "bgrqkd"}
    inner, turned = (bool(rng.integers(2)) for _ in range(2))
    return shared_heads(sizes, element, inner=inner, turned=turned)


@pytest.mark.one_in(1)
@pytest.mark.parametrize("target", ["npu", "h200"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("seed", range(12))
def test_same_results(seed: int, element: str, target: str):
    case = make_case(random_heads(seed, element))
    context, module = case.module()
    load_target_spec(target).attach_to_module(module)
    GraphHoistReshapesPass().apply(context, module)
    module.verify()

    assert disagreement(case, interpret(module, case.inputs)) is None


@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_nothing_is_repeated(turned: bool, inner: bool):
    sizes = dict(zip("bgrqkd", (2, 3, 4, 5, 6, 7), strict=True))
    case = make_case(shared_heads(sizes, "f32", inner=inner, turned=turned))
    context, module = case.module()
    GraphHoistReshapesPass().apply(context, module)
    CanonicalizePass().apply(context, module)

    assert not any(isinstance(op, graph.BroadcastOp) for op in module.walk())
    products = [op for op in module.walk() if isinstance(op, graph.ContractOp)]
    assert len(products) == 2
    assert all(len(op.iteration_domain()) == 6 for op in products)
    between = products[0].result
    assert not any(isinstance(use.operation, graph.ReshapeOp) for use in between.uses)


def test_what_only_one_factor_has_stays_repeated():
    """No product runs along an axis that no factor has."""
    case = make_case("""
func.func @main(%x: tensor<5x4xf32>, %w: tensor<2x4xf32>) -> tensor<5x6xf32> {
  %0 = graph.reshape %w : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  %1 = graph.broadcast %0 : (tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %2 = graph.reshape %1 : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %y = graph.contract %x, %2 maps [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      : (tensor<5x4xf32>, tensor<6x4xf32>) -> tensor<5x6xf32>
  func.return %y : tensor<5x6xf32>
}
""")
    context, module = case.module()
    GraphHoistReshapesPass().apply(context, module)
    module.verify()

    assert any(isinstance(op, graph.BroadcastOp) for op in module.walk())
    assert disagreement(case, interpret(module, case.inputs)) is None


def test_what_is_reduced_may_lose_its_axis():
    case = make_case("""
func.func @main(%x: tensor<2x3x5xf32>) -> tensor<2x3xf32> {
  %0 = graph.reshape %x : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %1 = graph.reduce %0 <sum> axes [1] keepdims : (tensor<6x5xf32>) -> tensor<6x1xf32>
  %2 = graph.reshape %1 : (tensor<6x1xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
""")
    context, module = case.module()
    GraphHoistReshapesPass().apply(context, module)
    module.verify()

    (sum_,) = (op for op in module.walk() if isinstance(op, graph.ReduceOp))
    assert isinstance(sum_.operand, BlockArgument)
    assert disagreement(case, interpret(module, case.inputs)) is None
