"""Reductions that need each other's results compute in one loop what they did apart."""

from collections.abc import Mapping

import numpy as np
import pytest
from cascade_programs import BODIES, assert_alike, in_one_loop, program
from differential import disagreement, make_case, parsed
from special_values import DTYPE
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import tile
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret


def carried_in(module: ModuleOp) -> list[int]:
    """Return the number of values that each loop over a reduction carries."""
    return [
        len(op.inits)
        for op in module.walk()
        if isinstance(op, tile.WhileOp) and op.kind.data is tile.LoopKind.SEQUENTIAL
    ]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("seed", range(6))
def test_random_sizes(seed: int, element: str, body: str):
    rng = np.random.default_rng(seed)
    rows, columns, inner = (int(n) for n in rng.integers([1, 2, 1], 40))
    # Factors of rows move behind products that have fewer columns.
    sizes = rows, columns, inner, int(rng.integers(1, columns))
    case = make_case(program(body, sizes, element), seed)
    steps = int(rng.integers(1, columns + 2))

    module = in_one_loop(case.text, int(rng.integers(1, rows + 2)), steps)

    assert bool(carried_in(module)) == (steps < columns)
    assert disagreement(case, interpret(module, case.inputs)) is None


def special(inputs: Mapping[str, Array], at: Mapping[tuple[int, int], float]):
    """Inputs whose scores are given numbers at some places."""
    changed = dict(inputs)
    bias = np.array(inputs["b"])
    for place, value in at.items():
        bias[place] = value
    changed["b"] = bias
    return changed


@pytest.mark.one_in(2)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, -3.0e4, 3.0e4])
def test_special_rows(value: float, element: str, body: str):
    """A masked row, masked first and last steps, and single numbers."""
    text = program(body, (6, 12, 4, 5), element)
    places = {(0, n): value for n in range(12)}
    places |= {(1, n): value for n in range(5)} | {(2, n): value for n in range(7, 12)}
    places |= {(3, 6): value}
    inputs = special(make_case(text).inputs, places)

    (right,) = interpret(parsed(text)[1], inputs)
    (found,) = interpret(in_one_loop(text, 4, 4), inputs)

    assert_alike(found, right, element)


DOCUMENTS = """
func.func @main(%s: tensor<{n}x{n}xf32>, %d: tensor<{n}xi32> {{tlf.range = [0, 2]}},
                %v: tensor<{n}x5xf32>) -> tensor<{n}x5xf32> {{
  %hidden = graph.constant dense<0xFF800000> : tensor<f32>
  %r = graph.reshape %d : (tensor<{n}xi32>) -> tensor<{n}x1xi32>
  %e = graph.compare %r, %d <eq>
      : (tensor<{n}x1xi32>, tensor<{n}xi32>) -> tensor<{n}x{n}xi1>
  %t = graph.select %e, %s, %hidden
      : (tensor<{n}x{n}xi1>, tensor<{n}x{n}xf32>, tensor<f32>) -> tensor<{n}x{n}xf32>
  %p = graph.softmax %t axis 1 : (tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %y = graph.matmul %p, %v
      : (tensor<{n}x{n}xf32>, tensor<{n}x5xf32>) -> tensor<{n}x5xf32>
  func.return %y : tensor<{n}x5xf32>
}}
"""


@pytest.mark.parametrize("size", [7, 16, 29])
@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (8, 5), (1, 16)])
def test_one_tensor_along_rows_and_along_columns(size: int, rows: int, columns: int):
    """Rows see those columns that have the same number."""
    case = make_case(DOCUMENTS.format(n=size), rows)
    columns = min(columns, size)
    module = in_one_loop(case.text, min(rows, size), columns)

    assert bool(carried_in(module)) == (columns < size)
    assert disagreement(case, interpret(module, case.inputs)) is None


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
def test_least_number(element: str):
    """A row of the least finite numbers is no masked row."""
    text = program("attention", (3, 8, 2, 4), element)
    inputs = dict(make_case(text).inputs)
    inputs["q"] = np.zeros_like(inputs["q"])
    inputs["b"] = np.full_like(
        inputs["b"],
        np.finfo(np.float32).min.astype(DTYPE[element]) if element == "f32" else -6.0e4,
    )

    (right,) = interpret(parsed(text)[1], inputs)
    (found,) = interpret(in_one_loop(text, 2, 3), inputs)

    assert np.isfinite(found.astype(np.float64)).all()
    np.testing.assert_allclose(
        found.astype(np.float64), right.astype(np.float64), rtol=2e-2
    )
