"""Every rule of fusion: what runs together, and that it computes the same."""

from collections.abc import Mapping, Sequence

import pytest
from differential import check, make_case, parsed

from tlf.dialects import graph
from tlf.dialects.target import load
from tlf.passes.graph_group import GraphGroupPass

HEAD = "func.func @f(%x: tensor<21x13xf32>, %w: tensor<13x17xf32>, %b: tensor<13xf32>)"
X, W, B, C, Y = (
    f"tensor<{shape}xf32>" for shape in ("21x13", "13x17", "13", "21x1", "21x17")
)

RULES: Mapping[str, tuple[Sequence[str], str]] = {
    "elementwise": (
        ["exp,tanh,relu"],
        f"""{HEAD} -> {X} {{
          %0 = graph.exp %x : {X}
          %1 = graph.tanh %0 : {X}
          %2 = graph.relu %1 : {X}
          func.return %2 : {X} }}""",
    ),
    "a broadcast of what is computed": (
        ["exp,tanh,add"],
        f"""{HEAD} -> {X} {{
          %0 = graph.exp %b : {B}
          %1 = graph.tanh %x : {X}
          %2 = graph.add %0, %1 : ({B}, {X}) -> {X}
          func.return %2 : {X} }}""",
    ),
    "a broadcast along each axis": (
        ["reduce,sub,mul"],
        f"""{HEAD} -> {X} {{
          %0 = graph.reduce %x <max> axes [1] keepdims : ({X}) -> {C}
          %1 = graph.sub %x, %0 : ({X}, {C}) -> {X}
          %2 = graph.mul %1, %b : ({X}, {B}) -> {X}
          func.return %2 : {X} }}""",
    ),
    "a reduction with its prefix": (
        ["mul,exp,reduce,sqrt"],
        f"""{HEAD} -> tensor<21xf32> {{
          %0 = graph.mul %x, %b : ({X}, {B}) -> {X}
          %1 = graph.exp %0 : {X}
          %2 = graph.reduce %1 <sum> axes [1] : ({X}) -> tensor<21xf32>
          %3 = graph.sqrt %2 : tensor<21xf32>
          func.return %3 : tensor<21xf32> }}""",
    ),
    "a producer that others use too": (
        ["exp,tanh", "matmul"],
        f"""{HEAD} -> ({X}, {Y}) {{
          %0 = graph.exp %x : {X}
          %1 = graph.tanh %0 : {X}
          %2 = graph.matmul %0, %w : ({X}, {W}) -> {Y}
          func.return %1, %2 : {X}, {Y} }}""",
    ),
    "a diamond": (
        ["exp,tanh,relu,add"],
        f"""{HEAD} -> {X} {{
          %0 = graph.exp %x : {X}
          %1 = graph.tanh %0 : {X}
          %2 = graph.relu %0 : {X}
          %3 = graph.add %1, %2 : ({X}, {X}) -> {X}
          func.return %3 : {X} }}""",
    ),
    "a diamond around a reduction": (
        ["exp,reduce,div"],
        f"""{HEAD} -> ({X}, {C}) {{
          %0 = graph.exp %x : {X}
          %1 = graph.reduce %0 <sum> axes [1] keepdims : ({X}) -> {C}
          %2 = graph.div %0, %1 : ({X}, {C}) -> {X}
          func.return %2, %1 : {X}, {C} }}""",
    ),
    "siblings": (
        ["exp,tanh,mul"],
        f"""{HEAD} -> ({X}, {X}) {{
          %0 = graph.exp %x : {X}
          %1 = graph.tanh %x : {X}
          %2 = graph.mul %1, %b : ({X}, {B}) -> {X}
          func.return %0, %2 : {X}, {X} }}""",
    ),
    "siblings in turn": (
        ["exp,add,sub,mul"],
        f"""{HEAD} -> ({X}, {X}) {{
          %0 = graph.exp %x : {X}
          %1 = graph.add %0, %b : ({X}, {B}) -> {X}
          %2 = graph.sub %x, %b : ({X}, {B}) -> {X}
          %3 = graph.mul %2, %2 : ({X}, {X}) -> {X}
          func.return %3, %1 : {X}, {X} }}""",
    ),
    "a cycle by way of a product": (
        ["exp", "matmul", "reduce,add"],
        f"""{HEAD} -> ({X}, {X}) {{
          %0 = graph.exp %x : {X}
          %1 = graph.matmul %0, %w : ({X}, {W}) -> {Y}
          %2 = graph.reduce %1 <max> axes [1] keepdims : ({Y}) -> {C}
          %3 = graph.add %0, %2 : ({X}, {C}) -> {X}
          func.return %0, %3 : {X}, {X} }}""",
    ),
    "groups out of order": (
        ["exp,relu", "matmul,tanh"],
        f"""{HEAD} -> ({Y}, {X}) {{
          %0 = graph.exp %x : {X}
          %1 = graph.matmul %0, %w : ({X}, {W}) -> {Y}
          %2 = graph.relu %0 : {X}
          %3 = graph.tanh %1 : {Y}
          func.return %3, %2 : {Y}, {X} }}""",
    ),
    "an epilogue with a value of its own": (
        ["matmul,exp,add,relu"],
        f"""{HEAD[:-1]}, %c: {Y}) -> {Y} {{
          %0 = graph.matmul %x, %w : ({X}, {W}) -> {Y}
          %1 = graph.exp %c : {Y}
          %2 = graph.add %0, %1 : ({Y}, {Y}) -> {Y}
          %3 = graph.relu %2 : {Y}
          func.return %3 : {Y} }}""",
    ),
    "prologues of both operands": (
        ["add,exp,matmul,relu"],
        f"""{HEAD} -> {Y} {{
          %0 = graph.add %x, %b : ({X}, {B}) -> {X}
          %1 = graph.exp %w : {W}
          %2 = graph.matmul %0, %1 : ({X}, {W}) -> {Y}
          %3 = graph.relu %2 : {Y}
          func.return %3 : {Y} }}""",
    ),
    "a prologue of narrow weights": (
        ["cast,mul,matmul"],
        f"""func.func @f(%x: {X}, %w: tensor<13x17xi8>, %s: tensor<17xf32>) -> {Y} {{
          %0 = graph.cast %w : (tensor<13x17xi8>) -> {W}
          %1 = graph.mul %0, %s : ({W}, tensor<17xf32>) -> {W}
          %2 = graph.matmul %x, %1 : ({X}, {W}) -> {Y}
          func.return %2 : {Y} }}""",
    ),
}

