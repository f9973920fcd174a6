"""
Loops with stages: the same values as without, on the simulated NPU, which traps where
engines are not ordered, and in the reference interpreter; and less time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from pipelined_programs import elementwise, nested, prefixes, product

from tlf.runtime.npu import Report

Array = NDArray[np.generic]
Check = Callable[[str, Sequence[Array], Sequence[Array], float], None]
Simulate = Callable[[str, Sequence[Array], bool], Report]


def _arrays(seed: int, *shapes: tuple[int, int]) -> list[NDArray[np.float32]]:
    generator = np.random.default_rng(seed)
    return [generator.integers(-4, 5, shape).astype(np.float32) for shape in shapes]


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("trips", range(1, 8))
def test_any_number_of_iterations(trips: int, stages: int, check_mem: Check) -> None:
    shape = (trips * 4, 6)
    (x,) = _arrays(trips, shape)
    check_mem(elementwise(shape, (4, 6), stages), [x], [2 * x], 0)


@pytest.mark.parametrize("outer", [1, 2, 3])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_numbers_of_iterations_that_are_computed(
    stages: int, outer: int, check_mem: Check
) -> None:
    (x,) = _arrays(stages, (8, 6))
    sums = np.cumsum(x, axis=0) - x
    check_mem(prefixes(8, 6, (outer, stages)), [x], [sums], 0)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(10, 9), (7, 16), (3, 3), (13, 5)])
def test_nests_whose_last_tiles_are_cut_off(
    shape: tuple[int, int], stages: int, check_mem: Check
) -> None:
    x, y, z = _arrays(stages, shape, shape, shape)
    text = elementwise(shape, (4, 5), stages, inputs=3)
    check_mem(text, [x, y, z], [x + z], 0)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(12))
def test_loops_in_loops(seed: int, check_mem: Check) -> None:
    chosen = random.Random(seed)
    shape = chosen.randint(1, 16), chosen.randint(1, 16)
    outer = chosen.randint(1, shape[0]), chosen.randint(1, shape[1])
    inner = chosen.randint(1, outer[0]), chosen.randint(1, outer[1])
    stages = chosen.randint(1, 4), chosen.randint(1, 4)
    loops = chosen.randint(1, 2)
    x, y = _arrays(seed, shape, shape)
    text = nested(shape, (outer, inner), stages, loops)
    check_mem(text, [x, y], [x + loops * y], 0)


@pytest.mark.parametrize("seed", range(12))
def test_products(seed: int, check_mem: Check) -> None:
    chosen = random.Random(seed)
    m, n, k = (chosen.randint(1, 12) for _ in range(3))
    tiles = tuple(chosen.randint(1, size) for size in (m, n, k))
    stages = chosen.randint(1, 4), chosen.randint(1, 4)
    x, y = _arrays(seed, (m, k), (k, n))
    text = product((m, n, k), (tiles[0], tiles[1], tiles[2]), stages)
    check_mem(text, [x, y], [x @ y], 0)


def test_overlap_saves_time(simulate_mem: Simulate) -> None:
    (x,) = _arrays(0, (512, 256))
    alone, overlapped = (
        simulate_mem(elementwise((512, 256), (32, 256), stages), [x], False)
        for stages in (1, 2)
    )

    assert overlapped.cycles < 0.8 * alone.cycles
    for level, traffic in alone.traffic.items():
        assert overlapped.traffic[level] == traffic
