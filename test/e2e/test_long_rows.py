"""Norms and softmaxes of rows that do not fit into registers are those of PyTorch."""

from collections.abc import Callable, Mapping

import pytest

pytest.importorskip("torch")

import torch
from against_torch import compare_text

SMALL = "h200:L1=16K"
"""A target whose rows of more than 4096 numbers in f32 are long."""

Reference = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]

WHOLE = "tensor<4x30x200xf32>"
IMAGES = "tensor<6x4x40x50xf32>"
ROWS = "tensor<3x9000xf32>"


def normalized(type_: str, axes: str, kept: str) -> str:
    """Rows without their mean, divided by their deviation."""
    return f"""
func.func @f(%x: {type_}) -> {type_} {{
  %m = graph.mean %x axes {axes} keepdims : ({type_}) -> {kept}
  %d = graph.sub %x, %m : ({type_}, {kept}) -> {type_}
  %s = graph.mul %d, %d : ({type_}, {type_}) -> {type_}
  %v = graph.mean %s axes {axes} keepdims : ({type_}) -> {kept}
  %e = graph.constant dense<1.0e-05> : tensor<f32>
  %a = graph.add %v, %e : ({kept}, tensor<f32>) -> {kept}
  %r = graph.rsqrt %a : {kept}
  %y = graph.mul %d, %r : ({type_}, {kept}) -> {type_}
  func.return %y : {type_}
}}"""


def softmax(logarithmic: bool) -> str:
    """A softmax of long rows, or its logarithm."""
    last = (
        f"%s = graph.log %z : tensor<3x1xf32>\n"
        f"%y = graph.sub %d, %s : ({ROWS}, tensor<3x1xf32>) -> {ROWS}"
        if logarithmic
        else f"%y = graph.div %e, %z : ({ROWS}, tensor<3x1xf32>) -> {ROWS}"
    )
    return f"""
func.func @f(%x: {ROWS}) -> {ROWS} {{
  %m = graph.reduce %x <max> axes [1] keepdims : ({ROWS}) -> tensor<3x1xf32>
  %d = graph.sub %x, %m : ({ROWS}, tensor<3x1xf32>) -> {ROWS}
  %e = graph.exp %d : {ROWS}
  %z = graph.reduce %e <sum> axes [1] keepdims : ({ROWS}) -> tensor<3x1xf32>
  {last}
  func.return %y : {ROWS}
}}"""


PROGRAMS: Mapping[str, tuple[str, Reference]] = {
    "layer_norm": (
        normalized(WHOLE, "[1, 2]", "tensor<4x1x1xf32>"),
        lambda x: torch.nn.functional.layer_norm(x["x"], (30, 200)),
    ),
    "batch_norm": (
        normalized(IMAGES, "[0, 2, 3]", "tensor<1x4x1x1xf32>"),
        lambda x: torch.nn.functional.batch_norm(x["x"], None, None, training=True),
    ),
    "softmax": (softmax(False), lambda x: torch.softmax(x["x"], 1)),
    "log_softmax": (softmax(True), lambda x: torch.log_softmax(x["x"], 1)),
}


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_long_rows_are_those_of_torch(name: str):
    text, reference = PROGRAMS[name]

    compare_text(text, reference, SMALL)
