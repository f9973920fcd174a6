"""
Programs for tensors of more than 2**31 elements: every byte is moved once, at its own
address, and takes its time. No data is needed.
"""

from collections.abc import Sequence
from functools import cache

import pytest
from differential import compiled_text
from far_moves import Box, far_boxes

from tlf.runtime import npu
from tlf.runtime.npu.npu_program import Buffer, Program

IMAGES = "tensor<3x29999x30011xf16>"
ADDITION = f"""
func.func @f(%x: {IMAGES}, %y: {IMAGES}) -> {IMAGES} {{
  %0 = graph.add %x, %y : ({IMAGES}, {IMAGES}) -> {IMAGES}
  func.return %0 : {IMAGES}
}}"""

FEATURES = "tensor<1x3x30011x29999xi8>"
POOLED = "tensor<1x3x15005x14999xi8>"
POOLING = f"""
func.func @f(%x: {FEATURES}) -> {POOLED} {{
  %0 = graph.max_pool2d %x kernel [2, 2] strides [2, 2] : ({FEATURES}) -> {POOLED}
  func.return %0 : {POOLED}
}}"""

WHOLE = "tensor<3x29999x30011xf16>"
SUMS = f"""
func.func @f(%x: {WHOLE}) -> tensor<3xf32> {{
  %0 = graph.reduce %x <sum> axes [1, 2] acc f32 : ({WHOLE}) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}}"""


@cache
def compiled(text: str) -> Program:
    return npu.parse(compiled_text(text, "npu", search=False))


def within(boxes: Sequence[Box], buffer: Buffer) -> list[Box]:
    """The moves that touch a buffer, none of which may reach over its ends."""
    low, high = buffer.address, buffer.address + buffer.nbytes
    found = [box for box in boxes if box.low < high and low < box.high]
    assert all(low <= box.low and box.high <= high for box in found)
    return found


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize("text", [ADDITION, SUMS], ids=["addition", "sums"])
def test_every_byte_is_moved_once(text: str):
    program = compiled(text)
    boxes = far_boxes(program)
    buffers = [*program.inputs.values(), *program.outputs.values()]
    assert max(buffer.nbytes for buffer in buffers) > 2**32

    for buffer in buffers:
        found = within(boxes, buffer)
        assert sum(box.nbytes for box in found) == buffer.nbytes
        assert min(box.low for box in found) == buffer.address
        assert max(box.high for box in found) == buffer.address + buffer.nbytes
        assert len({box.low for box in found}) == len(found)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("text", [ADDITION, POOLING, SUMS], ids=["add", "pool", "sum"])
def test_traffic_of_moves_one_by_one(text: str):
    """
    The traffic reported for steady-state loops is the sum over their single moves.
    """
    program = compiled(text)
    boxes, report = far_boxes(program), npu.run(program, {}, functional=False)
    traffic = report.traffic["L3"]

    assert traffic.read == sum(box.nbytes for box in boxes if not box.is_write)
    assert traffic.written == sum(box.nbytes for box in boxes if box.is_write)
    assert max(box.high for box in boxes) > 2**31
    assert report.bound <= report.cycles


@pytest.mark.long
def test_windows_beyond_32_bits():
    """Rows and columns that no window reads need not be moved; all others are, once."""
    program = compiled(POOLING)
    (x,), (y,) = program.inputs.values(), program.outputs.values()
    boxes = far_boxes(program)
    used = 3 * 30_010 * 29_998

    assert used <= sum(box.nbytes for box in within(boxes, x)) <= x.nbytes
    assert sum(box.nbytes for box in within(boxes, y)) == y.nbytes
    assert max(box.high for box in within(boxes, y)) == y.address + y.nbytes
