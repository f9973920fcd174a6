"""Long rows compile in a time that does not grow with their length."""

from time import process_time

import pytest
from differential import parsed, steps_of

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.target import load_target_spec

pytestmark = pytest.mark.searched

CUMULATE = """
func.func @main(%x: tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
  %0 = graph.cumulate %x <{kind}> axis {axis}
    : (tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
  func.return %0 : tensor<{rows}x{columns}xf32>
}}
"""


@pytest.mark.parametrize(
    ("chip", "kind", "axis"),
    [("h200", "sum", 1), ("h200", "sum", 0), ("h200", "max", 1), ("npu", "sum", 1)],
)
def test_cumulative_reductions_of_long_rows(chip: str, kind: str, axis: int):
    """Rows of 32,768 elements took more than 150 s."""
    target = load_target_spec(chip)
    text = CUMULATE.format(rows=32768, columns=32768, kind=kind, axis=axis)
    context, module = parsed(text)
    target.attach_to_module(module)
    start = process_time()
    PassManager(steps_of(target)).run(context, module)
    assert process_time() - start < 40
