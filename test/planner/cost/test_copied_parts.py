"""Predicted time of tiles that are copied because no view describes them."""

import pytest
from differential import parsed
from prediction import compare_cycles

from tlf.dialects.target import load_target_spec

PARTS = """
!image = tensor<4x8x12x16xf32>
!held = tensor<4x8x12x16xf32, #tile.encoding<L2>>
!part = tensor<1x8x{rows}x16xf32, #tile.encoding<L2>>
!flat = tensor<8x{columns}xf32, #tile.encoding<L2>>
!near = tensor<8x{columns}xf32, #tile.encoding<L1>>
!all = tensor<{steps}x8x{columns}xf32>
!one = tensor<1x8x{columns}xf32, #tile.encoding<L2>>
func.func @parts(%x: !image) -> !all {{
  %held = tile.slice %x[0, 0, 0, 0] : !image -> !held
  %e = tile.empty : !all
  %y = tile.while (%i = 0 to {steps} step 1)
      sequential mapping(loop) carry(%o = %e : !all) {{
    %j = affine.apply affine_map<(d0) -> (d0 {step})>(%i)
    %part = tile.slice %held[{first}] : !held -> !part
    %flat = graph.reshape %part : (!part) -> !flat
    %near = tile.slice %flat[0, 0] : !flat -> !near
    %z = graph.relu %near : !near
    %f = tile.empty : !flat
    %far = tile.deslice %z into %f[0, 0] : !near into !flat
    %shaped = graph.reshape %far : (!flat) -> !one
    %r = tile.deslice %shaped into %o[%i, 0, 0] : !one into !all
    tile.yield %r : !all
  }}
  func.return %y : !all
}}
"""

ROWS = PARTS.format(rows=6, columns=96, steps=2, step="* 6", first="0, 0, %j, 0")
"""Halves of the rows of an image: their channels are apart, so they are copied."""

IMAGES = PARTS.format(rows=12, columns=192, steps=4, step="* 1", first="%j, 0, 0, 0")
"""Whole images of a batch, which start at different offsets."""


@pytest.mark.parametrize("text", [ROWS, IMAGES], ids=["rows", "images"])
@pytest.mark.parametrize("target", ["npu", "npu:L1=16K"])
def test_parts_that_move_with_a_loop_are_copied(text: str, target: str):
    _, module = parsed(text)
    load_target_spec(target).attach_to_module(module)

    found = compare_cycles(module, "canonicalize")

    assert abs(found.difference) < 1
