"""Box of a buffer that a load fills, all of whose elements exist in the source."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.dialects import mem
from tlf.dialects.rewriting import replace_op


@dataclass(frozen=True)
class Filling:
    """A load between fixed places, without what lies before its source begins."""

    load: mem.DmaOp
    there: tuple[int, ...]
    """Offsets of the box in the source,"""
    here: tuple[int, ...]
    """and in the destination."""
    box: tuple[int, ...]

    @staticmethod
    def of(load: mem.DmaOp) -> Filling:
        """
        Look at a load whose offsets are numbers. With a `fill`, all of it matters.
        """
        there, here = load.mixed_source_offsets, load.mixed_destination_offsets
        first = [each for each in there if isinstance(each, int)]
        second = [each for each in here if isinstance(each, int)]
        left = [max(0, -each) if load.fill is None else 0 for each in first]
        return Filling(
            load,
            tuple(map(sum, zip(first, left, strict=True))),
            tuple(map(sum, zip(second, left, strict=True))),
            tuple(size - cut for size, cut in zip(load.box, left, strict=True)),
        )

    def ends_with(self, axis: int, size: int) -> bool:
        """
        Return `True` if chunks of a size along an axis fill no more than the load does.
        """
        end = self.here[axis] + self.box[axis]
        bound = self.load.destination_type.get_shape()[axis]
        return self.box[axis] % size == 0 or end >= bound

    def move(self) -> mem.DmaOp:
        """The load, with that box alone."""
        load = self.load
        if self.box == load.box:
            return load
        made = mem.DmaOp(
            load.source,
            self.there,
            load.destination,
            self.here,
            self.box,
            load.fill_value,
            load.clipped is not None,
        )
        made.location = load.location
        replace_op(load, made)
        return made
