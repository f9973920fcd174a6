"""
Analysis of loads: the box that in-bounds elements fill, and narrowing of the load to
it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tlf.dialects import mem
from tlf.dialects.located_rewriting import replace_op


@dataclass(frozen=True)
class LoadedBox:
    """Load at constant offsets, clipped to the bounds of its source."""

    load: mem.DmaOp
    source_offsets: tuple[int, ...]
    """Offsets of the box in the source."""
    destination_offsets: tuple[int, ...]
    """Offsets of the box in the destination."""
    box: tuple[int, ...]

    @staticmethod
    def of(load: mem.DmaOp) -> LoadedBox:
        """
        Return the clipped box of a load with constant offsets. With a `fill`, nothing
        is clipped.
        """
        source_offsets, destination_offsets = (
            load.mixed_source_offsets,
            load.mixed_destination_offsets,
        )
        first = [each for each in source_offsets if isinstance(each, int)]
        second = [each for each in destination_offsets if isinstance(each, int)]
        clipped = [max(0, -each) if load.fill is None else 0 for each in first]
        return LoadedBox(
            load,
            tuple(map(sum, zip(first, clipped, strict=True))),
            tuple(map(sum, zip(second, clipped, strict=True))),
            tuple(size - clip for size, clip in zip(load.box, clipped, strict=True)),
        )

    def is_chunk_aligned(self, axis: int, size: int) -> bool:
        """
        Return `True` if chunks of a size along an axis fill no more elements than the
        load.
        """
        end = self.destination_offsets[axis] + self.box[axis]
        bound = self.load.destination_type.get_shape()[axis]
        return self.box[axis] % size == 0 or end >= bound

    def narrow_load(self) -> mem.DmaOp:
        """Return the load, replaced by a load of the clipped box if they differ."""
        load = self.load
        if self.box == load.box:
            return load
        narrowed = mem.DmaOp(
            load.source,
            self.source_offsets,
            load.destination,
            self.destination_offsets,
            self.box,
            load.fill_value,
            load.clipped is not None,
        )
        narrowed.location = load.location
        replace_op(load, narrowed)
        return narrowed
