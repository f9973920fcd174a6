"""Operands whose buffers the results of operations may reuse."""

from __future__ import annotations

from differential import parsed
from xdsl.ir import Operation

from tlf.planner.cost.npu.buffer_reuse import BufferReuse, buffer_reuse_of

PROGRAM = """
func.func @f(
    %x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %i: index
) -> tensor<8x8xbf16> {
  %product = graph.matmul %x, %w
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = graph.add %product, %x
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %mask = tile.mask %sum[%i, 0] bounds [100, 8] fill 0.0 : f32 : tensor<8x8xf32>
  %y = graph.cast %mask : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  func.return %y : tensor<8x8xbf16>
}
"""


def operations() -> dict[str, Operation]:
    """Return the operations of the program by name."""
    _, module = parsed(PROGRAM)
    return {op.name: op for op in module.walk()}


def test_elementwise_results_reuse_operands_of_their_type():
    ops = operations()
    add, cast = ops["graph.add"], ops["graph.cast"]
    assert buffer_reuse_of(add, ()) == BufferReuse(None, tuple(add.operands))
    assert buffer_reuse_of(cast, ()) == BufferReuse(None, ())


def test_products_reuse_no_factors():
    assert buffer_reuse_of(operations()["graph.matmul"], ()) == BufferReuse(None, ())


def test_indices_are_no_buffers():
    mask = operations()["tile.mask"]
    assert len(mask.operands) == 2
    assert buffer_reuse_of(mask, ()) == BufferReuse(None, (mask.operands[0],))
