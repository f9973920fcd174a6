"""Attention of several heads of queries to one of keys and values, as one group."""

import pytest
from differential import check, make_case, parsed, steps_of

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph
from tlf.dialects.target import load_target_spec

TEXT = """
func.func @main(%q: tensor<{B}x4x{R}x16x{T}>, %k: tensor<{K}x1x40x16x{T}>,
                %v: tensor<{K}x1x40x16x{T}>, %mask: tensor<{R}x40xi1>)
    -> tensor<{B}x4x{R}x16x{T}> {{
  %t = graph.transpose %k permutation [0, 1, 3, 2]
      : (tensor<{K}x1x40x16x{T}>) -> tensor<{K}x1x16x40x{T}>
  %s = graph.matmul %q, %t
      : (tensor<{B}x4x{R}x16x{T}>, tensor<{K}x1x16x40x{T}>) -> tensor<{B}x4x{R}x40x{T}>
  %least = graph.constant dense<-60000.0> : tensor<{T}>
  %m = graph.select %mask, %s, %least
      : (tensor<{R}x40xi1>, tensor<{B}x4x{R}x40x{T}>, tensor<{T}>)
      -> tensor<{B}x4x{R}x40x{T}>
  %p = graph.softmax %m axis 3 : (tensor<{B}x4x{R}x40x{T}>) -> tensor<{B}x4x{R}x40x{T}>
  %y = graph.matmul %p, %v
      : (tensor<{B}x4x{R}x40x{T}>, tensor<{K}x1x40x16x{T}>) -> tensor<{B}x4x{R}x16x{T}>
  func.return %y : tensor<{B}x4x{R}x16x{T}>
}}
"""

SIZES = [(1, 1, 24), (2, 2, 24), (2, 1, 24), (2, 2, 1)]
"""Batches of queries, batches of keys and values, and queries of each."""


def program(sizes: tuple[int, int, int], element: str) -> str:
    batch, keys, rows = sizes
    return TEXT.format(B=batch, K=keys, R=rows, T=element)


@pytest.mark.parametrize("sizes", SIZES)
def test_one_group(sizes: tuple[int, int, int]):
    context, module = parsed(program(sizes, "f16"))
    target = load_target_spec("h200")
    target.attach_to_module(module)
    steps = steps_of(target)
    names = [each.name for each in steps]
    PassManager(steps[: names.index("graph-group") + 1]).run(context, module)

    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    assert sum(isinstance(op, graph.ContractOp) for op in group.walk()) == 2


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", ["h200", "npu"])
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("sizes", SIZES)
def test_values(sizes: tuple[int, int, int], element: str, target: str):
    fault = check(make_case(program(sizes, element)), target, stages=False)
    assert fault is None, str(fault)
