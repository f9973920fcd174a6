"""
Groups under tiles that divide nothing: reductions with accumulators, windows with
stride and padding, several results, operands that move at different strides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from differential import compiled_text, disagreement, make_case
from far_moves import far_boxes
from kept_groups import run_passes
from tiled_plans import far_tiles, near_tiles, results_of, trips

from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import pipelines_for
from tlf.runtime import npu

FLOATS = ("f32", "f16", "bf16")
ALL = (*FLOATS, "i8")
WIDE = {"f16": "f32", "bf16": "f32", "i8": "i32"}


@dataclass(frozen=True)
class Tiled:
    """A program of one group, and the tiles of L2 it is cut into."""

    text: str
    tile: Sequence[int]
    reduce: Sequence[int] = ()
    elements: Sequence[str] = ALL


PROGRAMS: Mapping[str, Tiled] = {
    "global average": Tiled(
        """
func.func @f(%x: tensor<3x5x9x7x{T}>) -> tensor<3x5x{T}> {{
  %0 = graph.mean %x axes [2, 3] : (tensor<3x5x9x7x{T}>) -> tensor<3x5x{T}>
  func.return %0 : tensor<3x5x{T}>
}}""",
        (2, 3),
        (5, 4),
        FLOATS,
    ),
    "sums of outer and inner axes": Tiled(
        """
func.func @f(%x: tensor<9x7x13x{T}>) -> tensor<7x{W}> {{
  %0 = graph.reduce %x <sum> axes [0, 2] acc {W} : (tensor<9x7x13x{T}>) -> tensor<7x{W}>
  func.return %0 : tensor<7x{W}>
}}""",
        (3,),
        (4, 5),
    ),
    "minima": Tiled(
        """
func.func @f(%x: tensor<9x37x{T}>) -> tensor<9x1x{T}> {{
  %0 = graph.reduce %x <min> axes [1] keepdims : (tensor<9x37x{T}>) -> tensor<9x1x{T}>
  func.return %0 : tensor<9x1x{T}>
}}""",
        (4,),
        (10,),
    ),
    "maxima of windows": Tiled(
        """
func.func @f(%x: tensor<2x3x13x11x{T}>) -> tensor<2x3x7x6x{T}> {{
  %0 = graph.max_pool2d %x kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1]
      : (tensor<2x3x13x11x{T}>) -> tensor<2x3x7x6x{T}>
  func.return %0 : tensor<2x3x7x6x{T}>
}}""",
        (1, 2, 3, 4),
    ),
    "means of windows": Tiled(
        """
func.func @f(%x: tensor<2x3x13x11x{T}>) -> tensor<2x3x7x11x{T}> {{
  %0 = graph.avg_pool2d %x kernel [3, 2] strides [2, 1] padding [1, 0, 1, 1]
      : (tensor<2x3x13x11x{T}>) -> tensor<2x3x7x11x{T}>
  func.return %0 : tensor<2x3x7x11x{T}>
}}""",
        (2, 2, 3, 5),
        (),
        FLOATS,
    ),
    "a maximum of windows of a maximum": Tiled(
        """
func.func @f(%x: tensor<1x3x17x9x{T}>) -> tensor<1x3x5x5x{T}> {{
  %0 = graph.max_pool2d %x kernel [3, 3] strides [2, 1] padding [1, 1, 1, 1]
      : (tensor<1x3x17x9x{T}>) -> tensor<1x3x9x9x{T}>
  %1 = graph.max_pool2d %0 kernel [2, 3] strides [2, 2] padding [1, 1, 0, 1]
      : (tensor<1x3x9x9x{T}>) -> tensor<1x3x5x5x{T}>
  func.return %1 : tensor<1x3x5x5x{T}>
}}""",
        (1, 2, 2, 3),
    ),
    "several results": Tiled(
        """
func.func @f(%x: tensor<21x13x{T}>, %b: tensor<13x{T}>)
    -> (tensor<21x13x{T}>, tensor<21x1x{T}>, tensor<21x13x{T}>) {{
  %0 = graph.add %x, %b : (tensor<21x13x{T}>, tensor<13x{T}>) -> tensor<21x13x{T}>
  %1 = graph.reduce %0 <max> axes [1] keepdims
      : (tensor<21x13x{T}>) -> tensor<21x1x{T}>
  %2 = graph.sub %0, %1 : (tensor<21x13x{T}>, tensor<21x1x{T}>) -> tensor<21x13x{T}>
  func.return %2, %1, %0 : tensor<21x13x{T}>, tensor<21x1x{T}>, tensor<21x13x{T}>
}}""",
        (8, 13),
    ),
    "operands at different strides": Tiled(
        """
