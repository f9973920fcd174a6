"""
Windows read as the rows of a matrix, by random maps: bit for bit those of the
reference, in tiles, as loads of buffers, on Triton, and decomposed on an NPU.
"""

import random

import numpy as np
import pytest
from differential import (
    Arrays,
    executed,
    limit_search,
    make_case,
    parsed,
    printed,
    run_lowered,
    steps_of,
)
from differential import check as differential_check
from every_stage import bits
from random_builder import Builder
from random_movement import im2col
from random_plans import scramble
from random_programs import RULES
from random_windows import random_windows

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import graph, mem
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.runtime.triton.sanitizers import sanitize

LEVELS = ("convert-graph-to-tile", "convert-tile-to-mem")
"""Passes after which programs are interpreted."""


def compare(
    results: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...], step: str
) -> None:
    """Check that results are bit for bit those expected."""
    for actual, wanted in zip(results, expected, strict=True):
        assert (actual.shape, actual.dtype) == (wanted.shape, wanted.dtype), step
        assert bits(actual) == bits(wanted), f"after {step}"


def check(text: str, inputs: Arrays, plans: random.Random | None) -> None:
    """Compare tiles, loads and kernels with the reference; `plans` draws tile sizes."""
    target = load_target_spec("h200")
    context, module = parsed(text)
    expected, loads = interpret(module, inputs), 0
    target.attach_to_module(module)
    for step in map(limit_search, steps_of(target)):
        PassManager([step]).run(context, module)
        if plans is not None and step.name == "graph-select-tile-sizes":
            scramble(module, plans)
        if step.name in LEVELS:
            compare(interpret(module, inputs), expected, step.name)
        loads += sum(isinstance(op, mem.Im2colOp) for op in module.walk())
    assert loads
    with sanitize():
        results = executed(printed(context, module, target), target, inputs)
    compare(results, expected, "triton")


@pytest.mark.one_in(1)
@pytest.mark.parametrize("seed", range(20, 80))
def test_random_windows_on_triton(seed: int):
    generator = random.Random(seed)
    windows = random_windows(generator)
    user = generator.choice(windows.users())
    inputs = windows.inputs(user, np.random.default_rng(seed))
    plans = generator if seed // 8 % 2 else None
    check(windows.program(user), inputs, plans)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("seed", range(100, 104))
def test_random_windows_on_an_npu(seed: int):
    generator = random.Random(seed)
    windows = random_windows(generator, ["f32"])
    user = generator.choice(windows.users())
    text = windows.program(user)
    inputs = windows.inputs(user, np.random.default_rng(seed))
    target = load_target_spec("npu")
    context, module = parsed(text)
    expected = interpret(module, inputs)
    target.attach_to_module(module)
    for step in map(limit_search, steps_of(target)):
        PassManager([step]).run(context, module)
        if step.name == "graph-decompose":
            assert not any(isinstance(op, graph.Im2colOp) for op in module.walk())
    compare(run_lowered(context, module, target, inputs), expected, "npu")


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("seed", [0, 2, 3, 6, 7])
def test_windows_among_other_operations(seed: int):
    program = Builder(seed, 500).program((*RULES, *[im2col] * 12), 6)
    case = make_case(program.text())
    fault = differential_check(case, "h200", plans=seed if seed % 2 else None)
    assert fault is None, program.text()
