"""Loads whose lines the cache retains over those that a kernel stores."""

import pytest
from differential import check, compiled_text, make_case

ADD = """
func.func @f(%x: tensor<{n}x64xf32>, %y: tensor<64xf32>) -> tensor<{n}x64xf32> {{
  %0 = graph.add %x, %y : (tensor<{n}x64xf32>, tensor<64xf32>) -> tensor<{n}x64xf32>
  %1 = graph.exp %0 : tensor<{n}x64xf32>
  func.return %1 : tensor<{n}x64xf32>
}}"""

SUM = """
func.func @f(%x: tensor<{n}x64xf32>) -> tensor<{n}xf32> {{
  %0 = graph.reduce %x <sum> axes [1] : (tensor<{n}x64xf32>) -> tensor<{n}xf32>
  func.return %0 : tensor<{n}xf32>
}}"""

PRODUCT = """
func.func @f(%x: tensor<{n}x64xf32>, %w: tensor<64x64xf32>) -> tensor<{n}x64xf32> {{
  %0 = graph.matmul %x, %w
      : (tensor<{n}x64xf32>, tensor<64x64xf32>) -> tensor<{n}x64xf32>
  func.return %0 : tensor<{n}x64xf32>
}}"""


def target_with(cache: str) -> str:
    return f"h200:L2={cache}"


@pytest.mark.parametrize(("n", "is_retained"), [(256, False), (257, True)])
def test_values_and_loads_of_tensors_larger_than_the_cache(
    n: int, *, is_retained: bool
):
    text, target = ADD.format(n=n), target_with("64K")
    assert check(make_case(text), target, stages=False) is None
    loads = [
        line
        for line in compiled_text(text, target).splitlines()
        if line.lstrip().startswith("v") and "evict_last" in line
    ]
    assert len(loads) == is_retained
    assert all(line.endswith("# %x") for line in loads)


@pytest.mark.parametrize("text", [SUM, PRODUCT])
def test_other_kernels_retain_nothing(text: str):
    assert "evict" not in compiled_text(text.format(n=512), target_with("64K"))


def test_other_targets_retain_nothing():
    assert "evict" not in compiled_text(ADD.format(n=2**20), "npu", search=False)
