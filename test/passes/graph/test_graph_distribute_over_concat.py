"""Results of split concatenations equal those of the concatenated tensor."""

import numpy as np
import pytest
from differential import PASSES, PassManager, build_passes, parsed
from special_values import DTYPE

from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret

KINDS = ("sum", "prod", "max", "min")
UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}


def program(rng: np.random.Generator, element: str) -> tuple[str, list[int]]:
    """Joined rows, a chain of elementwise operations, reductions, and a slice."""
    extents = [int(n) for n in rng.integers(1, 9, rng.integers(2, 4))]
    rows, total = int(rng.integers(1, 6)), sum(extents)
    x, r = f"tensor<{rows}x{total}x{element}>", f"tensor<{rows}x1x{element}>"
    types = [f"tensor<{rows}x{n}x{element}>" for n in extents]
    names = [f"%x{place}" for place in range(len(extents))]
    first, second = KINDS[rng.integers(4)], KINDS[rng.integers(4)]
    part = int(rng.integers(len(extents)))
    begin = sum(extents[:part])
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    text = f"""
func.func @main({arguments}, %b: tensor<{total}x{element}>) -> ({r}, {types[part]}) {{
  %j = graph.concat {", ".join(names)} axis 1 : ({", ".join(types)}) -> {x}
  %a = graph.mul %j, %b : ({x}, tensor<{total}x{element}>) -> {x}
  %m = graph.reduce %a <{first}> axes [1] keepdims : ({x}) -> {r}
  %d = graph.sub %a, %m : ({x}, {r}) -> {x}
  %t = graph.tanh %d : {x}
  %s = graph.reduce %t <{second}> axes [1] keepdims : ({x}) -> {r}
  %q = graph.mul %t, %s : ({x}, {r}) -> {x}
  %y = graph.slice %q offsets [0, {begin}] strides [1, 1] : ({x}) -> {types[part]}
  func.return %s, %y : {r}, {types[part]}
}}
"""
    return text, [rows, *extents]


@pytest.mark.one_in(10)
@pytest.mark.parametrize("element", UNIT)
@pytest.mark.parametrize("seed", range(34))
def test_random_parts(seed: int, element: str):
    """1,020 random programs and inputs, with all seeds and types."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        text, (rows, *extents) = program(rng, element)
        _, whole = parsed(text)
        context, split = parsed(text)
        names = "graph-distribute-over-concat,canonicalize,dce"
        PassManager(build_passes(names, PASSES, {})).run(context, split)
        assert not any(isinstance(op, graph.ConcatOp) for op in split.walk())
        _, exact = parsed(text.replace(f"x{element}>", "xf64>"))

        shapes = {f"x{place}": [rows, n] for place, n in enumerate(extents)}
        shapes["b"] = [sum(extents)]
        inputs = {
            name: rng.standard_normal(shape).astype(DTYPE[element])
            for name, shape in shapes.items()
        }
        wide = {name: each.astype(np.float64) for name, each in inputs.items()}
        results = (interpret(m, inputs) for m in (split, whole))
        for mine, usual, right in zip(*results, interpret(exact, wide), strict=True):
            size = max(1.0, np.abs(right).max())
            errors = [np.abs(e.astype(float) - right).max() for e in (mine, usual)]
            assert errors[0] <= 4 * max(errors[1], 4 * UNIT[element] * size)
