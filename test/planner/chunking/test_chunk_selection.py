"""Chunks into which loads are cut, and the pace at which they are used."""

from random import Random

import pytest

from tlf.planner.chunking.chunk_rates import consume_period_of, produce_period_of
from tlf.planner.chunking.chunk_selection import CHUNK_COUNTS, elements_per_chunk


def test_chunks_fill_bursts():
    assert elements_per_chunk((256, 512), (1024, 2), 0, 1, 256, 8) == 128
    assert elements_per_chunk((256, 4096), (8192, 2), 512, 1, 256, 8) == 512
    assert elements_per_chunk((256, 512), (1024, 2), 0, 0, 256, 8) == 32


def draw_boxes(seed: int) -> tuple[range, int, list[int]]:
    """
    Return the starts of chunks, the extent of a box, and its start in each iteration.
    """
    random = Random(seed)
    size, count = random.randint(1, 9), random.randint(2, max(CHUNK_COUNTS))
    chunks = range(0, size * count, size)
    trips, box = random.randint(1, 40), random.randint(1, 12)
    starts = [random.randrange(size * count) for _ in range(trips)]
    if random.random() < 0.8:
        starts.sort()
    return chunks, box, starts


def test_what_is_misaligned_has_no_columns():
    assert elements_per_chunk((256, 500), (1000, 2), 0, 1, 256, 8) == 500
    assert elements_per_chunk((1, 500), (1000, 2), 8, 1, 256, 8) == 63
    assert elements_per_chunk((256, 500), (1000, 2), 0, 0, 256, 8) == 32
    assert elements_per_chunk((256, 512), (1024, 2), 128, 1, 256, 8) == 512


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(300))
def test_no_iteration_is_ahead_of_its_chunk(seed: int):
    """And no longer period would do, but for the waits that have to be over at last."""
    chunks, box, starts = draw_boxes(seed)
    period = consume_period_of(starts, box, chunks)

    def is_safe(period: int) -> bool:
        last = [sum(each < start + box for each in chunks) - 1 for start in starts]
        return all(each <= at // period for at, each in enumerate(last))

    longest = (len(starts) - 1) // (len(chunks) - 1)
    safe = [each for each in range(1, longest + 1) if is_safe(each)]
    assert period == max(safe, default=None)


def test_chunks_have_to_come_in_order():
    assert consume_period_of([0, 1, 2], 1, [0, 2, 1]) is None
    assert consume_period_of([0, 1, 2], 1, [0]) is None


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(300))
def test_no_chunk_is_stored_before_it_is_made(seed: int):
    chunks, box, starts = draw_boxes(seed)
    period = produce_period_of(starts, box, chunks)

    def is_safe(period: int) -> bool:
        """Return `True` if later boxes touch later chunks alone, or the last one."""
        return all(
            start >= each + chunks.step or start + box <= each
            for number, each in enumerate(chunks[:-1], 1)
            for start in starts[number * period :]
        )

    trips = len(starts)
    shortest = (each for each in range(1, trips) if is_safe(each))
    expected = next(shortest, trips)
    assert period == (expected if expected * (len(chunks) - 1) < trips else None)
