"""Box of a buffer that a load fills from elements that exist in its source."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.dialects import mem
from tlf.dialects.located_rewriting import replace_op


@dataclass(frozen=True)
class LoadedBox:
    """A load at constant offsets, clipped to what exists in its source."""

    load: mem.DmaOp
    source_offsets: tuple[int, ...]
    """Offsets of the box in the source,"""
    destination_offsets: tuple[int, ...]
    """and in the destination."""
    box: tuple[int, ...]

    @staticmethod
    def of(load: mem.DmaOp) -> LoadedBox:
        """
        Look at a load whose offsets are numbers. With a `fill`, all of it matters.
        """
        there, here = load.mixed_source_offsets, load.mixed_destination_offsets
        first = [each for each in there if isinstance(each, int)]
        second = [each for each in here if isinstance(each, int)]
        left = [max(0, -each) if load.fill is None else 0 for each in first]
        return LoadedBox(
            load,
            tuple(map(sum, zip(first, left, strict=True))),
            tuple(map(sum, zip(second, left, strict=True))),
            tuple(size - cut for size, cut in zip(load.box, left, strict=True)),
        )

    def is_chunk_aligned(self, axis: int, size: int) -> bool:
        """
        Return `True` if chunks of a size along an axis fill no more than the load does.
        """
        end = self.destination_offsets[axis] + self.box[axis]
        bound = self.load.destination_type.get_shape()[axis]
        return self.box[axis] % size == 0 or end >= bound

    def narrow_load(self) -> mem.DmaOp:
        """The load, with that box alone."""
        load = self.load
        if self.box == load.box:
            return load
        made = mem.DmaOp(
            load.source,
            self.source_offsets,
            load.destination,
            self.destination_offsets,
            self.box,
            load.fill_value,
            load.clipped is not None,
        )
        made.location = load.location
        replace_op(load, made)
        return made
