"""Decision on early loads, on facts written by hand."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from tlf.analysis.buffers.subview_disjointness import Section
from tlf.planner.prefetching.early_load_selection import (
    order_with_early_loads,
    select_early_loads,
)
from tlf.planner.prefetching.load_facts import (
    LevelLifetimes,
    LoadFacts,
    OperationFacts,
    RegionFacts,
)
from tlf.support.allocation import Buffer

SIZE = 256


def load(buffer: str, source: RegionFacts) -> OperationFacts:
    return OperationFacts(
        {buffer, source.buffer},
        {RegionFacts(buffer)},
        LoadFacts(buffer, source),
        has_fixed_load=False,
    )


WEIGHTS = RegionFacts("weights", (Section(4, 64, 0, 8),))
LOAD = load("tile", WEIGHTS)
WORK = OperationFacts({"sum"}, {RegionFacts("sum")}, None, has_fixed_load=False)
USE = replace(WORK, accessed_buffers={"tile", "sum"})


@dataclass(frozen=True)
class Operations:
    """Operations of a function, each of which is one step."""

    facts: Sequence[OperationFacts]

    def collect_operations(self) -> Sequence[OperationFacts]:
        return self.facts

    def lifetimes_with_early_loads(self, targets: Mapping[int, int]) -> LevelLifetimes:
        order = order_with_early_loads(len(self.facts), targets)
        steps = [order.index(position) for position in range(len(self.facts))]
        buffers: dict[Hashable, Buffer] = {}
        for name in ("sum", "tile"):
            uses = [
                step
                for step, facts in zip(steps, self.facts, strict=True)
                if name in facts.accessed_buffers
            ]
            buffers[name] = Buffer.live_during(SIZE, min(uses), max(uses) + 1)
        return LevelLifetimes([(each, each) for each in steps], buffers)


def targets_of(*facts: OperationFacts, capacity: int = 2 * SIZE) -> dict[int, int]:
    return select_early_loads(Operations(facts), capacity)


def test_a_load_is_hoisted_above_all_work_if_its_buffer_fits():
    assert targets_of(WORK, WORK, LOAD, USE) == {2: 0}
    assert targets_of(WORK, WORK, LOAD, USE, capacity=2 * SIZE - 1) == {}
    assert order_with_early_loads(4, {2: 0}) == [2, 0, 1, 3]


@pytest.mark.parametrize(
    "barrier",
    [
        USE,
        replace(WORK, has_fixed_load=True),
        replace(WORK, written_regions={RegionFacts("weights")}),
    ],
)
def test_a_load_stays_below_barriers(barrier: OperationFacts):
    facts = (WORK, barrier, WORK, LOAD, USE)
    assert targets_of(*facts, capacity=4 * SIZE) == {3: 2}


def test_writes_of_other_sections_of_the_source_are_no_barriers():
    other = RegionFacts("weights", (Section(4, 64, 8, 8),))
    writer = replace(WORK, written_regions={other})
    assert targets_of(writer, LOAD, USE) == {1: 0}


def test_without_loads_nothing_changes():
    assert targets_of(WORK, USE) == {}
    assert order_with_early_loads(2, {}) == [0, 1]
