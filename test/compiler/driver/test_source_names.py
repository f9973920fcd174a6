"""Names of operations in the source."""

from pathlib import Path

from xdsl.dialects import func

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import read_source
from tlf.compiler.driver.source_names import SourceNames, title_of_operations

PROGRAM = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = graph.exp %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""


def test_constants_name_no_group_that_computes(tmp_path: Path):
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM, encoding="utf-8")
    source = read_source(str(file))
    (function,) = parse_module(new_context(), source).ops
    assert isinstance(function, func.FuncOp)
    half, a, b, _ = function.body.block.ops
    names = SourceNames(source)

    assert title_of_operations(names, [half, a, b]) == "%a to %b"
    assert title_of_operations(names, [half, a]) == "%a"
    assert title_of_operations(names, [half]) == "%half"
