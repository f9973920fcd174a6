"""
Convolutions as products of matrices on Triton: small networks compute the same as the
reference, and lose no accuracy.
"""

import re
from collections.abc import Mapping

import numpy as np
import pytest
from differential import (
    Case,
    disagreement,
    limit_search,
    make_case,
    parsed,
    printed,
    run_lowered,
    steps_of,
)
from random_image_networks import NetworkBuilder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.runtime.triton.sanitizers import sanitize

TARGET = load_target_spec("h200")


def compile_program(text: str) -> tuple[Context, ModuleOp]:
    """Return a program after the passes for Triton, with the first plans found."""
    context, module = parsed(text)
    TARGET.attach_to_module(module)
    PassManager(tuple(map(limit_search, steps_of(TARGET)))).run(context, module)
    return context, module


def compute(text: str, inputs: Mapping[str, Array]) -> tuple[Array, ...]:
    """Return the results of the kernels of a program, whose accesses are checked."""
    context, module = compile_program(text)
    with sanitize():
        return run_lowered(context, module, TARGET, inputs)


def check(case: Case) -> None:
    """Compare the results of kernels with the reference."""
    assert disagreement(case, compute(case.text, case.inputs)) is None


def written(program: str) -> str:
    """Return a program in which `<...>` stands for a tensor type."""
    return re.sub(r"<([\dx]*(?:bf16|f16|f32|i8|i32))>", r"tensor<\1>", program)