func.func @f(%x: tensor<2x3x13x11x{T}>, %y: tensor<2x3x6x5x{T}>)
    -> tensor<2x3x6x5x{T}> {{
  %0 = graph.max_pool2d %x kernel [2, 2] strides [2, 2]
      : (tensor<2x3x13x11x{T}>) -> tensor<2x3x6x5x{T}>
  %1 = graph.sub %0, %y
      : (tensor<2x3x6x5x{T}>, tensor<2x3x6x5x{T}>) -> tensor<2x3x6x5x{T}>
  func.return %1 : tensor<2x3x6x5x{T}>
}}""",
        (1, 2, 4, 3),
    ),
    "one operand at different strides": Tiled(
        """
func.func @f(%x: tensor<2x4x13x11x{T}>, %w: tensor<3x4x3x3x{T}>,
             %v: tensor<3x4x1x1x{T}>) -> tensor<2x3x7x6x{T}> {{
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<2x4x13x11x{T}>, tensor<3x4x3x3x{T}>) -> tensor<2x3x13x11x{T}>
  %1 = graph.max_pool2d %0 kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1]
      : (tensor<2x3x13x11x{T}>) -> tensor<2x3x7x6x{T}>
  %2 = graph.conv2d %x, %v strides [2, 2]
      : (tensor<2x4x13x11x{T}>, tensor<3x4x1x1x{T}>) -> tensor<2x3x7x6x{T}>
  %3 = graph.add %1, %2
      : (tensor<2x3x7x6x{T}>, tensor<2x3x7x6x{T}>) -> tensor<2x3x7x6x{T}>
  func.return %3 : tensor<2x3x7x6x{T}>
}}""",
        (1, 3, 4, 6),
        (),
        FLOATS,
    ),
}

RUNS = [(name, element) for name, each in PROGRAMS.items() for element in each.elements]


def formed(text: str, element: str) -> str:
    return text.format(T=element, W=WIDE.get(element, element))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "element"), RUNS)
def test_values_under_given_tiles(name: str, element: str):
    """Tiles of L2 as given, cut at random for L1, for each element type otherwise."""
    program, target = PROGRAMS[name], load_target_spec("npu-tiny:L1=64K,L2=256K")
    case = make_case(formed(program.text, element))
    number = ALL.index(element)
    rng, stages = np.random.default_rng(number), 1 + number % 3
    context, module = far_tiles(case.text, target, program.tile, program.reduce, stages)
    assert max(trips(module)) > 1
    near_tiles(context, module, target, rng)
    assert disagreement(case, results_of(context, module, target, case.inputs)) is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_on_a_larger_chip(name: str):
    """The same tiles of L2 where those of L1 are the whole of them, or chosen."""
    program, target = PROGRAMS[name], load_target_spec("npu")
    case = make_case(formed(program.text, "f16"))
    context, module = far_tiles(case.text, target, program.tile, program.reduce)
    near = "graph-group{level=L1},graph-select-tile-sizes{level=L1},dce"
    pipeline = f"graph-decompose,tidy,{near},convert-graph-to-tile,tidy"
    run_passes(context, module, target, pipeline)
    assert disagreement(case, results_of(context, module, target, case.inputs)) is None


CONVOLUTION = """
func.func @f(%x: tensor<1x2x{N}x9xf32>, %w: tensor<3x2x3x3xf32>)
    -> tensor<1x3x{N}x9xf32> {{
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x2x{N}x9xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x{N}x9xf32>
  %1 = graph.relu %0 : tensor<1x3x{N}x9xf32>
  func.return %1 : tensor<1x3x{N}x9xf32>
}}"""


def sized(tile: str) -> str:
    """The pipeline of an NPU with given tiles of L2, in a group each."""
    text = pipelines_for(load_target_spec("npu-tiny"))["npu-pipeline"]
    text = text.replace("graph-partition{level=L2},", "")
    assert "graph-select-tile-sizes{level=L2}" in text
    return text.replace(
        "graph-select-tile-sizes{level=L2}",
        f"graph-select-tile-sizes{{level=L2 tile={tile}}}",
    )


@pytest.mark.parametrize("rest", [0, 3])
def test_loops_stay_loops(rest: int):
    """However many tiles there are, the program is of one length."""
    lengths = {
        len(
            compiled_text(
                CONVOLUTION.format(N=rows + rest), "npu-tiny", pipeline
            ).splitlines()
        )
        for pipeline in [sized("1,3,5,9")]
        for rows in (20, 200, 2000)
    }
    assert len(lengths) == 1


def test_padding_at_true_borders_only():
    """A tile reads all rows that its windows see, but for those around the image."""
    text = compiled_text(CONVOLUTION.format(N=17), "npu-tiny", sized("1,3,5,9"))
    program = npu.parse(text)
    x = program.inputs["x"]
    rows = [min(17, first + 6) - max(0, first - 1) for first in range(0, 17, 5)]
    found = [
        box for box in far_boxes(program) if x.address <= box.low < x.address + x.nbytes
    ]
    assert not any(box.is_write for box in found)
    assert sum(box.nbytes for box in found) == sum(rows) * 2 * 9 * 4
