"""Whole numbers that grow evenly along every axis: what is said of them holds."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from differential import parsed
from whole_numbers import RELATIONS, Numbers
from xdsl.dialects import func
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.affine_tensors import AffineTensor, affine_tensor_of
from tlf.dialects.interfaces import Array, ReferenceInterface


def computed(text: str) -> dict[SSAValue, Array]:
    """Every value of a program."""
    _, module = parsed(text)
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    found: dict[SSAValue, Array] = {}
    for op in function.body.block.ops:
        if isinstance(op, ReferenceInterface):
            with np.errstate(over="ignore"):
                (result,) = op.compute_reference(*(found[each] for each in op.operands))
            found[op.results[0]] = result
    return found


@pytest.mark.parametrize("element", ["i64", "i32", "i8"])
def test_ramps_are_what_is_computed(element: str, draws: Callable[[int], int]):
    known = total = 0
    for seed in range(draws(40)):
        values = computed(Numbers(random.Random(seed), element).text())
        for value, array in values.items():
            total += 1
            if (ramp := affine_tensor_of(value)) is not None:
                known += 1
                assert ramp.shape == array.shape
                assert np.array_equal(ramp.to_array(), array), (seed, str(value.owner))
    assert known > 0.6 * total


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("number", [-1, 0, 3, 4, 5])
def test_comparisons_are_known_where_all_elements_agree(relation: str, number: int):
    text = f"""
func.func @compared() {{
  %0 = graph.iota axis 0 : tensor<5xi32>
  %1 = graph.constant dense<{number}> : tensor<i32>
  %2 = graph.compare %0, %1 <{relation}> : (tensor<5xi32>, tensor<i32>) -> tensor<5xi1>
  func.return
}}
"""
    *_, (value, array) = computed(text).items()
    agree = bool(array.all()) or not array.any()

    ramp = affine_tensor_of(value)
    # That no element of those between the first and the last is equal is not looked at.
    if not agree:
        assert ramp is None
    elif number in (-1, 5) or relation not in ("eq", "ne"):
        assert ramp == AffineTensor(int(array[0]), (0,), (5,))


def test_long_chains_are_left_alone():
    lines = ["%0 = graph.iota axis 0 : tensor<5xi32>"]
    lines += [f"%{n + 1} = graph.add %{n}, %{n} : tensor<5xi32>" for n in range(1_200)]
    body = "\n  ".join(lines)
    _, module = parsed(f"func.func @chain() {{\n  {body}\n  func.return\n}}")
    sums = [op for op in module.walk() if isinstance(op, graph.AddOp)]

    assert affine_tensor_of(sums[3].result) == AffineTensor(0, (16,), (5,))
    assert affine_tensor_of(sums[-1].result) is None
