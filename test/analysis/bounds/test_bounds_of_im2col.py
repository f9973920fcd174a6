"""Lower bounds of windows read as rows: those of the gather that they decompose to."""

import random
from math import prod

import pytest
from bounded import function_of
from differential import parsed
from random_windows import Windows, random_windows
from xdsl.dialects import func

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.analysis.work.flops_and_bytes import work_of
from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.graph_decompose import GraphDecomposePass
from tlf.support.affine.delinearized_access import DelinearizedAccess
from tlf.support.affine.index_access import IndexAccess

TINY = load_target_spec("npu-tiny")


def direct_and_decomposed(text: str) -> tuple[LowerBounds, LowerBounds]:
    """Return the bounds of a program, and of the same without `im2col`."""
    context, module = parsed(text)
    direct = lower_bounds_of(function_of(module), TINY)
    PassManager([GraphDecomposePass()]).run(context, module)
    assert not any(isinstance(op, graph.Im2colOp) for op in module.walk())
    return direct, lower_bounds_of(function_of(module), TINY)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(24))
def test_bounds_equal_those_of_the_decomposition(seed: int):
    generator = random.Random(seed)
    windows = random_windows(generator, ["f32"])
    text = windows.program(generator.choice(windows.users()))
    direct, decomposed = direct_and_decomposed(text)
    assert direct.payload_bytes == decomposed.payload_bytes
    assert direct.bus_bytes == decomposed.bus_bytes
    assert direct.cycles <= decomposed.cycles


def strided_pixels() -> Windows:
    """Return the pixels that a convolution of 1x1 with stride 2 reads."""
    digit = IndexAccess.of_iterator
    accesses = digit(0), IndexAccess(((1, 2),)), IndexAccess(((2, 2),)), digit(3)
    access = DelinearizedAccess(accesses, ((1, 8, 8), (32,)))
    return Windows(access, (1, 16, 16, 32), "f32", "0.0")


def test_only_what_is_read_counts():
    direct, _ = direct_and_decomposed(strided_pixels().program("elementwise"))
    assert direct.payload_bytes == 3 * 4 * 8 * 8 * 32


def test_a_gather_reads_no_more_than_it_writes():
    _, module = parsed(strided_pixels().program("elementwise"))
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    (op,) = (each for each in module.walk() if isinstance(each, graph.Im2colOp))
    written = 4 * prod(op.delinearized_access.shape)
    assert work_of(op).bytes == 2 * written
    assert work_of(op).vector_operations == 0
