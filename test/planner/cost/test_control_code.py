"""Predicted time where the control processor is the slowest part of a chip."""

import pytest
from cores import matmul
from differential import parsed
from prediction import compare_cycles
from random_chip import double_resource, draw_chip

from tlf.dialects.target import TargetSpec
from tlf.dialects.target.description import target_from_data

pytestmark = pytest.mark.usefixtures("first_plans")

CHIP = draw_chip(10)
"""An array of 8 x 16 with 32 KiB of L1."""


def with_issue_cycles(target: TargetSpec, cycles: int) -> TargetSpec:
    return target_from_data({**target.data, "issue_cycles": cycles})


@pytest.mark.parametrize(("cycles", "extent"), [(2, 96), (6, 64), (8, 96)])
def test_scalar_arithmetic_is_counted(cycles: int, extent: int):
    """Addresses, slots and waits for chunks are most of the lines of these loops."""
    _, module = parsed(matmul(extent, "f32"))
    with_issue_cycles(CHIP, cycles).attach_to_module(module)

    found = compare_cycles(module)

    assert abs(found.difference) < 5


def test_a_larger_array_is_predicted_as_well():
    _, module = parsed(matmul(96, "f32"))
    double_resource(CHIP, "matrix array").attach_to_module(module)

    assert abs(compare_cycles(module).difference) < 5
