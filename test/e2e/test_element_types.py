"""Programs of every element type that a target has, and refusals of others."""

from pathlib import Path

import pytest
from differential import check, make_case

from tlf.dialects.target.description import PRESETS

ELEMENTWISE = """
func.func @main(%a: tensor<5x7x{T}>, %b: tensor<7x{T}>)
    -> (tensor<5x7x{T}>, tensor<5x7xi1>, tensor<8x9x{T}>, tensor<3x3x{T}>) {{
  %0 = graph.add %a, %b : (tensor<5x7x{T}>, tensor<7x{T}>) -> tensor<5x7x{T}>
  %1 = graph.neg %0 : tensor<5x7x{T}>
  %2 = graph.abs %1 : tensor<5x7x{T}>
  %3 = graph.minimum %2, %b : (tensor<5x7x{T}>, tensor<7x{T}>) -> tensor<5x7x{T}>
  %4 = graph.compare %3, %a <lt> : (tensor<5x7x{T}>, tensor<5x7x{T}>) -> tensor<5x7xi1>
  %5 = graph.select %4, %0, %b
    : (tensor<5x7xi1>, tensor<5x7x{T}>, tensor<7x{T}>) -> tensor<5x7x{T}>
  %6 = graph.pad %a low [1, 0] high [2, 2] fill -3.0
    : (tensor<5x7x{T}>) -> tensor<8x9x{T}>
  %7 = graph.slice %a offsets [0, 1] strides [2, 2]
    : (tensor<5x7x{T}>) -> tensor<3x3x{T}>
  func.return %5, %4, %6, %7
    : tensor<5x7x{T}>, tensor<5x7xi1>, tensor<8x9x{T}>, tensor<3x3x{T}>
}}
"""

REDUCE = """
func.func @main(%a: tensor<9x5x{T}>)
    -> (tensor<9x{W}>, tensor<9x{W}>, tensor<5x{T}>, tensor<9x1x{T}>) {{
  %0 = graph.reduce %a <sum> axes [1] acc {W} : (tensor<9x5x{T}>) -> tensor<9x{W}>
  %1 = graph.reduce %a <prod> axes [1] acc {W} : (tensor<9x5x{T}>) -> tensor<9x{W}>
  %2 = graph.reduce %a <max> axes [0] : (tensor<9x5x{T}>) -> tensor<5x{T}>
  %3 = graph.reduce %a <min> axes [1] keepdims : (tensor<9x5x{T}>) -> tensor<9x1x{T}>
  func.return %0, %1, %2, %3
    : tensor<9x{W}>, tensor<9x{W}>, tensor<5x{T}>, tensor<9x1x{T}>
}}
"""

MATMUL = """
func.func @main(%a: tensor<20x30x{T}>, %b: tensor<30x7x{T}>) -> tensor<20x7x{W}> {{
  %0 = graph.matmul %a, %b acc {W}
    : (tensor<20x30x{T}>, tensor<30x7x{T}>) -> tensor<20x7x{W}>
  func.return %0 : tensor<20x7x{W}>
}}
"""

CASTS = """
func.func @main(%a: tensor<5x7x{T}>) -> ({R}) {{
  {S}
  func.return {V} : {R}
}}
"""

FUNCTIONS = """
func.func @main(%a: tensor<4x6x{T}>) -> tensor<4x6x{T}> {{
  %0 = graph.softmax %a axis 1 : (tensor<4x6x{T}>) -> tensor<4x6x{T}>
  %1 = graph.silu %0 : tensor<4x6x{T}>
  %2 = graph.gelu %1 <erf> : tensor<4x6x{T}>
  %3 = graph.pow %0, %2 : (tensor<4x6x{T}>, tensor<4x6x{T}>) -> tensor<4x6x{T}>
  %4 = graph.layer_norm %3 epsilon 1.0e-3 : (tensor<4x6x{T}>) -> tensor<4x6x{T}>
  func.return %4 : tensor<4x6x{T}>
}}
"""

FLOATS = ["f32", "f16", "bf16"]
INTEGERS = ["i64", "i32", "i8"]
WIDE = {"f16": "f32", "bf16": "f32", "i8": "i32"}

ON_TARGETS = [
    *(("npu-tiny", element) for element in (*FLOATS, *INTEGERS)),
    *(("h200", element) for element in ("f64", *FLOATS, *INTEGERS)),
]

on_targets = pytest.mark.parametrize(("target", "element"), ON_TARGETS)


def casts(element: str) -> str:
    """A program that casts to every other type."""
    others = [each for each in ("f64", *FLOATS, *INTEGERS, "i1") if each != element]
    others = [each for each in others if each != "f64" or element == "f64"]
    kept, fresh = f"tensor<5x7x{element}>", [f"tensor<5x7x{each}>" for each in others]
    steps = [f"%{n} = graph.cast %a : ({kept}) -> {t}" for n, t in enumerate(fresh)]
    names = ", ".join(f"%{n}" for n in range(len(others)))
    return CASTS.format(T=element, R=", ".join(fresh), S="\n  ".join(steps), V=names)


def formed(text: str, element: str) -> str:
    text = text.format(T=element, W=WIDE.get(element, element))
    return text if element[0] != "i" else text.replace("-3.0", "-3")


@pytest.mark.one_in(3)
@on_targets
@pytest.mark.parametrize("text", [ELEMENTWISE, REDUCE], ids=["elementwise", "reduce"])
def test_numbers(text: str, target: str, element: str):
    assert check(make_case(formed(text, element)), target) is None


@on_targets
def test_casts(target: str, element: str):
    assert check(make_case(casts(element)), target) is None


@pytest.mark.parametrize("element", ["f64", *FLOATS, *INTEGERS])
def test_products_on_triton(element: str):
    assert check(make_case(formed(MATMUL, element)), "h200") is None


@pytest.mark.parametrize("element", ["f64", *FLOATS])
def test_functions_on_triton(element: str):
    assert check(make_case(formed(FUNCTIONS, element)), "h200") is None


def test_the_npu_has_no_f64():
    fault = check(make_case(formed(FUNCTIONS, "f64")), "npu")

    assert fault is not None
    assert fault.kind == "refused"
    assert "the npu supports bf16, f16, f32" in fault.message
    assert fault.message.endswith("got f64")


@pytest.mark.parametrize("element", ["i8", "i32"])
def test_a_chip_that_multiplies_integers(element: str, tmp_path: Path):
    preset = (PRESETS / "npu-tiny.toml").read_text()
    chip = tmp_path / "chip.toml"
    chip.write_text(preset.replace("f32 = 4 }", "f32 = 4, i8 = 1, i32 = 4 }"))

    assert check(make_case(formed(MATMUL, element)), "npu-tiny") is not None
    assert check(make_case(formed(MATMUL, element)), str(chip)) is None