PROGRAMS = {
    "residual_block": """
func.func @main(%x: <2x16x6x6xbf16>, %w: <16x16x3x3xbf16> {tlf.parameter},
    %v: <16x16x3x3xbf16> {tlf.parameter}) -> <2x16x6x6xbf16> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (<2x16x6x6xbf16>, <16x16x3x3xbf16>) -> <2x16x6x6xbf16>
  %1 = graph.relu %0 : <2x16x6x6xbf16>
  %2 = graph.conv2d %1, %v padding [1, 1, 1, 1]
      : (<2x16x6x6xbf16>, <16x16x3x3xbf16>) -> <2x16x6x6xbf16>
  %3 = graph.add %2, %x : (<2x16x6x6xbf16>, <2x16x6x6xbf16>) -> <2x16x6x6xbf16>
  %y = graph.relu %3 : <2x16x6x6xbf16>
  func.return %y : <2x16x6x6xbf16>
}""",
    "stem_with_pooling": """
func.func @main(%x: <1x3x17x15xf16>, %w: <8x3x7x7xf16>, %b: <8x1x1xf16>)
    -> <1x8x5x4xf16> {
  %0 = graph.conv2d %x, %w strides [2, 2] padding [3, 3, 3, 3]
      : (<1x3x17x15xf16>, <8x3x7x7xf16>) -> <1x8x9x8xf16>
  %1 = graph.add %0, %b : (<1x8x9x8xf16>, <8x1x1xf16>) -> <1x8x9x8xf16>
  %2 = graph.relu %1 : <1x8x9x8xf16>
  %y = graph.max_pool2d %2 kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1]
      : (<1x8x9x8xf16>) -> <1x8x5x4xf16>
  func.return %y : <1x8x5x4xf16>
}""",
    "depthwise_separable": """
func.func @main(%x: <2x16x5x5xbf16>, %w: <16x1x3x3xbf16> {tlf.parameter},
    %v: <32x16x1x1xbf16> {tlf.parameter}) -> <2x32x5x5xbf16> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1] groups 16
      : (<2x16x5x5xbf16>, <16x1x3x3xbf16>) -> <2x16x5x5xbf16>
  %1 = graph.relu %0 : <2x16x5x5xbf16>
  %y = graph.conv2d %1, %v : (<2x16x5x5xbf16>, <32x16x1x1xbf16>) -> <2x32x5x5xbf16>
  func.return %y : <2x32x5x5xbf16>
}""",
    "depthwise": """
func.func @main(%x: <1x16x8x8xf32>, %w: <16x1x3x3xf32> {tlf.parameter})
    -> <1x16x8x8xf32> {
  %y = graph.conv2d %x, %w padding [1, 1, 1, 1] groups 16
      : (<1x16x8x8xf32>, <16x1x3x3xf32>) -> <1x16x8x8xf32>
  func.return %y : <1x16x8x8xf32>
}""",
    "depthwise_with_multiplier": """
func.func @main(%x: <1x3x9x9xf32>, %w: <6x1x5x5xf32>) -> <1x6x3x3xf32> {
  %y = graph.conv2d %x, %w strides [3, 3] padding [1, 2, 1, 2] groups 3
      : (<1x3x9x9xf32>, <6x1x5x5xf32>) -> <1x6x3x3xf32>
  func.return %y : <1x6x3x3xf32>
}""",
    "concatenated_channels": """
func.func @main(%x: <2x16x6x6xf16>, %w: <16x16x3x3xf16>, %v: <16x16x1x1xf16>,
    %u: <8x48x3x3xf16>) -> <2x8x4x4xf16> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (<2x16x6x6xf16>, <16x16x3x3xf16>) -> <2x16x6x6xf16>
  %1 = graph.conv2d %x, %v : (<2x16x6x6xf16>, <16x16x1x1xf16>) -> <2x16x6x6xf16>
  %2 = graph.concat %0, %x, %1 axis 1
      : (<2x16x6x6xf16>, <2x16x6x6xf16>, <2x16x6x6xf16>) -> <2x48x6x6xf16>
  %y = graph.conv2d %2, %u : (<2x48x6x6xf16>, <8x48x3x3xf16>) -> <2x8x4x4xf16>
  func.return %y : <2x8x4x4xf16>
}""",
    "concatenated_upsampling": """
func.func @main(%x: <1x4x3x4xf32>, %w: <4x4x1x1xf32>, %z: <1x4x2x3x4xf32>)
    -> (<1x4x3x4xf32>, <1x8x6x4xf32>) {
  %0 = graph.conv2d %x, %w : (<1x4x3x4xf32>, <4x4x1x1xf32>) -> <1x4x3x4xf32>
  %1 = graph.transpose %z permutation [0, 1, 3, 2, 4]
      : (<1x4x2x3x4xf32>) -> <1x4x3x2x4xf32>
  %2 = graph.reshape %1 : (<1x4x3x2x4xf32>) -> <1x4x6x4xf32>
  %y = graph.concat %2, %2 axis 1 : (<1x4x6x4xf32>, <1x4x6x4xf32>) -> <1x8x6x4xf32>
  func.return %0, %y : <1x4x3x4xf32>, <1x8x6x4xf32>
}""",
    "squeeze_and_excitation": """
func.func @main(%x: <2x16x5x5xf32>, %w: <16x16x3x3xf32>, %d: <4x16x1x1xf32>,
    %u: <16x4x1x1xf32>) -> <2x16x5x5xf32> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (<2x16x5x5xf32>, <16x16x3x3xf32>) -> <2x16x5x5xf32>
  %1 = graph.mean %0 axes [2, 3] keepdims : (<2x16x5x5xf32>) -> <2x16x1x1xf32>
  %2 = graph.conv2d %1, %d : (<2x16x1x1xf32>, <4x16x1x1xf32>) -> <2x4x1x1xf32>
  %3 = graph.relu %2 : <2x4x1x1xf32>
  %4 = graph.conv2d %3, %u : (<2x4x1x1xf32>, <16x4x1x1xf32>) -> <2x16x1x1xf32>
  %5 = graph.sigmoid %4 : <2x16x1x1xf32>
  %y = graph.mul %0, %5 : (<2x16x5x5xf32>, <2x16x1x1xf32>) -> <2x16x5x5xf32>
  func.return %y : <2x16x5x5xf32>
}""",
    "groups_of_channels": """
func.func @main(%x: <2x12x7x5xf32>, %w: <8x3x3x3xf32>, %c: <2x8x3x3xf32>)
    -> <2x8x3x3xf32> {
  %y = graph.conv2d %x, %w init %c strides [2, 1] dilation [1, 1] groups 4
      : (<2x12x7x5xf32>, <8x3x3x3xf32>, <2x8x3x3xf32>) -> <2x8x3x3xf32>
  func.return %y : <2x8x3x3xf32>
}""",
    "volumes": """
func.func @main(%x: <1x8x4x5x6xbf16>, %w: <8x8x3x3x3xbf16>) -> <1x8x2x2x3xbf16> {
  %0 = graph.conv3d %x, %w padding [1, 1, 1, 1, 1, 1]
      : (<1x8x4x5x6xbf16>, <8x8x3x3x3xbf16>) -> <1x8x4x5x6xbf16>
  %y = graph.max_pool3d %0 kernel [2, 2, 2] strides [2, 2, 2]
      : (<1x8x4x5x6xbf16>) -> <1x8x2x2x3xbf16>
  func.return %y : <1x8x2x2x3xbf16>
}""",
    "pixel_shuffle": """
func.func @main(%x: <1x8x4x4xf32>, %w: <4x8x3x3xf32>) -> <1x1x8x8xf32> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (<1x8x4x4xf32>, <4x8x3x3xf32>) -> <1x4x4x4xf32>
  %1 = graph.reshape %0 : (<1x4x4x4xf32>) -> <1x1x2x2x4x4xf32>
  %2 = graph.transpose %1 permutation [0, 1, 4, 2, 5, 3]
      : (<1x1x2x2x4x4xf32>) -> <1x1x4x2x4x2xf32>
  %y = graph.reshape %2 : (<1x1x4x2x4x2xf32>) -> <1x1x8x8xf32>
  func.return %y : <1x1x8x8xf32>
}""",
    "classifier": """
func.func @main(%x: <3x8x4x4xbf16>, %w: <16x8x3x3xbf16>, %l: <16x10xbf16>)
    -> (<3x10xbf16>, <3x16x2x2xbf16>) {
  %0 = graph.conv2d %x, %w : (<3x8x4x4xbf16>, <16x8x3x3xbf16>) -> <3x16x2x2xbf16>
  %1 = graph.avg_pool2d %0 kernel [2, 2] : (<3x16x2x2xbf16>) -> <3x16x1x1xbf16>
  %2 = graph.reshape %1 : (<3x16x1x1xbf16>) -> <3x16xbf16>
  %3 = graph.matmul %2, %l : (<3x16xbf16>, <16x10xbf16>) -> <3x10xbf16>
  %y = graph.softmax %3 axis 1 : (<3x10xbf16>) -> <3x10xbf16>
  func.return %y, %0 : <3x10xbf16>, <3x16x2x2xbf16>
}""",
    "quantized": """
func.func @main(%x: <1x16x5x5xi8>, %w: <8x16x3x3xi8>, %v: <8x1x2x2xi8>)
    -> <1x8x2x2xi32> {
  %0 = graph.conv2d %x, %w : (<1x16x5x5xi8>, <8x16x3x3xi8>) -> <1x8x3x3xi32>
  %1 = graph.cast %0 : (<1x8x3x3xi32>) -> <1x8x3x3xi8>
  %y = graph.conv2d %1, %v groups 8 : (<1x8x3x3xi8>, <8x1x2x2xi8>) -> <1x8x2x2xi32>
  func.return %y : <1x8x2x2xi32>
}""",
    "concatenation_of_pooled_rows": """
func.func @main(%x: <1x8x5x6xf32>, %z: <1x8x2x6xf32>, %w: <8x8x1x1xf32>)
    -> <1x8x3x3xf32> {
  %0 = graph.conv2d %x, %w : (<1x8x5x6xf32>, <8x8x1x1xf32>) -> <1x8x5x6xf32>
  %1 = graph.concat %0, %z axis 2
      : (<1x8x5x6xf32>, <1x8x2x6xf32>) -> <1x8x7x6xf32>
  %y = graph.sum_pool2d %1 kernel [2, 2] strides [2, 2]
      : (<1x8x7x6xf32>) -> <1x8x3x3xf32>
  func.return %y : <1x8x3x3xf32>
}""",
}


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_network(name: str):
    check(make_case(written(PROGRAMS[name])))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("axis_count", [2, 3])
