"""Scans in blocks: equal values for any number of blocks, and candidate numbers."""

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import Attribute, Block
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import Array, ReferenceInterface
from tlf.dialects.types import dtype_of
from tlf.passes.graph.graph_split_scans import candidate_block_counts


def run_in_blocks(op: graph.CumulateOp, array: Array, count: int) -> Array:
    """Interpret the scan of `count` blocks."""
    block = Block()
    result = op.build_in_blocks(Builder(InsertPoint.at_end(block)), count)
    assert result.type == op.result.type
    known = {op.operand: array}
    for step in block.ops:
        step.verify()
        assert isinstance(step, ReferenceInterface)
        inputs = [known[operand] for operand in step.operands]
        known.update(zip(step.results, step.compute_reference(*inputs), strict=True))
    return known[result]


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize(("element", "reverse"), [(f32, False), (i32, True)])
@pytest.mark.parametrize(
    ("shape", "axis", "count"),
    [((24,), 0, 4), ((3, 50), 1, 4), ((50, 3), 0, 7), ((2, 600, 2), 1, 150)],
)
def test_blocks_have_equal_values(
    shape: tuple[int, ...],
    axis: int,
    count: int,
    element: Attribute,
    reverse: bool,
    kind: str,
):
    rng = np.random.default_rng(count)
    array = rng.choice([-1, 1, 1, 2] if kind != "prod" else [-1, 1], shape)
    array = array.astype(dtype_of(element))
    operand = test.TestOp(result_types=[TensorType(element, shape)]).results[0]
    op = graph.CumulateOp(operand, kind, axis, reverse)
    (expected,) = op.compute_reference(array)
    np.testing.assert_array_equal(run_in_blocks(op, array, count), expected)


@pytest.mark.parametrize("count", [3, 200])
def test_special_values_do_not_reach_elements_before(count: int):
    array = np.ones(600, np.float32)
    array[[250, 400, 500]] = [np.inf, np.nan, -np.inf]
    operand = test.TestOp(result_types=[TensorType(f32, [600])]).results[0]
    for kind in ("sum", "prod", "max", "min"):
        for reverse in (False, True):
            op = graph.CumulateOp(operand, kind, 0, reverse)
            (expected,) = op.compute_reference(array)
            np.testing.assert_array_equal(run_in_blocks(op, array, count), expected)


def test_candidate_numbers_of_blocks():
    assert candidate_block_counts(255) == []
    assert candidate_block_counts(1 << 10) == [4, 8, 16]
    # Divisors, or powers of two, with which the last block is padded.
    assert candidate_block_counts(3 * 7 * 64) == [4, 8, 16]
    assert candidate_block_counts(50257) == [4, 8, 29, 32, 64, 128, 256, 512]
