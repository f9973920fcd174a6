"""Every rule of fusion: what runs together, and that it computes the same."""

from collections.abc import Mapping, Sequence

import pytest
from differential import check, compiled_text, make_case, parsed

from tlf.dialects import graph
from tlf.dialects.target import load_target_spec
from tlf.passes.plan.graph_group import GraphGroupPass

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
    """Return the operations of each group by name, without constants."""
    context, module = parsed(text)
    load_target_spec(target).attach_to_module(module)
    GraphGroupPass(level=level, cascades=False).apply(context, module)
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


@pytest.mark.one_in(2)
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


OVERWRITES: Mapping[str, str] = {
    "a chain in no buffer": f"""
{HEAD[:-1]}, %v: tensor<17x13xf32>) -> {X} {{
  %0 = graph.matmul %x, %w : ({X}, {W}) -> {Y}
  %1 = graph.softmax %0 axis 1 : ({Y}) -> {Y}
  %2 = graph.matmul %1, %v : ({Y}, tensor<17x13xf32>) -> {X}
  %3 = graph.softmax %2 axis 1 : ({X}) -> {X}
  func.return %3 : {X} }}""",
    "a square, read transposed and straight": """
func.func @f(%x: tensor<37x37xf32>) -> tensor<37x37xf32> {
  %0 = graph.softmax %x axis 1 : (tensor<37x37xf32>) -> tensor<37x37xf32>
  %1 = graph.transpose %0 permutation [1, 0]
      : (tensor<37x37xf32>) -> tensor<37x37xf32>
  %2 = graph.softmax %1 axis 1 : (tensor<37x37xf32>) -> tensor<37x37xf32>
  %3 = graph.matmul %2, %2
      : (tensor<37x37xf32>, tensor<37x37xf32>) -> tensor<37x37xf32>
  %4 = graph.add %3, %2 : (tensor<37x37xf32>, tensor<37x37xf32>) -> tensor<37x37xf32>
  func.return %4 : tensor<37x37xf32>
}""",
    "an operand that is used twice": f"""
{HEAD} -> {Y} {{
  %0 = graph.matmul %x, %w : ({X}, {W}) -> {Y}
  %1 = graph.reduce %0 <max> axes [1] keepdims : ({Y}) -> {C}
  %2 = graph.sub %0, %1 : ({Y}, {C}) -> {Y}
  %3 = graph.mul %0, %2 : ({Y}, {Y}) -> {Y}
  func.return %3 : {Y} }}""",
    "an operand that is broadcast, of a shape by chance the same": """
func.func @f(%x: tensor<1x19xf32>, %w: tensor<19x19xf32>) -> tensor<1x19xf32> {
  %0 = graph.matmul %x, %w : (tensor<1x19xf32>, tensor<19x19xf32>) -> tensor<1x19xf32>
  %1 = graph.reduce %0 <sum> axes [1] keepdims : (tensor<1x19xf32>) -> tensor<1x1xf32>
  %2 = graph.div %0, %1 : (tensor<1x19xf32>, tensor<1x1xf32>) -> tensor<1x19xf32>
  func.return %2 : tensor<1x19xf32>
}""",
    "a view of what is overwritten is returned": f"""
{HEAD} -> ({Y}, tensor<357xf32>) {{
  %0 = graph.matmul %x, %w : ({X}, {W}) -> {Y}
  %1 = graph.softmax %0 axis 1 : ({Y}) -> {Y}
  %2 = graph.reshape %0 : ({Y}) -> tensor<357xf32>
  func.return %1, %2 : {Y}, tensor<357xf32> }}""",
    "a view is overwritten, and the result seen as another": f"""
{HEAD} -> tensor<17x21xf32> {{
  %0 = graph.matmul %x, %w : ({X}, {W}) -> {Y}
  %1 = graph.reshape %0 : ({Y}) -> tensor<51x7xf32>
  %2 = graph.softmax %1 axis 1 : (tensor<51x7xf32>) -> tensor<51x7xf32>
  %3 = graph.reshape %2 : (tensor<51x7xf32>) -> tensor<17x21xf32>
  func.return %3 : tensor<17x21xf32> }}""",
    "two results, two operands": f"""
{HEAD} -> ({Y}, {Y}) {{
  %0 = graph.matmul %x, %w : ({X}, {W}) -> {Y}
  %1 = graph.softmax %0 axis 1 : ({Y}) -> {Y}
  %2 = graph.softmax %0 axis 0 : ({Y}) -> {Y}
  %3 = graph.mul %1, %2 : ({Y}, {Y}) -> {Y}
  %4 = graph.sub %1, %2 : ({Y}, {Y}) -> {Y}
  func.return %3, %4 : {Y}, {Y} }}""",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["npu-tiny", "npu", "h200"])
@pytest.mark.parametrize("name", OVERWRITES)
def test_overwriting(name: str, target: str):
    """Results are right where buffers are used again, and where they must not be."""
    assert check(make_case(OVERWRITES[name]), target) is None


def test_a_chain_takes_no_buffer():
    """
    Intermediate values between two products stay in their kernel, and rows are
    overwritten.
    """
    text = compiled_text(OVERWRITES["a chain in no buffer"], "h200")

    assert text.count('"kind": "temporary"') == 0
