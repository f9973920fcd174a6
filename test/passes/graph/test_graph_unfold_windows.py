"""Programs on windows compute the same once their windows are unfolded."""

import numpy as np
import pytest
from differential import disagreement, make_case
from xdsl.passes import ModulePass

from tlf.dialects.interfaces import WindowInterface
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.graph_decompose import GraphDecomposePass
from tlf.passes.graph.graph_unfold_windows import GraphUnfoldWindowsPass

ELEMENTS = ["f64", "f32", "f16", "bf16", "i64", "i32", "i8"]


def list_of(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    return [int(n) for n in rng.integers(low, high, count)]


def random_program(seed: int, element: str) -> str:
    """A convolution with an init, and the pools of what it computes."""
    rng = np.random.default_rng(seed)
    groups = int(rng.choice([1, 2, 3]))
    channels, filters = (
        groups * int(rng.integers(1, 3)),
        groups * int(rng.integers(1, 4)),
    )
    taps, strides, dilation = (list_of(rng, 1, most, 2) for most in (4, 3, 3))
    padding = list_of(rng, 0, 3, 4)
    wide = {"i8": "i32", "f16": "f32", "bf16": "f32"}.get(element, element)
    extents = [
        (13 + padding[n] + padding[2 + n] - dilation[n] * (taps[n] - 1) - 1)
        // strides[n]
        + 1
        for n in range(2)
    ]
    images = f"tensor<2x{channels}x13x13x{element}>"
    weights = f"tensor<{filters}x{channels // groups}x{taps[0]}x{taps[1]}x{element}>"
    shape = f"2x{filters}x{extents[0]}x{extents[1]}"
    result = f"tensor<{shape}x{wide}>"
    pooled = f"tensor<2x{filters}x{extents[0] // 2}x{extents[1] // 2}x{wide}>"
    return f"""
func.func @main(%x: {images}, %w: {weights}, %c: {result})
    -> ({result}, {pooled}, {pooled}) {{
  %y = graph.conv2d %x, %w init %c strides {strides} padding {padding}
    dilation {dilation} groups {groups} acc {wide}
    : ({images}, {weights}, {result}) -> {result}
  %0 = graph.max_pool2d %y kernel [2, 2] strides [2, 2] : ({result}) -> {pooled}
  %1 = graph.sum_pool2d %y init %0 kernel [2, 2] strides [2, 2]
    : ({result}, {pooled}) -> {pooled}
  func.return %y, %0, %1 : {result}, {pooled}, {pooled}
}}
"""


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("seed", range(5))
def test_same_results(seed: int, element: str, decomposed: bool):
    case = make_case(random_program(seed, element))
    context, module = case.module()
    passes: list[ModulePass] = [GraphUnfoldWindowsPass()]
    if decomposed:
        passes.insert(0, GraphDecomposePass())

    for each in passes:
        each.apply(context, module)
        module.verify()

    assert not any(isinstance(op, WindowInterface) for op in module.walk())
    assert disagreement(case, interpret(module, case.inputs)) is None
