"""Hazards between buffers that should not share bytes."""

from itertools import product

import pytest

from tlf.support.allocation import BufferUse, find_hazards, pipeline_stage_of_engine
from tlf.support.allocation.hazards import REACH, REPEATED

LOAD, PRODUCT, MAP, STORE = (
    pipeline_stage_of_engine(2, (1, 0), is_product=False),
    pipeline_stage_of_engine(2, None, is_product=True),
    pipeline_stage_of_engine(2, None, is_product=False),
    pipeline_stage_of_engine(2, (0, 1), is_product=False),
)


def alone(count: int) -> list[set[int]]:
    return [set() for _ in range(count)]


def test_instructions_go_from_the_farthest_level_to_the_engines_and_back():
    path = [(2, 1), (1, 0), None, (0, 1), (1, 2)]
    stages = [pipeline_stage_of_engine(3, move, is_product=True) for move in path]
    assert stages == sorted(set(stages))
    assert PRODUCT < MAP < STORE
    assert pipeline_stage_of_engine(3, (2, 1), is_product=False) == 0


@pytest.mark.parametrize(
    ("before", "after"), [*product((LOAD, PRODUCT, MAP, STORE), repeat=2)]
)
def test_who_is_further_down_the_pipeline_is_waited_for(before: int, after: int):
    uses = [BufferUse(0, 1, LOAD, before), BufferUse(2, 3, after, STORE)]
    cost = max(0, before - after) * (REACH - 1)
    found = find_hazards(uses, alone(2))
    assert [each.get(1 - number, 0) for number, each in enumerate(found)] == [cost] * 2


def test_what_comes_later_matters_less():
    uses = [BufferUse(0, 1, LOAD, STORE)]
    uses += [BufferUse(step, step + 1, LOAD, LOAD) for step in range(2, 40, 2)]
    found = find_hazards(uses, alone(len(uses)))[0]
    assert [*found] == [1, 2, 3, 4]
    assert [*found.values()] == sorted(found.values(), reverse=True)


def test_buffers_that_are_live_together_never_share():
    uses = [BufferUse(0, 2, LOAD, STORE), BufferUse(3, 4, LOAD, STORE)]
    assert find_hazards(uses, [{1}, {0}]) == [{}, {}]


def test_what_a_loop_ends_with_comes_before_what_it_starts_with():
    loop, other = [(0, 9)], [(10, 20)]
    uses = [BufferUse(1, 2, LOAD, PRODUCT, loop), BufferUse(6, 7, LOAD, STORE, loop)]
    forward = (PRODUCT - LOAD) * (REACH - 1) * REPEATED
    around = (STORE - LOAD) * (REACH - 1) * REPEATED
    assert find_hazards(uses, alone(2)) == [
        {1: forward + around},
        {0: forward + around},
    ]
    uses[0] = BufferUse(11, 12, LOAD, PRODUCT, other)
    assert find_hazards(uses, alone(2)) == [
        {1: (STORE - LOAD) * (REACH - 1)},
        {0: (STORE - LOAD) * (REACH - 1)},
    ]


def test_a_buffer_is_no_hazard_to_itself():
    assert find_hazards([BufferUse(1, 2, LOAD, STORE, [(0, 9)])], alone(1)) == [{}]