@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "i8", "i32", "f64"])
@pytest.mark.parametrize("seed", range(8))
def test_random_networks(seed: int, element: str, axis_count: int):
    network = NetworkBuilder(seed, element, axis_count).build_network(4)
    check(make_case(network.text()))


def kernels(program: str) -> str:
    """Return the source of the kernels of a program."""
    context, module = compile_program(written(program))
    return printed(context, module, TARGET).partition("# plan")[0]


def test_depthwise_taps_are_unrolled():
    assert "for k0 in tl.static_range(0, 9, 1):" in kernels(PROGRAMS["depthwise"])


def test_channels_are_written_next_to_each_other():
    """The convolutions store into slices of the concatenated rows."""
    text = kernels(PROGRAMS["concatenated_channels"])
    assert re.search(r"tl\.store\(p\d .*\[:, None\] \* 48", text)
    assert re.search(r"tl\.store\(p\d \+ 32 .*\[:, None\] \* 48", text)


NORMALIZED = written("""
func.func @main(%x: <2x16x6x6xf16>, %w: <16x16x3x3xf16> {tlf.parameter},
    %m: <16xf32> {tlf.parameter}, %g: <16xf32> {tlf.parameter},
    %v: <16xf32> {tlf.parameter, tlf.range = [0.5, 1.5]}) -> <2x16x6x6xf16> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (<2x16x6x6xf16>, <16x16x3x3xf16>) -> <2x16x6x6xf16>
  %y = graph.batch_norm %0 mean %m variance %v weight %g bias %m epsilon 1.0e-05
      : (<2x16x6x6xf16>, <16xf32>, <16xf32>, <16xf32>, <16xf32>) -> <2x16x6x6xf16>
  func.return %y : <2x16x6x6xf16>
}""")


def test_a_folded_batch_norm_rounds_once():
    """
    The error against f64 is that of one rounding to f16, up to 20 %: a filter that is
    rounded once more has a larger one.
    """
    case = make_case(NORMALIZED)
    wide = NORMALIZED.replace("f32", "f64").replace("xf16", "xf64")
    exact = {name: each.astype(np.float64) for name, each in case.inputs.items()}
    single = {name: each.astype(np.float32) for name, each in case.inputs.items()}
    (expected,) = interpret(parsed(wide)[1], exact)
    (rounded,) = interpret(parsed(NORMALIZED.replace("xf16", "xf32"))[1], single)

    (found,) = compute(NORMALIZED, case.inputs)

    least = distance(rounded.astype(np.float16), expected)
    assert distance(found, expected) <= 1.2 * least


def distance(found: Array, expected: Array) -> float:
    """Return the norm of the difference of two arrays, in f64."""
    return float(np.linalg.norm(np.subtract(found, expected, dtype=np.float64)))
