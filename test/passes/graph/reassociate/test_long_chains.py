"""Sums of what more operations compute than functions may call themselves."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from cascade_programs import run
from differential import parsed
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f16, f32
from xdsl.ir import Block, SSAValue

from tlf.analysis.recurrence.cascade import Cascade
from tlf.analysis.tiling.group_analysis import group_members_of
from tlf.dialects import graph
from tlf.dialects.interfaces import Array, TilingInterface
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.hoist_scalars.finite_range import is_finite_after_cast
from tlf.passes.graph.reassociate.reassociation_rules import reassociation_rule_for

LONG, SHORT = 1200, 150
"""Lengths of chains: above the limit of recursion of 1000 calls, and below it."""

SHAPES: Mapping[str, tuple[int, ...]] = {
    "x": (8, 64),
    "z": (8, 64),
    "q": (8, 4),
    "k": (4, 64),
    "w": (64, 4),
    "i": (8, 1),
}
"""Shapes of the inputs of a program."""

FIRST: Mapping[str, str] = {
    "alone": "{y} = graph.exp %x : {X}",
    "scaled": "{y} = graph.mul %x, %s : ({X}, {R}) -> {X}",
    "shifted": "{y} = graph.sub %x, %m : ({X}, {R}) -> {X}",
    "product": "{y} = graph.matmul %q, %k : ({Q}, {K}) -> {X}",
    "rows": "{y} = graph.neg %s : {R}",
}
"""First operations of a chain: from rows, their sums `s` and their maxima `m`."""

STEPS: Mapping[str, str] = {
    "sums": "{y} = graph.add {v}, %z : ({X}, {X}) -> {X}",
    "sums with rows": "{y} = graph.add {v}, %s : ({X}, {R}) -> {X}",
    "differences": "{y} = graph.sub {v}, %z : ({X}, {X}) -> {X}",
    "products": "{y} = graph.mul {v}, %z : ({X}, {X}) -> {X}",
    "quotients": "{y} = graph.div {v}, %s : ({X}, {R}) -> {X}",
    "exponentials": "{y} = graph.exp {v} : {X}",
    "doubles": "{y} = graph.add {v}, {v} : ({X}, {X}) -> {X}",
    "squares": "{y} = graph.mul {v}, {v} : ({X}, {X}) -> {X}",
    "rows": "{y} = graph.add {v}, %s : ({R}, {R}) -> {R}",
    "casts": """{y}n = graph.cast {v} : ({X}) -> {N}
  {y} = graph.cast {y}n : ({N}) -> {X}""",
}
"""Operations of a chain, each applied to the previous result."""

LAST: Mapping[str, str] = {
    "reduce": "{y} = graph.reduce {v} <sum> axes [1] keepdims : ({X}) -> {R}",
    "matmul": "{y} = graph.matmul {v}, %w : ({X}, {W}) -> {Q}",
    "gather": "{y} = graph.gather {v}, %i axis 1 : ({X}, {I}) -> {R}",
    "exp": """{y}e = graph.exp {v} : {X}
  {y} = graph.reduce {y}e <sum> axes [1] keepdims : ({X}) -> {R}""",
    "rows": """{y}x = graph.add %x, {v} : ({X}, {R}) -> {X}
  {y} = graph.reduce {y}x <sum> axes [1] keepdims : ({X}) -> {R}""",
}
"""Final sums or gathers."""

Chain = tuple[str, str, str]
"""First operation, operations in between, and last operation of a chain."""


def program(chain: Chain, count: int, element: str) -> str:
    first, steps, last = FIRST[chain[0]], STEPS[chain[1]], LAST[chain[2]]
    values = [f"%v{number}" for number in range(count + 2)]
    lines = [
        "%s = graph.reduce %x <sum> axes [1] keepdims : ({X}) -> {R}",
        "%m = graph.reduce %x <max> axes [1] keepdims : ({X}) -> {R}",
        first.replace("{y}", values[0]),
        *(
            steps.replace("{v}", before).replace("{y}", after)
            for before, after in pairwise(values[:-1])
        ),
        last.replace("{v}", values[-2]).replace("{y}", values[-1]),
    ]
    result = "{Q}" if chain[2] == "matmul" else "{R}"
    read = "%x: {X}, %z: {X}, %q: {Q}, %k: {K}, %w: {W}, %i: {I}"
    body = "\n  ".join([*lines, f"func.return {values[-1]} : {result}"])
    text = f"func.func @main({read}) -> {result} {{{{\n  {body}\n}}}}\n"
    floats = {"X": "8x64", "R": "8x1", "Q": "8x4", "K": "4x64", "W": "64x4"}
    types = {name: f"tensor<{shape}x{element}>" for name, shape in floats.items()}
    return text.format(N="tensor<8x64xbf16>", I="tensor<8x1xi64>", **types)


def drawn() -> dict[str, Array]:
    """Rows whose sums are about 1, and other numbers that are."""
    rng = np.random.default_rng(0)
    found: dict[str, Array] = {
        name: rng.uniform(0.5, 1.5, shape) / (64 if name == "x" else 1)
        for name, shape in SHAPES.items()
    }
    return {**found, "i": rng.integers(0, 64, SHAPES["i"])}


def written(chain: Chain, count: int, element: str = "f32") -> tuple[Context, ModuleOp]:
    context, module = parsed(program(chain, count, element))
    load_target_spec("h200").attach_to_module(module)
    return context, module


def rewrite(module: ModuleOp) -> None:
    """Write what computes the result by the rule for it."""
    *_, op, _ = module.walk()
    rule = reassociation_rule_for(op)
    assert rule is not None
    assert rule.apply(op, ())


def cascade_of(module: ModuleOp) -> Cascade | None:
    """The loop of all operations from the maxima on, if they are one loop."""
    _, *found = (op for op in module.walk() if isinstance(op, TilingInterface))
    return group_members_of(found).cascade


def test_nothing_to_split():
    context, module = written(("alone", "sums", "matmul"), LONG)
    run("graph-decompose,canonicalize", context, module)
    before = str(module)
    run("graph-expose-cascaded-reductions", context, module)
    assert str(module) == before


@pytest.mark.parametrize(
    ("chain", "count"),
    [
        (("scaled", "sums", "matmul"), LONG),
        (("scaled", "sums with rows", "reduce"), LONG),
        (("scaled", "casts", "reduce"), LONG // 2),
        (("rows", "rows", "rows"), LONG),
        (("product", "sums", "gather"), LONG),
    ],
)
def test_rules(chain: Chain, count: int):
    _, module = written(chain, count)
    rewrite(module)


@pytest.mark.parametrize(
    "chain",
    [
        ("scaled", "sums", "matmul"),
        ("scaled", "sums with rows", "reduce"),
        ("scaled", "differences", "reduce"),
        ("scaled", "products", "matmul"),
        ("scaled", "quotients", "reduce"),
        ("rows", "rows", "rows"),
        ("product", "sums", "gather"),
    ],
)
def test_values(chain: Chain):
    inputs = drawn()
    _, module = written(chain, SHORT, "f64")
    (wanted,) = interpret(module, inputs)
    rewrite(module)
    module.verify()
    (found,) = interpret(module, inputs)
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), 1e-12)


@pytest.mark.parametrize(
    ("steps", "count"),
    [("exponentials", LONG), ("doubles", LONG), ("squares", SHORT)],
)
def test_long_formulae(steps: str, count: int):
    """
    Values that depend on maxima through too many operations run in no loop with them.
    """
    _, module = written(("shifted", steps, "reduce"), count)
    assert cascade_of(module) is None


def test_long_sums_are_short_formulae():
    _, module = written(("shifted", "sums", "exp"), SHORT)
    assert cascade_of(module) is not None


def test_casts_that_stay_finite():
    value: SSAValue = Block(arg_types=[TensorType(bf16, [1])]).args[0]
    for _ in range(LONG):
        wide = graph.CastOp(value, f32).result
        value = graph.CastOp(wide, bf16).result
    assert not is_finite_after_cast(value, f16)
