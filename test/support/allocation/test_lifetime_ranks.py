"""Plans do not depend on how long steps take."""

from tlf.support.allocation import (
    Buffer,
    max_live_bytes,
    pack_to_lowest_peak,
    renumber_lifetime_steps,
)
from tlf.support.allocation.search_restarts import VisitBudget


def lifetimes(scale: int) -> list[Buffer]:
    """Buffers whose lifetimes are as long as `scale` makes them."""
    spans = [(0, 3, 512), (1, 5, 256), (3, 9, 1024), (4, 6, 768), (7, 11, 512)]
    return [
        Buffer.live_during(size, start**scale, end**scale) for start, end, size in spans
    ]


def test_steps_become_events():
    spans = [each.spans[0] for each in renumber_lifetime_steps(lifetimes(2))]
    found = [(each.start, each.end) for each in spans]
    assert found == [(0, 2), (1, 4), (2, 7), (3, 5), (6, 8)]


def test_same_plan_for_longer_steps():
    plans = [
        pack_to_lowest_peak(renumber_lifetime_steps(lifetimes(scale)), VisitBudget())
        for scale in (1, 2, 3)
    ]
    assert len({plan.offsets for plan in plans}) == 1
    assert max_live_bytes(renumber_lifetime_steps(lifetimes(3))) == max_live_bytes(
        lifetimes(1)
    )
