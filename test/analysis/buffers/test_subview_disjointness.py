"""Parts of buffers, held against all of their elements."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

import pytest

from tlf.analysis.buffers.subview_disjointness import (
    BufferRegion,
    Section,
    has_disjoint_sections,
)


@dataclass
class Part:
    """A part of a buffer, with all the places that it may be at."""

    region: BufferRegion
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    starts: list[int]

    def places(self) -> set[int]:
        """Every element that may belong to it."""
        return {
            start + sum(at * step for at, step in zip(index, self.strides, strict=True))
            for start in self.starts
            for index in product(*map(range, self.shape))
        }

    def box(self, random: Random) -> "Part":
        """A random box, some of whose offsets are not known."""
        offsets: list[int | None] = []
        sizes: list[int] = []
        starts = self.starts
        for extent, step in zip(self.shape, self.strides, strict=True):
            size = random.randint(1, extent)
            offset = random.randint(0, extent - size)
            known = random.random() < 0.6
            ways = [offset] if known else list(range(extent - size + 1))
            starts = [start + way * step for start in starts for way in ways]
            offsets.append(offset if known else None)
            sizes.append(size)
        region = self.region.subview(self.shape, self.strides, offsets, sizes)
        kept = [
            axis for axis, size in enumerate(sizes) if size > 1 or random.random() < 0.5
        ]
        shape = tuple(sizes[axis] for axis in kept)
        return Part(region, shape, tuple(self.strides[axis] for axis in kept), starts)


def buffer(random: Random) -> Part:
    """A buffer with its axes in any order, and maybe some room between slices."""
    shape = tuple(random.randint(1, 4) for _ in range(random.randint(1, 3)))
    strides, step = [0] * len(shape), 1
    for axis in random.sample(range(len(shape)), len(shape)):
        strides[axis] = step
        step = step * shape[axis] + random.choice([0, 0, 1])
    return Part(BufferRegion.whole_buffer(shape, strides), shape, tuple(strides), [0])


def holds(section: Section, place: int) -> bool:
    """Return `True` if a position is in a section."""
    at = place % section.period // section.stride
    return section.first_slice <= at < section.first_slice + section.extent


def parts(random: Random) -> Iterator[Part]:
    """Parts of one buffer, and parts of parts."""
    whole = buffer(random)
    for _ in range(4):
        part = whole
        for _ in range(random.randint(1, 3)):
            part = part.box(random)
            yield part


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(100))
def test_random_parts(seed: int) -> None:
    found = list(parts(Random(seed)))
    for part in found:
        for section in part.region.sections:
            assert all(holds(section, place) for place in part.places())
    for left, right in product(found, found):
        if has_disjoint_sections(left.region.sections, right.region.sections):
            assert not left.places() & right.places()


def test_tensors_side_by_side() -> None:
    shape, strides = (2, 12, 5, 5), (300, 25, 5, 1)
    whole = BufferRegion.whole_buffer(shape, strides)
    first = whole.subview(shape, strides, [0, 0, 0, 0], [2, 8, 5, 5])
    second = whole.subview(shape, strides, [0, 8, 0, 0], [2, 4, 5, 5])
    assert has_disjoint_sections(first.sections, second.sections)
    tile = second.subview((2, 4, 5, 5), strides, [None, 0, None, 0], [1, 4, 2, 5])
    assert has_disjoint_sections(first.sections, tile.sections)
    assert not has_disjoint_sections(second.sections, tile.sections)


def test_joined_twice() -> None:
    shape, strides = (12, 7), (7, 1)
    whole = BufferRegion.whole_buffer(shape, strides)
    inner = whole.subview(shape, strides, [4, 0], [8, 7])
    parts = [inner.subview((8, 7), strides, [at, 0], [4, 7]) for at in (0, 4)]
    assert has_disjoint_sections(parts[0].sections, parts[1].sections)
    outer = whole.subview(shape, strides, [0, 0], [4, 7])
    assert all(has_disjoint_sections(outer.sections, part.sections) for part in parts)


def test_an_unknown_part_is_met() -> None:
    whole = BufferRegion.whole_buffer((12,), (1,))
    somewhere = whole.subview((12,), (1,), [None], [4])
    assert not somewhere.sections
    assert not somewhere.subview((4,), (1,), [0], [2]).sections


def test_slices_outside_of_the_shape_are_left_out() -> None:
    whole = BufferRegion.whole_buffer((12,), (1,))
    low = whole.subview((12,), (1,), [-3], [6])
    high = whole.subview((12,), (1,), [3], [20])
    assert has_disjoint_sections(low.sections, high.sections)


def test_slices_that_overlap() -> None:
    whole = BufferRegion.whole_buffer((10,), (1,))
    left = whole.subview((4, 3), (2, 1), [0, 0], [2, 3])
    right = whole.subview((4, 3), (2, 1), [2, 0], [2, 3])
    assert not has_disjoint_sections(left.sections, right.sections)
