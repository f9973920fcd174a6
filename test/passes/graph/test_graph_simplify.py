"""Simplifying random programs keeps every bit of their results, NaN and all."""

import numpy as np
import pytest
from differential import parsed
from random_algebra import random_algebra
from simplified import Compared, arrays_for
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.graph import remarks_of
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret

SEEDS = range(150)


def simplified(text: str, pipeline: str) -> ModuleOp:
    """A program after some passes."""
    context, module = parsed(text)
    PassManager(build_passes(pipeline, PASSES, {})).run(context, module)
    return module


def inputs_of(function: func.FuncOp, seed: int) -> dict[str, Array]:
    """Numbers at the edges of their types, for all arguments."""
    rng = np.random.default_rng(seed)
    names = [f"a{position}" for position in range(len(function.body.block.args))]
    values = [arrays_for(each, rng, False) for each in function.body.block.args]
    hints = [each.name_hint for each in function.body.block.args]
    return {hint or name: each for hint, name, each in zip(hints, names, values)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("pipeline", ["canonicalize", "graph-simplify,canonicalize"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_keep_their_bits(seed: int, pipeline: str):
    text = random_algebra(seed).text()
    _, module = parsed(text)
    given = inputs_of(find_entry_point(module, None), seed)

    with np.errstate(all="ignore"):
        wanted = interpret(module, given)
        found = interpret(simplified(text, pipeline), given)

    for one, two in zip(wanted, found, strict=True):
        assert Compared(one, two).is_identical(), text


def test_random_programs_have_something_to_simplify():
    count = 0
    for seed in SEEDS:
        module = simplified(random_algebra(seed).text(), "graph-simplify")
        count += len(remarks_of(find_entry_point(module, None)))

    assert count > len(SEEDS)
