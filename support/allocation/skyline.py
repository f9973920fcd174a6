"""
Skyline of an allocation search, without IR: floor and unplaced bytes of each section.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlf.support.allocation.time_sections import BlockShape
from tlf.support.bit_sets import elements_of_mask

FULL = 1 << 62
"""Floor of a section with no unplaced blocks."""


@dataclass(slots=True)
class Pit:
    """Section that is no higher than its neighbours: the next section to decide on."""

    section: int
    floor: int
    spare_bytes: int
    """Bytes that may be wasted above the floor."""
    fitting_blocks: int
    """Blocks that may be placed on the floor, as a bit mask."""
    resting_blocks: int
    """Blocks that are placed on the floor, or on blocks that are, as a bit mask."""


class Skyline:
    """
    Partial placement of blocks: the floor of every section, and its unplaced bytes.

    Sets of blocks and of sections are bit masks.
    """

    def __init__(
        self,
        shapes: Sequence[BlockShape],
        count: int,
        capacity: int,
        grain: int,
    ) -> None:
        """
        Build an empty skyline over `count` sections; offsets are multiples of `grain`.
        """
        self.shapes = shapes
        self.count = count
        self.capacity = capacity
        self.top = -(-capacity // grain) * grain
        self.grain = grain
        self.weights = [0] * count
        """Number of branches that failed at each section."""
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
        for index, shape in enumerate(shapes):
            self._add_block_shape(index, shape)
        self._accumulate_block_sets()

    def _add_block_shape(self, block_index: int, shape: BlockShape) -> None:
        """Add a block to the sets and the unplaced bytes of the sections it covers."""
        bit = 1 << block_index
        mask = 0
        for first, last, height in shape.ranges:
            mask |= self.section_mask(first, last)
            for section in range(first, last):
                self.cover[section] |= bit
                self.left[section] += height
        for section in range(shape.first_section + 1, shape.end_section):
            self.crossing[section] |= bit
        self.starting[shape.first_section] |= bit
        self.ending[shape.end_section] |= bit
        self.sections.append(mask)
        self.least.append(min(height for *_, height in shape.ranges))
        if shape.section_count < shape.end_section - shape.first_section:
            self.split |= bit

    def _accumulate_block_sets(self) -> None:
        """
        Make `starting` and `ending` cumulative, and compute `meets`, the blocks that
        share a section with each block, and `by_height`.
        """
        for section in range(self.count - 1, -1, -1):
            self.starting[section] |= self.starting[section + 1]
        for section in range(self.count):
            self.ending[section + 1] |= self.ending[section]
        for index, shape in enumerate(self.shapes):
            for first, last, _ in shape.ranges:
                for section in range(first, last):
                    self.meets[index] |= self.cover[section]
            self.meets[index] &= ~(1 << index)
        heights: dict[int, int] = {}
        for index, height in enumerate(self.least):
            heights[height] = heights.get(height, 0) | 1 << index
        self.by_height = sorted(heights.items())

    @staticmethod
    def section_mask(low: int, high: int) -> int:
        """Return the sections [low, high) as a bit mask."""
        return (1 << high) - (1 << low)

    def blocks_within(self, low: int, high: int) -> int:
        """Return the blocks whose sections are all in [low, high)."""
        return self.starting[low] & self.ending[high]

    def can_have_placement(self) -> bool:
        """
        Return `True` if every block fits by itself, and all blocks live in a section
        fit together.
        """
        return all(unplaced <= self.top for unplaced in self.left) and all(
            shape.block.residue + shape.block.extent <= self.capacity
            for shape in self.shapes
        )

    def save_state(self, low: int, high: int) -> tuple[list[int], list[int]]:
        """Return the state of the sections [low, high), for `restore_state`."""
        return self.floor[low:high], self.left[low:high]

    def restore_state(self, low: int, saved: tuple[list[int], list[int]]) -> None:
        """Restore the saved state of the sections from `low` on."""
        floor, unplaced = saved
        self.floor[low : low + len(floor)] = floor
        self.left[low : low + len(unplaced)] = unplaced

    def raise_section_floor(self, section: int, floor: int) -> bool:
        """
        Waste the bytes below a new floor. Return `False` if the unplaced bytes would
        not fit.
        """
        if floor + self.left[section] > self.top:
            return False
        self.floor[section] = floor
        return True

    def place_block(self, block_index: int, floor: int) -> int | None:
        """Place a block on a floor. Return its offset, or None if it does not fit."""
        shape = self.shapes[block_index]
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

    def remove_block(self, block_index: int, floor: int) -> None:
        """
        Undo the placement of a block: reset its sections to `floor`, the floor before
        it.
        """
        for first, last, height in self.shapes[block_index].ranges:
            self.floor[first:last] = [floor] * (last - first)
            for section in range(first, last):
                self.left[section] += height

    def find_pits(
        self, low: int, high: int, unplaced: int, wasted: int
    ) -> Iterator[Pit]:
        """
        Yield the sections in [low, high) in which no block extends above a lower floor.
        """
        floor, remaining = self.floor, self.left
        start = low
        for section in range(low, high):
            if not remaining[section]:
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
                yield from self._find_pits_at_lowest_floor(
                    start, end, level, unplaced, inside, waste
                )
            start = end

    def _find_pits_at_lowest_floor(
        self,
        start: int,
        end: int,
        level: int,
        unplaced: int,
        inside_blocks: int,
        wasted: int,
    ) -> Iterator[Pit]:
        """
        Yield a pit per section in [start, end), whose floor is `level`, except those no
        tighter than the previous one with the same blocks.
        """
        before, max_remaining = -1, 0
        for section in range(start, end):
            live = unplaced & self.cover[section]
            resting = live & inside_blocks
            remaining = self.left[section]
            if resting == before and remaining <= max_remaining:
                continue
            if outside := live & self.split & ~inside_blocks:
                split_blocks = self._blocks_with_gaps_on_floor(outside, level)
                if split_blocks is None:
                    continue
                resting |= split_blocks
            fits = resting
            if wasted:
                for index in elements_of_mask(resting):
                    if not self.sections[index] & ~wasted:
                        fits ^= 1 << index
            if fits:
                before, max_remaining = live & inside_blocks, remaining
            yield Pit(section, level, self.top - level - remaining, fits, resting)

    def _blocks_with_gaps_on_floor(self, blocks: int, level: int) -> int | None:
        """
        Return the blocks with gaps that can be placed on a floor in all of their
        sections, or None if one could be placed on it here and above it elsewhere.
        """
        result = 0
        for index in elements_of_mask(blocks):
            ranges = self.shapes[index].ranges
            if max(max(self.floor[first:last]) for first, last, _ in ranges) > level:
                continue
            if min(min(self.floor[first:last]) for first, last, _ in ranges) < level:
                return None
            result |= 1 << index
        return result

    def next_floor_bound(self, pit: Pit, unplaced: int) -> int:
        """
        Return a lower bound on the offset of the next block at a section if none is
        placed on its floor: it is placed on a floor elsewhere, or on a block that does
        not cover this section.
        """
        best = self._lowest_offset_for_blocks(
            pit, unplaced & self.cover[pit.section] & ~pit.resting_blocks
        )
        below = 0
        for index in elements_of_mask(pit.resting_blocks):
            below |= self.meets[index]
        if below := below & unplaced & ~self.cover[pit.section]:
            for height, blocks in self.by_height:
                if pit.floor + height >= best:
                    break
                if blocks & below:
                    return pit.floor + height
        return best

    def _lowest_offset_for_blocks(self, pit: Pit, blocks: int) -> int:
        """Return the lowest offset at which the floor admits one of some blocks."""
        floor = self.floor
        best = FULL
        for index in elements_of_mask(blocks & self.split):
            ranges = self.shapes[index].ranges
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
