"""
Chains of two products in one group, of which the first one has a loop: the results of
the reference after every pass and in Triton's interpreter.
"""

import numpy as np
import pytest
from every_stage import check
from indexed_programs import DTYPES, shaped

PRODUCT = "maps [{}]".format(
    ", ".join(
        f"affine_map<(m, n, k) -> {axes}>" for axes in ("(m, k)", "(k, n)", "(m, n)")
    )
)


def chain(element: str, rows: int, terms: int, inner: int, columns: int) -> str:
    """Return a group of a product, its maximum with a row, and a second product."""
    x, w, h, v = (
        shaped(shape, element)
        for shape in (
            (rows, terms),
            (terms, inner),
            (rows, inner),
            (inner, columns),
        )
    )
    row, wide = shaped((inner,), element), shaped((rows, inner), "f32")
    result = shaped((rows, columns), "f32")
    narrow = f"%1 = graph.cast %0 : ({wide}) -> {h}" if wide != h else ""
    return f"""
func.func @f(%x: {x}, %w: {w}, %b: {row}, %v: {v}) -> {result} {{
  %r = graph.group ins(%a = %x, %c = %w, %d = %b, %e = %v : {x}, {w}, {row}, {v})
      plan #graph.plan<L1, tile [16, 32], reduce [64], mapping grid> -> ({result}) {{
    %0 = graph.contract %a, %c {PRODUCT} acc f32 : ({x}, {w}) -> {wide}
    {narrow}
    %2 = graph.maximum {"%1" if narrow else "%0"}, %d : ({h}, {row}) -> {h}
    %3 = graph.contract %2, %e {PRODUCT} acc f32 : ({h}, {v}) -> {result}
    graph.yield %3 : {result}
  }}
  func.return %r : {result}
}}"""


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("sizes", [(40, 512, 16, 48), (33, 600, 24, 40)])
def test_results(element: str, sizes: tuple[int, int, int, int]):
    rows, terms, inner, columns = sizes
    generator = np.random.default_rng(0)
    shapes = {
        "x": (rows, terms),
        "w": (terms, inner),
        "b": (inner,),
        "v": (inner, columns),
    }
    inputs = {
        name: generator.integers(-1, 2, shape).astype(DTYPES[element])
        for name, shape in shapes.items()
    }
    check(chain(element, *sizes), inputs)
