"""Placing buffers: nothing that is live together shares bytes."""

import random

import pytest

from tlf.passes.placement import Buffer, live_bytes, place


def buffers_of(seed: int, count: int) -> list[Buffer]:
    generator = random.Random(seed)
    found: list[Buffer] = []
    for _ in range(count):
        start = generator.randint(0, 40)
        end = start + generator.randint(0, 12)
        found.append(Buffer(generator.randint(1, 500), start, end))
    return found


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("alignment", [1, 64])
def test_live_buffers_are_disjoint_and_aligned(seed: int, alignment: int) -> None:
    buffers = buffers_of(seed, 40)
    placement = place(buffers, alignment, 0)
    for number, (one, offset) in enumerate(
        zip(buffers, placement.offsets, strict=True)
    ):
        assert offset % alignment == 0
        assert offset + one.size <= placement.peak
        for other, at in zip(buffers[:number], placement.offsets, strict=False):
            apart = offset + one.size <= at or at + other.size <= offset
            assert apart or not one.meets(other)
    assert live_bytes(buffers) <= placement.peak


def test_peak_is_near_the_live_bytes() -> None:
    ratios: list[float] = []
    for seed in range(30):
        buffers = buffers_of(seed, 40)
        ratios.append(place(buffers, 1, 0).peak / live_bytes(buffers))
    assert sum(ratios) / len(ratios) < 1.1


def test_buffers_share_only_when_they_have_to() -> None:
    buffers = [Buffer(100, 0, 1), Buffer(50, 2, 3)]
    assert place(buffers, 64, 178).offsets == (0, 128)
    assert place(buffers, 64, 177).offsets == (0, 0)
    assert place(buffers, 64, 178, share=True).offsets == (0, 0)


def test_nothing_to_place() -> None:
    assert place([], 64, 0).peak == 0
    assert live_bytes([]) == 0