IMAGE, OUT = "tensor<2x3x11x9xf32>", "tensor<2x5x11x9xf32>"
PADDED = f"""
func.func @f(%x: {IMAGE}, %w: tensor<5x3x3x3xf32>, %b: tensor<3x1x1xf32>) -> {OUT} {{
  %0 = graph.add %x, %b : ({IMAGE}, tensor<3x1x1xf32>) -> {IMAGE}
  %1 = graph.exp %0 : {IMAGE}
  %2 = graph.conv2d %1, %w padding [1, 1, 1, 1]
      : ({IMAGE}, tensor<5x3x3x3xf32>) -> {OUT}
  func.return %2 : {OUT}
}}"""


def groups(text: str, target: str, level: str) -> list[str]:
    """What runs together, without constants."""
    context, module = parsed(text)
    load(target).attach(module)
    GraphGroupPass(level=level).apply(context, module)
    return [
        ",".join(op.name.removeprefix("graph.") for op in group.body.block.ops)
        .removesuffix(",yield")
        .replace("constant,", "")
        for group in module.walk()
        if isinstance(group, graph.GroupOp)
    ]


@pytest.mark.parametrize("rule", RULES)
def test_groups(rule: str):
    expected, text = RULES[rule]

    assert sorted(groups(text, "npu-tiny", "L2")) == sorted(expected)
    assert sorted(groups(text, "h200", "L1")) == sorted(expected)


@pytest.mark.parametrize("target", ["npu-tiny", "npu", "h200"])
@pytest.mark.parametrize("rule", RULES)
def test_results(rule: str, target: str):
    assert check(make_case(RULES[rule][1]), target) is None


@pytest.mark.parametrize("target", ["npu-tiny", "npu", "h200"])
def test_padding_comes_after_the_prologue(target: str):
    """The exponential of padding would be one, and padding is zero."""
    if target != "h200":
        (together,) = groups(PADDED, target, "L2")
        assert together == "add,exp,conv2d"

    assert check(make_case(PADDED), target) is None
