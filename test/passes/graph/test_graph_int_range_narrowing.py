"""Whole numbers in 32 bits are those that 64 bits hold, and stored as they were."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from differential import parsed
from whole_numbers import Numbers
from xdsl.ir import Operation

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.graph_int_range_narrowing import GraphIntRangeNarrowingPass
from tlf.passes.graph.integer_bounds import IntegerBounds

CONSTANTS = (-(2**40), -(2**31), -3, -1, 0, 1, 2, 40, 2**16, 2**31 - 1)


def narrowed(text: str) -> list[Operation]:
    """The operations of a program after the pass."""
    context, module = parsed(text)
    GraphIntRangeNarrowingPass().apply(context, module)
    module.verify()
    return [op for op in module.walk() if op.name.startswith("graph.")]


def test_no_number_changes(draws: Callable[[int], int]):
    computed = narrow = 0
    for seed in range(draws(60)):
        text = Numbers(random.Random(seed), "i64", CONSTANTS).text()
        context, module = parsed(text)
        wanted = interpret(module, {})

        GraphIntRangeNarrowingPass().apply(context, module)
        module.verify()

        for found, expected in zip(interpret(module, {}), wanted, strict=True):
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected), seed
        elements = [
            str(element_type_of_value(op.results[0]))
            for op in module.walk()
            if isinstance(op, graph.AddOp | graph.SubOp | graph.MulOp | graph.AbsOp)
        ]
        computed += len(elements)
        narrow += elements.count("i32")
    assert 0.2 * computed < narrow < computed


@pytest.mark.parametrize("element", ["i64", "i32", "i8"])
def test_bounds_hold(element: str, draws: Callable[[int], int]):
    known = total = 0
    for seed in range(draws(40)):
        _, module = parsed(Numbers(random.Random(seed), element).text())
        bounds = IntegerBounds()
        (function,) = module.body.block.ops
        *_, end = function.regions[0].block.ops
        pairs = zip(end.operands, interpret(module, {}), strict=True)
        for value, array in pairs:
            total += 1
            if (found := bounds.range_of_tensor(value)) is not None:
                known += 1
                assert found[0] <= array.min()
                assert array.max() <= found[1]
    assert known > 0.6 * total


def test_distances_of_rows_and_columns():
    ops = narrowed(
        """
func.func @mask(%x: tensor<8x8xf32>, %t: tensor<15xf32>) -> tensor<8x8xf32> {
  %rows = graph.iota axis 0 : tensor<8x1xi64>
  %columns = graph.iota axis 1 : tensor<1x8xi64>
  %limit = graph.constant dense<3> : tensor<i64>
  %apart = graph.sub %rows, %columns
      : (tensor<8x1xi64>, tensor<1x8xi64>) -> tensor<8x8xi64>
  %rest = graph.rem %apart, %limit
      : (tensor<8x8xi64>, tensor<i64>) -> tensor<8x8xi64>
  %near = graph.compare %rest, %limit <lt>
      : (tensor<8x8xi64>, tensor<i64>) -> tensor<8x8xi1>
  %named = graph.take %t, %apart axis 0
      : (tensor<15xf32>, tensor<8x8xi64>) -> tensor<8x8xf32>
  %number = graph.cast %apart : (tensor<8x8xi64>) -> tensor<8x8xf32>
  %sum = graph.add %named, %number : tensor<8x8xf32>
  %y = graph.select %near, %x, %sum
      : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}
"""
    )
    read = (graph.SubOp, graph.RemOp, graph.CompareOp, graph.TakeOp, graph.IotaOp)
    for op in (each for each in ops if isinstance(each, read)):
        assert "i64" not in str(op), op


def test_nothing_is_known_of_arguments():
    ops = narrowed(
        """
func.func @numbers(%n: tensor<8xi64>) -> tensor<8xi64> {
  %one = graph.constant dense<1> : tensor<i64>
  %y = graph.add %n, %one : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
  func.return %y : tensor<8xi64>
}
"""
    )
    assert [op.name for op in ops] == ["graph.constant", "graph.add"]
