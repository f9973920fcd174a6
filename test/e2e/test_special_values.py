"""
NaN, infinities, zeros, denormals and overflow: the reference, the interpreters, the
simulator and Triton agree, but for what docs/numerics.md lists.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from differential import compiled_results, parsed
from graph_program import Step, Value
from special_values import (
    DTYPE,
    FLOATS,
    TARGETS,
    TOLERANCE,
    differences,
    program,
    rows,
    run,
    special,
    step,
)
from xdsl.utils.exceptions import ParseError, VerifyException

from tlf.dialects.graph import Graph
from tlf.dialects.graph.elementwise import ElementwiseOperation
from tlf.dialects.interfaces import Array
from tlf.dialects.target.description import PRESETS

EXACT_UNARY = (
    *("neg {}", "abs {}", "relu {}", "dropout {} ratio 0.5"),
    *("floor {}", "ceil {}", "trunc {}", "round {}"),
)
UNARY = (
    *("sqrt {}", "rsqrt {}", "exp {}", "log {}", "tanh {}", "erf {}"),
    *("sigmoid {}", "silu {}", "gelu {} <erf>", "gelu {} <tanh>"),
    *("exp2 {}", "expm1 {}", "log1p {}", "log2 {}", "log10 {}"),
    *("asin {}", "acos {}", "atan {}", "sinh {}", "cosh {}"),
    *("asinh {}", "acosh {}", "atanh {}"),
)
ANGLES = ("sin {}", "cos {}", "tan {}")
ARITHMETIC = ("add {}, {}", "sub {}, {}", "mul {}, {}", "div {}, {}")
EXTREMES = ("maximum {}, {}", "minimum {}, {}")
COMPARE = tuple(
    f"compare {{}}, {{}} <{each}>" for each in ("eq", "ne", "lt", "le", "gt", "ge")
)
SELECT, POW, CAST = "select {}, {}, {}", "pow {}, {}", "cast {}"
ATAN2, REM = "atan2 {}, {}", "rem {}, {}"
COPYSIGN, ROUND_TF32 = "copysign {}, {}", "round_tf32 {}"
BITWISE, NOT = ("and {}, {}", "or {}, {}"), "not {}"
REDUCE = tuple(f"reduce {{}} <{each}> axes [1]" for each in ("sum", "prod"))
REDUCE_EXTREMES = tuple(f"reduce {{}} <{each}> axes [1]" for each in ("max", "min"))


def elementwise(patterns: Sequence[str], result: str, *operands: Value) -> list[Step]:
    """Operations on the same operands, which broadcast together."""
    shape = tuple(np.broadcast_shapes(*(each.shape for each in operands)))
    return [
        step(number, pattern, (shape, result), *operands)
        for number, pattern in enumerate(patterns)
    ]


def check(
    steps: Sequence[Step],
    inputs: Mapping[str, Array],
    target: str,
    tolerance: float = 0.0,
    zeros: bool = True,
    last: str | None = None,
) -> None:
    """
    Compare what every operation computes with the reference, on all levels of a target
    or down to the `last`.
    """
    arguments = {value.name: value for each in steps for value in each.operands}
    text = program(list(arguments.values()), steps)
    given = {name: inputs[name] for name in arguments}
    reference = compiled_results(text, given, "reference")
    for level, results in run(text, given, target):
        for each, wanted, found in zip(steps, reference, results, strict=True):
            different = differences(found, wanted, tolerance, zeros)
            assert different == [], f"{each.pattern} as {level}"
        if level == last:
            return


def pairs(element: str) -> tuple[Value, Value, dict[str, Array]]:
    """Two arguments that hold every pair of special numbers."""
    numbers = special(element)
    left, right = (
        Value("a", (len(numbers), 1), element),
        Value("b", (1, len(numbers)), element),
    )
    return left, right, {"a": numbers[:, None], "b": numbers[None]}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_functions(element: str, target: str):
    numbers = special(element)
    x, given = Value("x", numbers.shape, element), {"x": numbers}
    check(elementwise(EXACT_UNARY, element, x), given, target)
    check(elementwise(UNARY, element, x), given, target, TOLERANCE[element])


@pytest.mark.parametrize("target", TARGETS)
def test_rounding_to_tf32(target: str):
    numbers = special("f32")
    x = Value("x", numbers.shape, "f32")
    check(elementwise([ROUND_TF32], "f32", x), {"x": numbers}, target)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_angles(element: str, target: str):
    numbers = special(element)
    numbers = numbers[~(np.abs(numbers.astype(np.float64)) > 100)]
    numbers = np.append(numbers, np.array([np.inf, -np.inf]).astype(numbers.dtype))
    x = Value("x", numbers.shape, element)
    steps = elementwise(ANGLES, element, x)
    check(steps, {"x": numbers}, target, 2 * TOLERANCE[element])


@pytest.mark.one_in(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_arithmetic(element: str, target: str):
    left, right, given = pairs(element)
    check(elementwise((*ARITHMETIC, REM), element, left, right), given, target)
    check(elementwise(COMPARE, "i1", left, right), given, target)
    check(elementwise(EXTREMES, element, left, right), given, target, zeros=False)
    check(elementwise([COPYSIGN], element, left, right), given, target)
    powers = elementwise([POW, ATAN2], element, left, right)
    check(powers, given, target, TOLERANCE[element])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", [*FLOATS, "i32", "i1"])
def test_selection(element: str, target: str):
    left, right, given = pairs(element)
    condition = Value("c", left.shape, "i1")
    given["c"] = np.arange(left.shape[0])[:, None] % 2 == 0
    check(elementwise([SELECT], element, condition, left, right), given, target)


@pytest.mark.parametrize("target", TARGETS)
def test_integers_wrap_around(target: str):
    left, right, given = pairs("i32")
    binary = (*ARITHMETIC[:3], *EXTREMES, *BITWISE)
    check(elementwise(binary, "i32", left, right), given, target)
    check(elementwise(COMPARE, "i1", left, right), given, target)
    check(elementwise((*EXACT_UNARY[:2], NOT), "i32", left), given, target)
    given["b"] = np.where(given["b"] == 0, 3, given["b"]).astype(np.int32)
    check(elementwise((ARITHMETIC[3], REM), "i32", left, right), given, target)


@pytest.mark.parametrize("target", TARGETS)
def test_truth_values(target: str):
    left, right, given = pairs("i1")
    patterns = (*BITWISE, *EXTREMES, ARITHMETIC[2])
    check(elementwise(patterns, "i1", left, right), given, target)
    check(elementwise([NOT], "i1", left), given, target)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", [*FLOATS, "i32", "i1"])
def test_casts(source: str, target: str):
    numbers = special(source)
    x, given = Value("x", numbers.shape, source), {"x": numbers}
    elements = [each for each in (*FLOATS, "i1") if each != source]
    elements += ["i32"] if source == "i1" else []
    steps = [
        step(number, CAST, (x.shape, element), x)
        for number, element in enumerate(elements)
    ]
    check(steps, given, target)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_casts_of_floats_to_integers(element: str, target: str):
    inside = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 1000.5, -1000.5, 32768 - 16]
    numbers = np.array(inside).astype(DTYPE[element])
    x = Value("x", numbers.shape, element)
    check([step(0, CAST, (x.shape, "i32"), x)], {"x": numbers}, target)

    # What is out of range becomes some integer, and nothing else changes.
    numbers = np.append(numbers, special(element)[:3])
    x = Value("x", numbers.shape, element)
    text = program([x], [step(0, CAST, (x.shape, "i32"), x)])
    for _, (found,) in run(text, {"x": numbers}, target):
        assert found.dtype == np.int32
        assert differences(found[:-3], numbers[:-3].astype(np.int32)) == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_reductions(element: str, target: str):
    numbers = rows(element)
    x, given = Value("x", numbers.shape, element), {"x": numbers}
    result = (numbers.shape[:1], element)
    sums = [step(n, each, result, x) for n, each in enumerate(REDUCE)]
    check(sums, given, target)
    extremes = [step(n, each, result, x) for n, each in enumerate(REDUCE_EXTREMES)]
    check(extremes, given, target)
    check([step(0, "mean {} axes [1]", result, x)], given, target, TOLERANCE[element])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_extremes_of_zeros_may_have_either_sign(element: str, target: str):
    numbers = np.array([[0.0, -0.0, -0.0, 0.0], [-0.0, 0.0, 0.0, -0.0]])
    x = Value("x", numbers.shape, element)
    steps = [
        step(n, each, ((2,), element), x) for n, each in enumerate(REDUCE_EXTREMES)
    ]
    check(steps, {"x": numbers.astype(DTYPE[element])}, target, zeros=False)


@pytest.mark.parametrize("target", TARGETS)
def test_integer_reductions_wrap_around(target: str):
    numbers = np.stack([special("i32"), np.bitwise_or(special("i32")[::-1], 1)])
    x = Value("x", numbers.shape, "i32")
    patterns = (*REDUCE, *REDUCE_EXTREMES)
    steps = [step(n, each, ((2,), "i32"), x) for n, each in enumerate(patterns)]
    check(steps, {"x": numbers}, target)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_norms(element: str, target: str):
    numbers = rows(element)
    x, given = Value("x", numbers.shape, element), {"x": numbers}
    patterns = (
        "softmax {} axis 1",
        "layer_norm {} epsilon 1.0e-5",
        "rms_norm {} epsilon 1.0e-5",
    )
    result = (numbers.shape, element)
    steps = [step(n, each, result, x) for n, each in enumerate(patterns)]
    check(steps, given, target, 2 * TOLERANCE[element])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_matrix_products(element: str, target: str):
    numbers = rows(element)
    x, w = Value("x", numbers.shape, element), Value("w", (5, 3), element)
    weights = np.array([[1, 0, -1], [0, 1, 2], [0, 0, 1], [1, -1, 0], [2, 0, 0]])
    given = {"x": numbers, "w": weights.astype(DTYPE[element])}
    steps = [step(0, "matmul {}, {}", ((len(numbers), 3), element), x, w)]
    check(steps, given, target)


@pytest.mark.parametrize(("target", "last"), [("h200", None), ("npu", "tiles")])
def test_integer_matrix_products_wrap_around(
    target: str, last: str | None, tmp_path: Path
):
    """Down to tiles of an NPU whose array multiplies such numbers, as none does yet."""
    if target == "npu":
        chip = (PRESETS / "npu-tiny.toml").read_text(encoding="utf-8")
        file = tmp_path / "chip.toml"
        file.write_text(chip.replace("cycles = { f16", "cycles = { i32 = 4, f16"))
        target = str(file)
    numbers = np.stack([special("i32"), special("i32")[::-1]])
    x = Value("x", numbers.shape, "i32")
    w = Value("w", (numbers.shape[1], 2), "i32")
    steps = [step(0, "matmul {}, {}", ((2, 2), "i32"), x, w)]
    check(steps, {"x": numbers, "w": numbers.T.copy()}, target, last=last)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("element", FLOATS)
def test_one_element(element: str, shape: tuple[int, ...], target: str):
    a, b = Value("a", shape, element), Value("b", (), element)
    numbering = count()

    def steps(patterns: Sequence[str], result: str, *operands: Value) -> list[Step]:
        kind = (shape, result)
        return [step(next(numbering), each, kind, *operands) for each in patterns]

    every = steps((*EXACT_UNARY, *UNARY, *ANGLES), element, a)
    every += steps((*ARITHMETIC, *EXTREMES, POW), element, a, b)
    every += steps(COMPARE, "i1", a, b)
    every += steps([CAST], "i1", a)
    if shape:
        axis = len(shape) - 1
        whole = ["softmax {} axis 0", "layer_norm {} epsilon 1.0e-5"]
        whole += [f"reduce {{}} <sum> axes [{axis}] keepdims"]
        whole += [f"mean {{}} axes [{axis}] keepdims"]
        every += steps(whole, element, a)
    # Each number meets every shape and every type.
    number = (np.nan, -0.0, 2.5)[(len(shape) + FLOATS.index(element)) % 3]
    given = {
        "a": np.full(shape, number).astype(DTYPE[element]),
        "b": np.asarray(1.5).astype(DTYPE[element]),
    }
    check(every, given, target, 2 * TOLERANCE[element], zeros=False)


@pytest.mark.parametrize("target", TARGETS)
def test_product_of_one_element(target: str):
    x, w = Value("x", (1, 1), "f32"), Value("w", (1, 1), "f32")
    steps = [step(0, "matmul {}, {}", ((1, 1), "f32"), x, w)]
    for number in (np.nan, np.inf, 3.0):
        given = {
            "x": np.full((1, 1), number, np.float32),
            "w": np.full((1, 1), 0.5, np.float32),
        }
        check(steps, given, target)


def test_every_elementwise_operation_is_here():
    patterns = (*EXACT_UNARY, *UNARY, *ANGLES, *ARITHMETIC, *EXTREMES, *COMPARE)
    patterns += (*BITWISE, NOT, SELECT, POW, ATAN2, COPYSIGN, REM, CAST, ROUND_TF32)
    known = {op.name for op in Graph.operations if issubclass(op, ElementwiseOperation)}
    known -= {"graph.within"}  # goes before anything is lowered
    assert {f"graph.{each.split()[0]}" for each in patterns} == known


@pytest.mark.parametrize(
    "text",
    [
        """func.func @f(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
          %y = graph.relu %x : tensor<0x4xf32>
          func.return %y : tensor<0x4xf32>
        }""",
        """func.func @f(%x: tensor<3x0xf32>) -> tensor<3xf32> {
          %y = graph.reduce %x <sum> axes [1] : (tensor<3x0xf32>) -> tensor<3xf32>
          func.return %y : tensor<3xf32>
        }""",
    ],
)
def test_tensors_without_elements_are_refused(text: str):
    refused = (ParseError, VerifyException)
    with pytest.raises(refused, match="expected extents of at least 1, got"):
        parsed(text)


def test_differences_are_found():
    wanted = np.array([np.nan, np.inf, 0.0, 1.0], np.float32)
    for place, number in enumerate((1.0, -np.inf, -0.0, 1.1)):
        found = wanted.copy()
        found[place] = number
        assert len(differences(found, wanted, 0.01)) == 1
    assert differences(wanted, wanted) == []
    assert differences(np.array([2.0]), np.array([np.inf]), 0.5) != []
    assert differences(np.array([-0.0]), np.array([0.0]), zeros=False) == []
