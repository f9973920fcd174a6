"""Products that lanes compute, in all orders of the axes of both factors."""

import pytest
from differential import check, compiled_text, make_case

PRODUCT = """
func.func @f(%x: tensor<{left}xf32>, %w: tensor<{right}xf32>) -> tensor<40x72xf32> {{
  %y = graph.contract %x, %w
      maps [affine_map<(i, j, k) -> ({x})>, affine_map<(i, j, k) -> ({w})>,
            affine_map<(i, j, k) -> (i, j)>]
      : (tensor<{left}xf32>, tensor<{right}xf32>) -> tensor<40x72xf32>
  func.return %y : tensor<40x72xf32>
}}"""

LEFT = {"i, k": "40x48", "k, i": "48x40"}
RIGHT = {"k, j": "48x72", "j, k": "72x48"}


def program(x: str, w: str) -> str:
    return PRODUCT.format(left=LEFT[x], right=RIGHT[w], x=x, w=w)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("w", RIGHT)
@pytest.mark.parametrize("x", LEFT)
def test_values(x: str, w: str):
    assert check(make_case(program(x, w)), "h200", stages=False) is None


@pytest.mark.parametrize(
    ("x", "w", "transposed"),
    [
        ("i, k", "k, j", set[str]()),
        ("k, i", "k, j", {"%x"}),
        ("i, k", "j, k", {"%w"}),
        # The second factor is the left one, and only the result is transposed.
        ("k, i", "j, k", set[str]()),
    ],
)
def test_columns_are_contiguous_where_one_order_allows_it(
    x: str, w: str, transposed: set[str]
):
    lines = compiled_text(program(x, w), "h200").splitlines()
    loads = {
        line.split(" = ")[0].strip(): name
        for line in lines
        for name in ("%x", "%w")
        if "tl.load" in line and line.endswith(name)
    }
    found = {
        name
        for line in lines
        for variable, name in loads.items()
        if f"tl.trans({variable}, " in line
    }
    assert found == transposed
