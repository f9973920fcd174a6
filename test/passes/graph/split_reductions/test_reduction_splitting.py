"""Reductions of parts of an axis come to what those of all of it are."""

import random
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from cascade_programs import run
from differential import parsed
from random_cascades import Cascade
from special_values import DTYPE
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interfaces import (
    AccumulatingInterface,
    Array,
    ConstantInterface,
    TilingInterface,
)
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.split_reductions.reduction_splitting import SplittableReductions

UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}

SOFTMAX = """
  %m = graph.reduce {0} <max> axes [{axis}] keepdims : ({S}) -> {R}
  %d = graph.sub {0}, %m : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %l = graph.reduce %e <sum> axes [{axis}] keepdims : ({S}) -> {R}"""

VALUES = """
  %o = graph.matmul %e, %v : ({S}, {V}) -> {Y}
  %y = graph.div %o, %l : ({Y}, {R}) -> {Y}"""

BODIES: Mapping[str, str] = {
    "sum": "%y = graph.reduce %s <sum> axes [{axis}] keepdims : ({S}) -> {R}",
    "maximum": "%y = graph.reduce %s <max> axes [{axis}] : ({S}) -> {D}",
    "product": "%y = graph.matmul %s, %v : ({S}, {V}) -> {Y}",
    "norm": """%w = graph.mul %s, %s : ({S}, {S}) -> {S}
  %y = graph.reduce %w <sum> axes [{axis}] : ({S}) -> {D}""",
    "attention": "%x = graph.add %s, %b : ({S}, {B}) -> {S}"
    + SOFTMAX.replace("{0}", "%x")
    + VALUES,
    "scores of a product": "%x = graph.matmul %q, %k : ({Q}, {K}) -> {S}"
    + SOFTMAX.replace("{0}", "%x")
    + VALUES,
    "log of a sum": SOFTMAX.replace("{0}", "%s")
    + """
  %g = graph.log %l : {R}
  %y = graph.add %g, %m : ({R}, {R}) -> {R}""",
    "sink": """%n = graph.reduce %s <max> axes [{axis}] keepdims : ({S}) -> {R}
  %m = graph.maximum %n, %c : ({R}, {C}) -> {R}
  %d = graph.sub %s, %m : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %z = graph.reduce %e <sum> axes [{axis}] keepdims : ({S}) -> {R}
  %f = graph.sub %c, %m : ({C}, {R}) -> {R}
  %h = graph.exp %f : {R}
  %l = graph.add %z, %h : ({R}, {R}) -> {R}"""
    + VALUES,
    "without unit axes": """%n = graph.reduce %s <max> axes [{axis}] : ({S}) -> {D}
  %m = graph.reshape %n : ({D}) -> {R}
  %d = graph.sub %s, %m : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %a = graph.reduce %e <sum> axes [{axis}] : ({S}) -> {D}
  %l = graph.reshape %a : ({D}) -> {R}"""
    + VALUES,
    "a mask of columns": """%r = graph.reshape %b : ({B}) -> {A}
  %x = graph.add %s, %r : ({S}, {A}) -> {S}"""
    + SOFTMAX.replace("{0}", "%x")
    + VALUES,
    "weights of a softmax": SOFTMAX.replace("{0}", "%s")
    + "\n  %y = graph.div %e, %l : ({S}, {R}) -> {S}",
}
"""Computations on scores `s`, or on queries `q` and keys `k`, and on values `v`."""

RESULTS = {"sum": "R", "log of a sum": "R", "maximum": "D", "norm": "D"}
RESULTS["weights of a softmax"] = "S"

OUTER = ((), (3,), (2, 1), (1, 2))
"""The axes before those of rows and columns."""


def shapes_of(
    outer: tuple[int, ...], rows: int, columns: int
) -> dict[str, tuple[int, ...]]:
    return {
        "S": (*outer, rows, columns),
        "R": (*outer, rows, 1),
        "D": (*outer, rows),
        "V": (*outer, columns, 5),
        "Y": (*outer, rows, 5),
        "Q": (*outer, rows, 4),
        "K": (*outer, 4, columns),
        "B": (columns,),
        "A": (*(1 for _ in outer), 1, columns),
        "C": (),
    }


def written(
    body: str, shapes: Mapping[str, tuple[int, ...]], element: str
) -> tuple[str, dict[str, tuple[int, ...]]]:
    """A program, and the shapes of what it takes."""
    types = {
        name: f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"
        for name, shape in shapes.items()
    }
    taken = {name: shapes[name.upper()] for name in "sqkvbc"}
    arguments = ", ".join(f"%{name}: {types[name.upper()]}" for name in taken)
    result = types[RESULTS.get(body, "Y")]
    lines = BODIES[body].format(axis=len(shapes["S"]) - 1, **types)
    text = (
        f"func.func @main({arguments}) -> {result} {{\n  {lines}\n"
        f"  func.return %y : {result}\n}}\n"
    )
    return text, taken


