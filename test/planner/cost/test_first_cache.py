"""Requests of windows that the first cache of a GPU's processor serves."""

from dataclasses import replace

import pytest

from tlf.planner.cost.gpu.access_totals import AccessTotals
from tlf.planner.cost.gpu.first_cache import RepeatedRead

PROGRAMS, SECTOR = 10, 32

TOTALS = AccessTotals(
    payload=90_000,
    bus_bytes=180_000,
    cache_bytes=180_000,
    row_count=1000,
    access_count=9000,
    lane_steps=90_000,
)

READ = RepeatedRead(
    footprint=2000,
    row_bytes=500,
    sectors_per_byte=1.1,
    lines_per_byte=1.5,
    iterations=9,
)


def test_each_element_is_requested_once():
    limited = READ.limit_accesses(TOTALS, PROGRAMS, SECTOR)
    assert limited.cache_bytes == pytest.approx(2000 * 1.1 * PROGRAMS)
    assert limited.bus_bytes == pytest.approx(90_000 * 1.1)
    assert limited.row_count == 180
    assert limited.first_cache_bytes == 90_000 * 1.5


@pytest.mark.parametrize(("iterations", "steps"), [(9, 27_000), (33, 90_000)])
def test_addresses_of_unrolled_loops_are_computed_once(iterations: int, steps: float):
    read = replace(READ, iterations=iterations)
    assert read.limit_accesses(TOTALS, PROGRAMS, SECTOR).lane_steps == steps


def test_accesses_never_grow():
    read = replace(READ, footprint=20_000, row_bytes=4, sectors_per_byte=8)
    limited = read.limit_accesses(TOTALS, PROGRAMS, SECTOR)
    assert limited.bus_bytes == TOTALS.bus_bytes
    assert limited.cache_bytes == TOTALS.cache_bytes
    assert limited.row_count == TOTALS.row_count


@pytest.mark.parametrize(("footprint", "is_served"), [(32_768, True), (32_769, False)])
def test_long_footprints_leave_the_cache(footprint: int, is_served: bool):
    assert replace(READ, footprint=footprint).is_served == is_served
