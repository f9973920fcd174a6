"""Products whose sums are split into parts, and whose last iteration is partial."""

import pytest
from differential import check, compiled_text, make_case

PRODUCT = """
func.func @f(%x: tensor<75x{k}xf32>, %w: tensor<{k}x70xf32>) -> tensor<75x70xf32> {{
  %y = graph.group ins(%a = %x, %b = %w : tensor<75x{k}xf32>, tensor<{k}x70xf32>)
      plan #graph.plan<L1, tile [32, 32], reduce [{step}], mapping grid>
      -> (tensor<75x70xf32>) {{
    %z = graph.matmul %a, %b
        : (tensor<75x{k}xf32>, tensor<{k}x70xf32>) -> tensor<75x70xf32>
    graph.yield %z : tensor<75x70xf32>
  }}
  func.return %y : tensor<75x70xf32>
}}"""

SIZES = {"partial": (531, 16), "parts": (8192, 128), "both": (8723, 128)}


def program(name: str) -> str:
    k, step = SIZES[name]
    return PRODUCT.format(k=k, step=step)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SIZES)
def test_values(name: str):
    assert check(make_case(program(name)), "h200", stages=False) is None


@pytest.mark.parametrize(
    ("name", "loops", "products"), [("partial", 1, 2), ("parts", 2, 1), ("both", 2, 2)]
)
def test_loops(name: str, loops: int, products: int):
    source, _ = compiled_text(program(name), "h200").split("# plan")
    assert source.count("for k") == loops
    assert source.count("tl.dot(") == products