def reductions(module: ModuleOp) -> Iterator[SplittableReductions]:
    """
    Yield the reductions of a program with the operations they need: all together, then
    each alone.
    """
    tiling = (op for op in module.walk() if isinstance(op, TilingInterface))
    operations = [op for op in tiling if not isinstance(op, ConstantInterface)]
    alone = ([op] for op in operations if isinstance(op, AccumulatingInterface))
    for group in (operations, *alone):
        if (found := SplittableReductions.find_in_group(group, operations)) is not None:
            yield found


def prepared(text: str) -> tuple[Context, ModuleOp]:
    context, module = parsed(text)
    load_target_spec("h200").attach_to_module(module)
    run("graph-decompose,canonicalize,tlf-cse,dce", context, module)
    return context, module


def divisors(extent: int) -> list[int]:
    return [n for n in range(2, extent + 1) if extent % n == 0]


def error(found: Array, wanted: Array) -> float:
    distance = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return float(distance.max() / max(1.0, np.abs(wanted).max()))


def compare(text: str, inputs: Mapping[str, Array], parts: int, element: str) -> int:
    """
    Split what a program reduces in each way that there is, and compare: at most four
    times the errors of the program as it was, against f64. Returns how many these are.
    """
    ways = len(list(reductions(prepared(text)[1])))
    wide = {name: each.astype(np.float64) for name, each in inputs.items()}
    (wanted,) = interpret(parsed(text.replace(element, "f64"))[1], wide)
    (whole,) = interpret(parsed(text)[1], inputs)
    return sum(
        compare_way(text, way, parts, inputs, whole, wanted) for way in range(ways)
    )


def compare_way(
    text: str,
    way: int,
    parts: int,
    inputs: Mapping[str, Array],
    whole: Array,
    wanted: Array,
) -> bool:
    context, module = prepared(text)
    found = list(reductions(module))[way]
    if found.reduced_extent % parts or not found.split_into_parts(parts):
        return False
    module.verify()
    run("canonicalize,tlf-cse,dce", context, module)
    (made,) = interpret(module, inputs)
    np.testing.assert_array_equal(np.isnan(made), np.isnan(whole))
    finite = np.isfinite(whole.astype(float)) & np.isfinite(wanted)
    if finite.any():
        unit = next(UNIT[name] for name in UNIT if DTYPE[name] == whole.dtype)
        bound = 4 * max(error(whole[finite], wanted[finite]), 8 * unit)
        assert error(made[finite], wanted[finite]) <= bound
    infinite = ~np.isfinite(whole.astype(float))
    np.testing.assert_array_equal(made[infinite], whole[infinite])
    return True


@pytest.mark.one_in(8)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", UNIT)
@pytest.mark.parametrize("outer", OUTER)
def test_bodies(outer: tuple[int, ...], element: str, body: str):
    rng = np.random.default_rng([len(body), len(outer)])
    for _ in range(3):
        rows, columns = int(rng.integers(1, 6)), int(rng.integers(2, 49))
        text, taken = written(body, shapes_of(outer, rows, columns), element)
        inputs = {
            name: np.asarray(rng.standard_normal(shape)).astype(DTYPE[element])
            for name, shape in taken.items()
        }
        assert compare(text, inputs, int(rng.choice(divisors(columns))), element)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, 1e4, -1e4])
@pytest.mark.parametrize("body", BODIES)
def test_special_values(body: str, value: float):
    """Rows, parts of rows, and single elements that are far out."""
    rng = np.random.default_rng(0)
    text, taken = written(body, shapes_of((2,), 4, 12), "f32")
    inputs = {name: rng.standard_normal(shape) for name, shape in taken.items()}
    for scores in (inputs["s"], inputs["q"]):
        scores[0, 0] = value
        scores[0, 1, : scores.shape[-1] // 3] = value
        scores[1, 2, -1] = value
    given = {name: np.asarray(each, np.float32) for name, each in inputs.items()}
    for parts in (2, 3, 12):
        assert compare(text, given, parts, "f32")


@pytest.mark.one_in(15)
@pytest.mark.parametrize("element", UNIT)
@pytest.mark.parametrize("seed", range(120))
def test_random_cascades(seed: int, element: str):
    """Cascades that are accepted and bounded come to the same, split in any way."""
    rng = random.Random(seed)
    cascade = Cascade(rng, element, rng.randint(1, 4))
    text = cascade.program()
    generator = np.random.default_rng(seed)
    inputs = {
        name: generator.standard_normal(shape).astype(DTYPE[element])
        for name, shape in cascade.shapes().items()
    }
    parts = rng.choice(divisors(cascade.columns))
    assert compare(text, inputs, parts, element)
