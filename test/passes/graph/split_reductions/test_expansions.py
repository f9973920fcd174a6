"""Sums of squares around a mean, of parts of an axis, each around a mean of its own."""

from collections.abc import Mapping

import numpy as np
import pytest
from cascade_programs import run
from differential import parsed
from far_rows import MEAN, SEEDS, SHAPES, SQUARES, UNIT, drawn, errors, program
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.split_reductions.reduction_splitting import SplittableReductions

SUM = "graph.reduce %{} <sum> axes [1] keepdims : ({{X}}) -> {{R}}"

BODIES: Mapping[str, str] = {
    "variance": f"{MEAN}{SQUARES}\n  %y = graph.mul %v, %c : ({{R}}, {{C}}) -> {{R}}",
    "covariance": MEAN
    + f"""
  %z = graph.mul %x, %scale : ({{X}}, {{K}}) -> {{X}}
  %o = {SUM.format("z")}
  %p = graph.mul %o, %c : ({{R}}, {{C}}) -> {{R}}
  %e = graph.sub %z, %p : ({{X}}, {{R}}) -> {{X}}
  %q = graph.mul %d, %e : ({{X}}, {{X}}) -> {{X}}
  %y = {SUM.format("q")}""",
    "third moment": MEAN
    + """
  %q = graph.mul %d, %d : ({X}, {X}) -> {X}
  %t = graph.mul %q, %d : ({X}, {X}) -> {X}
  %y = graph.reduce %t <sum> axes [1] keepdims : ({X}) -> {R}""",
    "norm": MEAN
    + SQUARES
    + """
  %u = graph.mul %v, %c : ({R}, {C}) -> {R}
  %s = graph.rsqrt %u : {R}
  %y = graph.mul %n, %s : ({R}, {R}) -> {R}""",
}
"""Computations on rows `x`, with the reciprocal `c` of their length."""


def reductions(module: ModuleOp) -> SplittableReductions | None:
    """All that a program reduces."""
    tiling = (op for op in module.walk() if isinstance(op, TilingInterface))
    operations = [op for op in tiling if not isinstance(op, ConstantInterface)]
    return SplittableReductions.find_in_group(operations, operations)


def widened(body: str, element: str) -> str:
    """A body on rows that are widened to f32 first."""
    if element == "f32":
        return body
    inside = body.replace("%x", "%wide").replace("%c", "%k").replace("%scale", "%ks")
    casts = [
        "%wide = graph.cast %x : ({X}) -> {FX}",
        "%k = graph.cast %c : ({C}) -> {FC}",
        "%ks = graph.cast %scale : ({K}) -> {FK}",
    ]
    for name in ("X", "R", "C", "K"):
        inside = inside.replace(f"{{{name}}}", f"{{F{name}}}")
    last = "%y = graph.cast %found : ({FR}) -> {R}"
    return "\n  ".join(["", *casts, inside.replace("%y", "%found"), last])


@pytest.mark.one_in(10)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", UNIT)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_errors(seed: int, element: str, body: str):
    """At most four times the errors of the program as it was, against f64."""
    rng = np.random.default_rng([seed, len(body)])
    worst, usual = 0.0, 0.0
    for _ in range(SHAPES):
        parts, size = int(rng.integers(2, 9)), int(rng.integers(1, 30))
        sizes = int(rng.integers(1, 9)), parts * size, 1
        text = program(widened(BODIES[body], element), sizes, element, "R")
        _, exact = parsed(program(BODIES[body], sizes, "f64", "R"))
        _, whole = parsed(text)
        context, changed = parsed(text)
        found = reductions(changed)
        assert found is not None
        assert any(step.expansion is not None for step in found.cascade_steps.values())
        assert found.split_into_parts(parts)
        changed.verify()
        run("canonicalize,tlf-cse,dce", context, changed)

        found = errors(exact, (changed, whole), rng, sizes, element)
        worst, usual = map(max, (worst, usual), found)
    assert worst <= 4 * max(usual, 4 * UNIT[element])


POWERS = """
  %q = graph.exp %d : {X}
  %y = graph.reduce %q <sum> axes [1] keepdims : ({X}) -> {R}"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (MEAN + POWERS, "an exponential is no polynomial"),
        (MEAN.replace("sub %x", "div %x") + SQUARES.replace("%v", "%y"), "a quotient"),
    ],
)
def test_what_stays_whole(body: str, reason: str):
    _, module = parsed(program(body, (4, 12, 1), "f32", "R"))

    assert reductions(module) is None, reason


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_special_values(value: float):
    text = program(BODIES["variance"], (3, 12, 1), "f32", "R")
    context, module = parsed(text)
    found = reductions(module)
    assert found is not None
    assert found.split_into_parts(4)
    run("canonicalize,tlf-cse,dce", context, module)
    inputs = drawn(np.random.default_rng(0), (3, 12, 1), "f32")
    inputs["x"][0, 0] = value
    inputs["x"][1] = value
    (made,), (wanted,) = interpret(module, inputs), interpret(parsed(text)[1], inputs)

    np.testing.assert_array_equal(np.isnan(made), np.isnan(wanted))
    assert np.isfinite(made[2]).all()
