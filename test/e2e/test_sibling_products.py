"""Products of one tensor in one loop, in Triton's interpreter, by the reference."""

import pytest
from differential import check, compiled_text, make_case

from tlf.runtime.triton import load_plan

GATED = """
func.func @f(%x: tensor<{rows}x{depth}xbf16>, %g: tensor<{columns}x{depth}xbf16>,
             %u: tensor<{depth}x{columns}xbf16>) -> tensor<{rows}x{columns}xbf16> {{
  %t = graph.transpose %g permutation [1, 0]
      : (tensor<{columns}x{depth}xbf16>) -> tensor<{depth}x{columns}xbf16>
  %0 = graph.matmul %x, %t : (tensor<{rows}x{depth}xbf16>,
      tensor<{depth}x{columns}xbf16>) -> tensor<{rows}x{columns}xbf16>
  %1 = graph.matmul %x, %u : (tensor<{rows}x{depth}xbf16>,
      tensor<{depth}x{columns}xbf16>) -> tensor<{rows}x{columns}xbf16>
  %2 = graph.silu %0 : tensor<{rows}x{columns}xbf16>
  %3 = graph.mul %2, %1 : (tensor<{rows}x{columns}xbf16>,
      tensor<{rows}x{columns}xbf16>) -> tensor<{rows}x{columns}xbf16>
  func.return %3 : tensor<{rows}x{columns}xbf16>
}}"""


@pytest.mark.parametrize(
    ("rows", "columns", "depth"), [(64, 128, 512), (70, 88, 520), (48, 40, 144)]
)
def test_gated_products(rows: int, columns: int, depth: int):
    """Both accumulators are in one kernel, which loads the common factor once."""
    text = GATED.format(rows=rows, columns=columns, depth=depth)
    (kernel,) = load_plan(compiled_text(text, "h200")).kernels
    assert kernel.source.count("tl.dot(") == 2
    assert len(kernel.descriptors) == 3
    assert check(make_case(text), "h200", stages=False) is None
