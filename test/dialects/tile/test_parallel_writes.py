"""Iterations of parallel nests write apart, or the reference says which do not."""

import numpy as np
import pytest
from xdsl.utils.exceptions import InterpretationError

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret

NEST = """
func.func @f(%x: tensor<12x8x{element}>, %n: index, %m: index)
    -> tensor<12x8x{element}> {{
  %e = tile.empty : tensor<12x8x{element}>
  %r = tile.while (%i = 0 to 12 step %STEP, %j = 0 to 8 step 4) {kind}
      (%o = %e : tensor<12x8x{element}>) {{
    %k = arith.muli %i, %n : index
    %l = arith.muli %j, %m : index
    %t = tile.slice %x[%k, %l]
        : tensor<12x8x{element}> -> tensor<4x4x{element}, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%k, %l]
        : tensor<4x4x{element}, #tile.encoding<L1>> into tensor<12x8x{element}>
    tile.yield %d : tensor<12x8x{element}>
  }}
  func.return %r : tensor<12x8x{element}>
}}
"""


def run(
    step: int,
    factors: tuple[int, int],
    kind: str = "parallel into",
    element: str = "f32",
) -> Array:
    text = NEST.format(element=element, kind=kind).replace("%STEP", str(step))
    dtype = np.dtype({"f32": "float32", "f16": "float16", "i32": "int32"}[element])
    x = np.arange(96).reshape(12, 8).astype(dtype)
    n, m = map(np.array, factors)
    module = parse_module(new_context(), Source(text, "nest.mlir"))
    (found,) = interpret(module, {"x": x, "n": n, "m": m})
    assert kind.startswith("sequential") or (found == x).all()
    return found


@pytest.mark.parametrize("element", ["f32", "f16", "i32"])
@pytest.mark.parametrize(("step", "factor"), [(4, 1), (2, 2), (1, 4)])
def test_tiles_apart(step: int, factor: int, element: str):
    run(step, (factor, 1), element=element)


@pytest.mark.parametrize(
    ("step", "factors", "message"),
    [
        (2, (1, 1), r"iterations \(%i = 8, .*\) and \(%i = 10, .* element \[10, 4\]"),
        (3, (1, 1), r"iterations \(%i = 6, .*\) and \(%i = 9, .* element \[9, 4\]"),
        (4, (0, 1), r"iterations \(%i = 4, .*\) and \(%i = 8, .* element \[0, 4\]"),
        (4, (1, 0), r"iterations \(%i = 8, %j = 0\) and \(%i = 8, %j = 4\)"),
    ],
)
@pytest.mark.parametrize("element", ["f32", "i32"])
def test_tiles_that_meet(
    step: int, factors: tuple[int, int], message: str, element: str
):
    with pytest.raises(InterpretationError, match=message):
        run(step, factors, element=element)
    run(step, factors, "sequential carry", element)


NESTED = """
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %r = tile.while (%i = 0 to 8 step OUTER) parallel into(%o = %e : tensor<8xf32>) {
    %s = tile.while (%j = %i to 8 step 2) KIND(%p = %o : tensor<8xf32>) {
      %t = tile.slice %x[WHERE] : tensor<8xf32> -> tensor<2xf32, #tile.encoding<L1>>
      %d = tile.deslice %t into %p[WHERE]
          : tensor<2xf32, #tile.encoding<L1>> into tensor<8xf32>
      tile.yield %d : tensor<8xf32>
    }
    tile.yield %s : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}
"""


@pytest.mark.parametrize("kind", ["parallel into", "sequential carry"])
def test_nests_in_nests(kind: str):
    """The inner iterations of one outer iteration are in order, others are not."""
    x = np.arange(8, dtype=np.float32)

    def outcome(outer: int, where: str) -> Array:
        text = NESTED.replace("KIND", kind).replace("WHERE", where)
        text = text.replace("OUTER", str(outer))
        return interpret(parse_module(new_context(), Source(text, "f.mlir")), {"x": x})[
            0
        ]

    np.testing.assert_array_equal(outcome(8, "%j"), x)
    with pytest.raises(InterpretationError, match=r"\(%i = 0\) and \(%i = 4\)"):
        outcome(4, "%j")
    if kind.startswith("sequential"):
        np.testing.assert_array_equal(outcome(8, "0")[:2], x[:2])
        return
    with pytest.raises(InterpretationError, match=r"\(%j = 4\) and \(%j = 6\)"):
        outcome(8, "0")


@pytest.mark.parametrize(("kind", "expected"), [("add", 66), ("max", 11), ("min", 0)])
def test_iterations_combine_with_one_element(kind: str, expected: int):
    text = f"""
    func.func @f(%x: tensor<3xi32>, %n: tensor<12xi64>, %u: tensor<12xi32>)
        -> tensor<3xi32> {{
      %r = tile.while (%i = 0 to 12 step 4) parallel into(%o = %x : tensor<3xi32>) {{
        %m = tile.slice %n[%i]
            : tensor<12xi64> -> tensor<4xi64, #tile.encoding<L1>>
        %t = tile.slice %u[%i]
            : tensor<12xi32> -> tensor<4xi32, #tile.encoding<L1>>
        %d = tile.scatter %t into %o[0] axis 0 at %m
            maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>] combine <{kind}>
            : tensor<4xi32, #tile.encoding<L1>>, tensor<4xi64, #tile.encoding<L1>>
            into tensor<3xi32>
        tile.yield %d : tensor<3xi32>
      }}
      func.return %r : tensor<3xi32>
    }}"""
    module = parse_module(new_context(), Source(text, "nest.mlir"))
    updates = np.arange(12, dtype=np.int32)
    names = np.ones(12, np.int64)
    x = np.array([7, {"add": 0, "max": -1, "min": 99}[kind], 7], np.int32)
    (found,) = interpret(module, {"x": x, "n": names, "u": updates})
    assert found.tolist() == [7, expected, 7]
