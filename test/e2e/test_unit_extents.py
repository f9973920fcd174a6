"""Programs whose axes mostly have one element, such as those that decode one token."""

from collections.abc import Mapping

import pytest
from differential import check, make_case

NORMED = """
  %n = graph.layer_norm %x weight %g bias %o epsilon 1.0e-5
    : ({X}, tensor<24x{T}>, tensor<24x{T}>) -> {X}"""

PROJECTED = (
    NORMED
    + """
  %r = graph.reshape %n : ({X}) -> {R}
  %m = graph.matmul %r, %w : ({R}, tensor<24x20x{T}>) -> {P}
  %p = graph.add %m, %b : ({P}, tensor<20x{T}>) -> {P}"""
)

BODIES: Mapping[str, str] = {
    "projection": PROJECTED + "\n  %y = graph.reshape %p : ({P}) -> {Y}",
    "scores": PROJECTED + "\n  %y = graph.softmax %p axis {LAST} : ({P}) -> {P}",
    "mean": NORMED
    + """
  %r = graph.reshape %n : ({X}) -> {R}
  %y = graph.mean %r axes [0] : ({R}) -> {M}""",
    "gated": """
  %n = graph.rms_norm %x weight %g epsilon 1.0e-5 : ({X}, tensor<24x{T}>) -> {X}
  %r = graph.reshape %n : ({X}) -> {R}
  %l = graph.matmul %r, %w : ({R}, tensor<24x20x{T}>) -> {P}
  %u = graph.matmul %r, %v : ({R}, tensor<24x20x{T}>) -> {P}
  %s = graph.silu %l : {P}
  %h = graph.mul %s, %u : ({P}, {P}) -> {P}
  %d = graph.matmul %h, %e : ({P}, tensor<20x24x{T}>) -> {R}
  %f = graph.reshape %d : ({R}) -> {X}
  %y = graph.add %x, %f : ({X}, {X}) -> {X}""",
    "of each other": NORMED
    + """
  %r = graph.reshape %n : ({X}) -> {R}
  %t = graph.reduce %r <sum> axes [{LAST}] keepdims : ({R}) -> {C}
  %c = graph.reshape %t : ({C}) -> {K}
  %q = graph.sub %x, %c : ({X}, {K}) -> {X}
  %s = graph.mul %q, %q : ({X}, {X}) -> {X}
  %y = graph.reduce %s <sum> axes [{END}] : ({X}) -> {L}""",
}
"""Computations on a tensor of the shape X, viewed as one of the shape R."""

SHAPES = {
    "1x1x24": "1x24",
    "1x1x1x24": "1x1x24",
    "1x24": "1x1x24",
    "1x7x24": "7x24",
    "7x1x24": "1x7x24",
    "1x1x7x1x24": "7x24",
    "7x24": "1x7x1x24",
}
"""Under which shape each one is seen."""


def tensor(*extents: str) -> str:
    """The type of a tensor, of the axes that there are."""
    return f"tensor<{'x'.join(filter(None, extents))}x{{T}}>"


def program(body: str, whole: str, seen: str, element: str) -> str:
    """A program by the name of its body, of shapes and an element type."""
    ahead, behind = (each.removesuffix("24").strip("x") for each in (whole, seen))
    types = {
        "X": tensor(whole),
        "R": tensor(seen),
        "P": tensor(behind, "20"),
        "Y": tensor(ahead, "20"),
        "M": tensor(*seen.split("x")[1:]),
        "C": tensor(behind, "1"),
        "K": tensor(ahead, "1"),
        "L": tensor(ahead),
    }
    result = {"projection": "Y", "scores": "P", "mean": "M", "of each other": "L"}
    arguments = "%x: {X}, %g: tensor<24x{T}>, %o: tensor<24x{T}>, %b: tensor<20x{T}>"
    weights = "%w: tensor<24x20x{T}>, %v: tensor<24x20x{T}>, %e: tensor<20x24x{T}>"
    types = {name: each.replace("<x", "<") for name, each in types.items()}
    text = f"func.func @main({arguments}, {weights}) -> {{{result.get(body, 'X')}}} {{"
    text += BODIES[body] + f"\n  func.return %y : {{{result.get(body, 'X')}}}\n}}"
    text = text.replace("{LAST}", str(seen.count("x")))
    text = text.replace("{END}", str(whole.count("x")))
    for name, each in types.items():
        text = text.replace(f"{{{name}}}", each)
    return text.replace("{T}", element)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("target", ["npu", "h200"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("whole", SHAPES)
def test_rows(whole: str, body: str, target: str, element: str):
    case = make_case(program(body, whole, SHAPES[whole], element))
    fault = check(case, target, stages=False)
    assert fault is None, str(fault)
