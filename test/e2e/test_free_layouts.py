"""Random programs whose arguments and results are declared to lie in any order."""

import re

import numpy as np
import pytest
from differential import check, make_case, parsed
from graph_program import Program
from numpy.random import Generator
from random_chains import random_chain
from random_programs import random_program
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.io_layout_attributes import (
    ANY_LAYOUT,
    Layout,
    set_argument_layouts,
    set_result_layouts,
)

TARGETS = ["npu-tiny", "h200"]

REFUSED = r"the npu multiplies .*, got i\d+"


def some_layout(type_: Attribute, rng: Generator) -> Layout:
    """Any layout, or a random one."""
    rank = type_.get_num_dims() if isinstance(type_, TensorType) else 0
    if rng.random() < 0.4:
        return ANY_LAYOUT
    return tuple(int(axis) for axis in rng.permutation(rank))


def with_layouts(text: str, rng: Generator) -> str:
    """A program that declares layouts of all arguments and results."""
    _, module = parsed(text)
    function = find_entry_point(module)
    types = function.function_type
    inputs = enumerate(types.inputs)
    set_argument_layouts(function, {at: some_layout(each, rng) for at, each in inputs})
    outputs = enumerate(types.outputs)
    set_result_layouts(function, {at: some_layout(each, rng) for at, each in outputs})
    return str(module)


def expect_right(program: Program, seed: int, target: str) -> None:
    rng = np.random.default_rng(seed)
    fault = check(make_case(with_layouts(program.text(), rng)), target)
    if fault is not None and fault.kind == "refused":
        if re.search(REFUSED, fault.message):
            pytest.skip(fault.message)
    assert fault is None, f"{fault}\n{program.text()}"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(7000, 7012))
def test_random_programs(seed: int, target: str) -> None:
    expect_right(random_program(seed), seed, target)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(7100, 7106))
def test_random_chains(seed: int, target: str) -> None:
    """Slices, pads, concatenations and gatherings, one of the other."""
    expect_right(random_chain(seed), seed, target)
