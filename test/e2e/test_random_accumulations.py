"""Accumulation on values that have other users, on every target."""

import pytest
from differential import check, make_case
from random_accumulations import random_accumulations

SEEDS = 6


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["npu-tiny", "h200"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs(seed: int, target: str):
    fault = check(make_case(random_accumulations(seed)), target)
    assert fault is None, str(fault)
