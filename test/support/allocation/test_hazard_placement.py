"""Places in which engines seldom wait for each other."""

import random
from collections.abc import Iterator

import pytest

from tlf.support.allocation import (
    Buffer,
    BufferUse,
    find_hazards,
    find_offset_faults,
    max_live_bytes,
    place_by_hazards,
)

LOAD, STORE = 0, 5


Offsets = tuple[int, ...]


def overlap(buffers: list[Buffer], offsets: Offsets, one: int, other: int) -> bool:
    """
    Return `True` if two buffers share bytes, counted up to where another one may start.
    """
    low, high = offsets[one], offsets[other]
    return (
        low < high + buffers[other].aligned_size
        and high < low + buffers[one].aligned_size
    )


def chain(sizes: list[int]) -> tuple[list[Buffer], list[BufferUse]]:
    """Buffers of which each is stored right before the next one is loaded."""
    buffers = [
        Buffer.live_during(size, 2 * number, 2 * number + 1)
        for number, size in enumerate(sizes)
    ]
    uses = [BufferUse(2 * n, 2 * n + 1, LOAD, STORE) for n in range(len(sizes))]
    return buffers, uses


def test_neighbours_lie_apart_where_there_is_room():
    buffers, uses = chain([256] * 12)
    found = place_by_hazards(buffers, uses, 1024)
    assert found is not None
    assert found.peak == 1024
    for number in range(len(buffers) - 3):
        for other in range(number + 1, number + 4):
            assert not overlap(buffers, found.offsets, number, other)


def test_the_worst_hazard_is_avoided_where_there_is_little_room():
    buffers, uses = chain([256] * 3)
    uses[1] = BufferUse(2, 3, LOAD, LOAD)
    found = place_by_hazards(buffers, uses, 512)
    assert found is not None
    assert not overlap(buffers, found.offsets, 0, 1)
    assert overlap(buffers, found.offsets, 1, 2)


def test_what_a_loop_ends_and_starts_with_lie_apart():
    loop = [(0, 20)]
    buffers = [Buffer.live_during(256, step, step + 4) for step in (0, 6, 12)]
    uses = [BufferUse(step, step + 3, LOAD, STORE, loop) for step in (0, 6, 12)]
    found = place_by_hazards(buffers, uses, 768)
    assert found is not None
    assert sorted(found.offsets) == [0, 256, 512]


def test_there_may_be_no_room():
    buffers = [Buffer.live_during(300, 0, 2), Buffer.live_during(256, 1, 3)]
    uses = [BufferUse(0, 1, LOAD, STORE), BufferUse(1, 2, LOAD, STORE)]
    assert place_by_hazards(buffers, uses, 767) is None
    found = place_by_hazards(buffers, uses, 768)
    assert found is not None
    assert not list(find_offset_faults(buffers, found.offsets))


def test_nothing_takes_no_room():
    found = place_by_hazards([], [], 0)
    assert found is not None
    assert (found.offsets, found.peak) == ((), 0)


def drawn(numbers: random.Random) -> tuple[list[Buffer], list[BufferUse]]:
    buffers: list[Buffer] = []
    uses: list[BufferUse] = []
    loops = [[], [(0, 40)], [(0, 40), (10, 20)]]
    for _ in range(numbers.randrange(1, 24)):
        start = numbers.randrange(30)
        end = start + numbers.randrange(1, 6)
        size, alignment = numbers.randrange(1, 900), numbers.choice((1, 64, 256))
        buffers.append(Buffer.live_during(size, start, end, alignment))
        stages = numbers.randrange(6), numbers.randrange(6)
        uses.append(BufferUse(start, end - 1, *stages, numbers.choice(loops)))
    return buffers, uses


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(100))
def test_no_live_buffers_overlap(seed: int):
    numbers = random.Random(seed)
    buffers, uses = drawn(numbers)
    capacity = 2 * max_live_bytes(buffers) + numbers.randrange(1000)
    found = place_by_hazards(buffers, uses, capacity)
    assert found is not None
    assert found.peak <= capacity
    assert not list(find_offset_faults(buffers, found.offsets))
    assert found == place_by_hazards(buffers, uses, capacity)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(20))
def test_buffers_before_the_first_moved_one_need_not_be_placed_again(
    seed: int, monkeypatch: pytest.MonkeyPatch
):
    buffers, uses = drawn(random.Random(seed))
    capacity = max_live_bytes(buffers) * 5 // 4
    found = place_by_hazards(buffers, uses, capacity)
    # No two orders begin with the same buffers.
    monkeypatch.setattr(
        "tlf.support.allocation.hazard_placement.takewhile", find_nothing
    )
    assert found == place_by_hazards(buffers, uses, capacity)


def find_nothing(predicate: object, values: object) -> Iterator[None]:
    """Return no values."""
    return iter(())


def test_more_orders_make_it_no_worse(monkeypatch: pytest.MonkeyPatch):
    numbers, total = random.Random(5), [0, 0]
    for _ in range(30):
        buffers, uses = drawn(numbers)
        capacity = max_live_bytes(buffers) * 3 // 2
        costs: list[int] = []
        for rounds in (0, 100):
            monkeypatch.setattr(
                "tlf.support.allocation.hazard_placement.MAX_ROUNDS", rounds
            )
            if found := place_by_hazards(buffers, uses, capacity):
                costs.append(cost(buffers, uses, found.offsets))
        if len(costs) == 2:
            assert costs[1] <= costs[0]
            total = [total[0] + costs[0], total[1] + costs[1]]
    assert total[1] < total[0]


def cost(buffers: list[Buffer], uses: list[BufferUse], offsets: Offsets) -> int:
    """Return the cost of hazards, each pair once."""
    together = [
        {
            other
            for other, there in enumerate(buffers)
            if other != number and each.spans[0].has_overlap(there.spans[0])
        }
        for number, each in enumerate(buffers)
    ]
    found = find_hazards(uses, together)
    return sum(
        cost
        for number, costs in enumerate(found)
        for other, cost in costs.items()
        if number < other and overlap(buffers, offsets, number, other)
    )
