"""Skyline of an allocation search: floor and unplaced bytes of each section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlf.support.allocation.time_sections import Shape

FULL = 1 << 62
"""The floor of a section with nothing left to place."""


@dataclass(slots=True)
class Pit:
    """
    A section that is no higher than what is around it: where something has to lie next.
    """

    section: int
    floor: int
    spare: int
    """Bytes that may be wasted above the floor."""
    fits: int
    """Blocks that may lie on the floor, as bits."""
    resting: int
    """Blocks that lie on the floor, or on others that do."""


class Skyline:
    """
    The floor of every section, and the bytes that are left to place above it.

    Sets of blocks and of sections are bits of integers.
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        count: int,
        capacity: int,
        grain: int,
    ) -> None:
        """Over `count` sections; offsets are multiples of `grain`."""
        self.shapes = shapes
        self.count = count
        self.capacity = capacity
        self.top = -(-capacity // grain) * grain
        self.grain = grain
        self.weights = [0] * count
        """Number of branches that each section ended."""
        self.floor = [0] * count
        self.left = [0] * count
        self.cover = [0] * count
        self.crossing = [0] * (count + 1)
        self.starting = [0] * (count + 1)
        self.ending = [0] * (count + 1)
        self.sections: list[int] = []
        self.least: list[int] = []
        self.meets = [0] * len(shapes)
        self.split = 0
        for number, shape in enumerate(shapes):
            self._add_shape(number, shape)
        self._accumulate_sets()

    def _add_shape(self, number: int, shape: Shape) -> None:
        bit = 1 << number
        mask = 0
        for first, last, height in shape.ranges:
            mask |= self.section_mask(first, last)
            for section in range(first, last):
                self.cover[section] |= bit
                self.left[section] += height
        for section in range(shape.first + 1, shape.last):
            self.crossing[section] |= bit
        self.starting[shape.first] |= bit
        self.ending[shape.last] |= bit
        self.sections.append(mask)
        self.least.append(min(height for *_, height in shape.ranges))
        if shape.length < shape.last - shape.first:
            self.split |= bit

    def _accumulate_sets(self) -> None:
        for section in range(self.count - 1, -1, -1):
            self.starting[section] |= self.starting[section + 1]
        for section in range(self.count):
            self.ending[section + 1] |= self.ending[section]
        for number, shape in enumerate(self.shapes):
            for first, last, _ in shape.ranges:
                for section in range(first, last):
                    self.meets[number] |= self.cover[section]
            self.meets[number] &= ~(1 << number)
        heights: dict[int, int] = {}
        for number, height in enumerate(self.least):
            heights[height] = heights.get(height, 0) | 1 << number
        self.by_height = sorted(heights.items())

    @staticmethod
    def section_mask(low: int, high: int) -> int:
        """The sections [low, high)."""
        return (1 << high) - (1 << low)

    def blocks_within(self, low: int, high: int) -> int:
        """The blocks that lie in the sections [low, high)."""
        return self.starting[low] & self.ending[high]

    def is_plausible(self) -> bool:
        """
        Return `True` if every block fits alone, and all blocks live in a section fit
        together.
        """
        return all(left <= self.top for left in self.left) and all(
            shape.block.residue + shape.block.extent <= self.capacity
            for shape in self.shapes
        )

    def save_state(self, low: int, high: int) -> tuple[list[int], list[int]]:
        """Return the state of the sections [low, high) that `restore_state` needs."""
        return self.floor[low:high], self.left[low:high]

    def restore_state(self, low: int, saved: tuple[list[int], list[int]]) -> None:
        """Return the sections from `low` on to how they were."""
        floor, left = saved
        self.floor[low : low + len(floor)] = floor
        self.left[low : low + len(left)] = left

    def raise_floor(self, section: int, floor: int) -> bool:
        """Waste what is below a new floor, if that leaves room for what is left."""
        if floor + self.left[section] > self.top:
            return False
        self.floor[section] = floor
        return True

    def place_block(self, number: int, floor: int) -> int | None:
        """Place a block on a floor; return its offset, or None if it has no room."""
        shape = self.shapes[number]
        offset = shape.block.align_up(floor)
        if offset + shape.block.extent > self.capacity:
            return None
        if offset > floor:
            waste = offset - floor
            for first, last, _ in shape.ranges:
                if floor + waste + max(self.left[first:last]) > self.top:
                    return None
        for first, last, height in shape.ranges:
            top = -(-(offset + height) // self.grain) * self.grain
            self.floor[first:last] = [top] * (last - first)
            for section in range(first, last):
                self.left[section] -= height
        return offset

    def remove_block(self, number: int, floor: int) -> None:
        """Take away a block that was put on a floor."""
        for first, last, height in self.shapes[number].ranges:
            self.floor[first:last] = [floor] * (last - first)
            for section in range(first, last):
                self.left[section] += height

    def find_pits(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> Iterator[Pit]:
        """
        Yield the sections in [low, high) of which no block is above a lower floor.
        """
        floor, left = self.floor, self.left
        start = low
        for section in range(low, high):
            if not left[section]:
                floor[section] = FULL
        while start < high:
            level = floor[start]
            end = start + 1
            while end < high and floor[end] == level:
                end += 1
            is_low = start == low or floor[start - 1] > level
            if level < FULL and is_low and (end == high or floor[end] > level):
                inside = unplaced & self.blocks_within(start, end)
                waste = wasted if wasted & self.section_mask(start, end) else 0
                yield from self._pits_of_bottom(
                    start, end, level, unplaced, inside, waste
                )
            start = end

    def _pits_of_bottom(
        self, start: int, end: int, level: int, unplaced: int, inside: int, wasted: int
    ) -> Iterator[Pit]:
        before, most = -1, 0
        for section in range(start, end):
            here = unplaced & self.cover[section]
            resting = here & inside
            left = self.left[section]
            if resting == before and left <= most:
                continue
            if outside := here & self.split & ~inside:
                others = self._blocks_on_level(outside, level)
                if others is None:
                    continue
                resting |= others
            fits = resting
            if wasted:
                for number in iterate_bits(resting):
                    if not self.sections[number] & ~wasted:
                        fits ^= 1 << number
            if fits:
                before, most = here & inside, left
            yield Pit(section, level, self.top - level - left, fits, resting)

    def _blocks_on_level(self, blocks: int, level: int) -> int | None:
        """
        Return those of some blocks with gaps that can lie on a floor in all sections,
        or None if one could lie on it here and above it elsewhere.
        """
        found = 0
        for number in iterate_bits(blocks):
            ranges = self.shapes[number].ranges
            if max(max(self.floor[first:last]) for first, last, _ in ranges) > level:
                continue
            if min(min(self.floor[first:last]) for first, last, _ in ranges) < level:
                return None
            found |= 1 << number
        return found

    def next_floor_bound(self, pit: Pit, unplaced: int) -> int:
        """
        Return an offset that the next block at a section cannot lie below, if none lies
        on its floor: it lies on a floor elsewhere, or on a block that is not here.
        """
        best = self._lowest_floor_for(
            pit, unplaced & self.cover[pit.section] & ~pit.resting
        )
        below = 0
        for number in iterate_bits(pit.resting):
            below |= self.meets[number]
        if below := below & unplaced & ~self.cover[pit.section]:
            for height, blocks in self.by_height:
                if pit.floor + height >= best:
                    break
                if blocks & below:
                    return pit.floor + height
        return best

    def _lowest_floor_for(self, pit: Pit, blocks: int) -> int:
        """Return the lowest offset that the floor leaves one of some blocks."""
        floor = self.floor
        best = FULL
        for number in iterate_bits(blocks & self.split):
            ranges = self.shapes[number].ranges
            best = min(best, max(max(floor[first:last]) for first, last, _ in ranges))
        low, high = pit.section, pit.section + 1
        level = pit.floor
        while level < best:
            while low and floor[low - 1] <= level:
                low -= 1
            while high < self.count and floor[high] <= level:
                high += 1
            if blocks & self.blocks_within(low, high):
                return level
            level = min(
                floor[low - 1] if low else FULL,
                floor[high] if high < self.count else FULL,
            )
        return best


def iterate_bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, in ascending order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
