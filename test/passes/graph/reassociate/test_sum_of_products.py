"""Sums of products of matrices round no worse as products of sums."""

from collections.abc import Mapping

import numpy as np
import pytest
from differential import parsed
from far_rows import SEEDS, SHAPES, UNIT, decomposed, errors, program
from product_sums import changed, products
from special_values import DTYPE

from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.reassociate.sum_of_products import rewrite_sum_as_product_of_sums

PRODUCT = "\n  %s = graph.matmul %x, %w : ({X}, {W}) -> {Y}"

BODIES: Mapping[str, tuple[str, str]] = {
    "rows": ("B", "\n  %y = graph.reduce %s <sum> axes [0] keepdims : ({Y}) -> {B}"),
    "columns": ("R", "\n  %y = graph.reduce %s <sum> axes [1] keepdims : ({Y}) -> {R}"),
    "all": ("C", "\n  %y = graph.reduce %s <sum> axes [0, 1] : ({Y}) -> {C}"),
    "scaled and shifted": (
        "B",
        """
  %r = graph.reduce %w <sum> axes [0] keepdims : ({W}) -> {B}
  %u = graph.mul %s, %c : ({Y}, {C}) -> {Y}
  %n = graph.neg %u : {Y}
  %v = graph.add %n, %r : ({Y}, {B}) -> {Y}
  %y = graph.reduce %v <sum> axes [0] keepdims : ({Y}) -> {B}""",
    ),
    "difference": (
        "B",
        """
  %g = graph.mul %x, %scale : ({X}, {K}) -> {X}
  %o = graph.matmul %g, %w : ({X}, {W}) -> {Y}
  %d = graph.sub %s, %o : ({Y}, {Y}) -> {Y}
  %h = graph.div %d, %c : ({Y}, {C}) -> {Y}
  %y = graph.reduce %h <sum> axes [0] keepdims : ({Y}) -> {B}""",
    ),
    "beside another": (
        "R",
        """
  %g = graph.mul %x, %scale : ({X}, {K}) -> {X}
  %o = graph.matmul %g, %w : ({X}, {W}) -> {Y}
  %a = graph.abs %o : {Y}
  %d = graph.add %a, %s : ({Y}, {Y}) -> {Y}
  %y = graph.reduce %d <sum> axes [1] keepdims : ({Y}) -> {R}""",
    ),
}
"""Types of results, and computations on products `s` of rows `x`."""


@pytest.mark.one_in(10)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("seed", range(2 * SEEDS))
def test_errors(seed: int, body: str):
    """At most four times the errors of the program as it was, against f64."""
    # 1,360 inputs of each body.
    element = "bf16"
    rng = np.random.default_rng([seed, len(body)])
    result, lines = BODIES[body]
    for _ in range(2 * SHAPES):
        rows, columns = (int(n) for n in rng.integers(2, 9, 2))
        sizes = rows, int(rng.integers(2, 200)), columns
        _, exact = decomposed(program(PRODUCT + lines, sizes, "f64", result))
        text = program(PRODUCT + lines, sizes, element, result)
        _, whole = decomposed(text)
        made = changed(text)

        assert products(made) < products(whole)
        worst, usual = errors(exact, (made, whole), rng, sizes, element)
        assert worst <= 4 * max(usual, 4 * UNIT[element])


@pytest.mark.parametrize(
    "lines",
    [
        "%t = graph.exp %s : {Y}",
        "%t = graph.mul %s, %s : ({Y}, {Y}) -> {Y}",
        "%t = graph.div %c, %s : ({C}, {Y}) -> {Y}",
        "%t = graph.reshape %s : ({Y}) -> {Y}",
    ],
)
def test_what_is_no_sum_of_products_stays(lines: str):
    total = "\n  %y = graph.reduce %t <sum> axes [0] keepdims : ({Y}) -> {B}"
    text = program(f"{PRODUCT}\n  {lines}{total}", (4, 8, 5), "bf16", "B")
    _, module = parsed(text)

    assert not any([rewrite_sum_as_product_of_sums(op) for op in list(module.walk())])


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_products_of_other_types_stay(element: str):
    """
    Errors of rows average out, but those of the product of a sum would not; and what
    is infinite in 16 bits stays so.
    """
    text = program(PRODUCT + BODIES["rows"][1], (4, 8, 5), element, "B")
    _, module = parsed(text)

    assert not any([rewrite_sum_as_product_of_sums(op) for op in list(module.walk())])


@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize("body", BODIES)
def test_relaxed(body: str, element: str):
    """Products of other types where results may be rounded otherwise."""
    rng = np.random.default_rng([len(body), len(element)])
    sizes, (result, lines) = (7, 33, 5), BODIES[body]
    _, exact = decomposed(program(PRODUCT + lines, sizes, "f64", result))
    text = program(PRODUCT + lines, sizes, element, result)
    _, whole = decomposed(text)
    made = changed(f'module attributes {{tlf.numerics = "relaxed"}} {{\n{text}}}\n')

    assert products(made) < products(whole)
    (worst,) = errors(exact, (made,), rng, sizes, element)
    assert worst <= 64 * UNIT[element]


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("body", ["rows", "columns", "scaled and shifted"])
@pytest.mark.parametrize("value", [3.0e38, -3.0e38, np.inf, -np.inf, np.nan])
def test_large_numbers(value: float, body: str):
    """Sums of rows are finite wherever those of products are."""
    sizes, (result, lines) = (8, 16, 4), BODIES[body]
    text = program(PRODUCT + lines, sizes, "bf16", result)
    ones = {"w": (16, 4), "scale": (16,), "shift": (16,)}
    inputs = {name: np.full(shape, 1e-6) for name, shape in ones.items()}
    for rows in (slice(None), slice(2), slice(5, 6)):
        x = np.ones((8, 16))
        x[rows] = value
        given = {n: a.astype(DTYPE["bf16"]) for n, a in {"x": x, **inputs}.items()}
        (right,) = interpret(decomposed(text)[1], given)
        (found,) = interpret(changed(text), given)
        np.testing.assert_allclose(
            found.astype(float), right.astype(float), rtol=2e-2, equal_nan=True
        )
