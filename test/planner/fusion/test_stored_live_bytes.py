"""Bytes of the results that groups store, while each of them runs."""

from __future__ import annotations

from differential import parsed
from xdsl.ir import Operation

from tlf.dialects.interfaces import TilingInterface
from tlf.planner.fusion.producer_closure import Part
from tlf.planner.fusion.stored_live_bytes import StoredLiveBytes

TEXT = """
func.func @f(%x: tensor<8x16xf32>, %w: tensor<16xf32> {tlf.parameter})
    -> tensor<8x16xf32> {
  %0 = graph.exp %x : tensor<8x16xf32>
  %s = graph.exp %w : tensor<16xf32>
  %1 = graph.reshape %0 : (tensor<8x16xf32>) -> tensor<128xf32>
  %2 = graph.tanh %0 : tensor<8x16xf32>
  %3 = graph.mul %2, %s : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %4 = graph.neg %1 : tensor<128xf32>
  %5 = graph.reshape %4 : (tensor<128xf32>) -> tensor<8x16xf32>
  %6 = graph.add %3, %5 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %6 : tensor<8x16xf32>
}
"""

TENSOR = 4 * 8 * 16
"""Bytes of a tensor."""


def test_values_are_live_to_the_last_group_that_reads_them() -> None:
    _, module = parsed(TEXT)
    (function,) = module.body.block.ops
    block = function.regions[0].block
    first, scale, _, tanh, mul, neg, _, add, _ = block.ops
    ops = first, scale, tanh, mul, neg, add
    parts: list[Part] = [[op] for op in ops if isinstance(op, TilingInterface)]
    groups: dict[Operation, Part] = {op: part for part in parts for op in part}
    fused: Part = [each for part in (groups[tanh], groups[mul]) for each in part]
    groups[tanh] = groups[mul] = fused

    live = StoredLiveBytes.of_groups(block, groups)

    # The scale is equal at every call; the views of a value keep it.
    assert live.bytes_beside(groups[first]) == 0
    assert live.bytes_beside(fused) == TENSOR
    assert live.bytes_beside(groups[neg]) == 2 * TENSOR
    assert live.bytes_beside(groups[add]) == 2 * TENSOR
    assert live.peak == 3 * TENSOR
    assert live.input_bytes == TENSOR
