"""Random problems of static allocation."""

import random
from collections.abc import Sequence

from tlf.support.allocation import Buffer, LiveSpan


def perfect_packing(
    seed: int, count: int, steps: int = 60, capacity: int = 64, unit: int = 256
) -> list[Buffer]:
    """
    Return buffers that fill `capacity` units at each step, with no byte to spare.

    A rectangle of time and memory is split along both axes until it has `count` blocks.
    """
    generator = random.Random(seed)
    blocks = [(0, steps, 0, capacity)]
    while len(blocks) < count:
        blocks.sort(key=lambda each: (each[1] - each[0]) * (each[3] - each[2]))
        start, end, low, high = blocks.pop()
        splits_memory = (
            generator.random() * (end - start) < (high - low) * generator.random()
        )
        if high - low > 1 and (splits_memory or end - start == 1):
            split = generator.randint(low + 1, high - 1)
            blocks += (start, end, low, split), (start, end, split, high)
        elif end - start > 1:
            split = generator.randint(start + 1, end - 1)
            blocks += (start, split, low, high), (split, end, low, high)
        else:
            blocks.append((start, end, low, high))
            break
    generator.shuffle(blocks)
    return [
        Buffer.live_during((high - low) * unit, start, end, unit)
        for start, end, low, high in blocks
    ]


def lowest_peak(buffers: Sequence[Buffer]) -> int:
    """Return the lowest peak of some small buffers, over all aligned offsets."""
    unit = max(buffer.alignment for buffer in buffers)
    best = sum(-(-buffer.size // unit) * unit for buffer in buffers)
    offsets: list[int] = []

    def clashes(span: LiveSpan, at: int, other: LiveSpan, other_offset: int) -> bool:
        apart = (
            at + span.end_byte <= other_offset + other.start_byte
            or other_offset + other.end_byte <= at + span.start_byte
        )
        return span.has_overlap(other) and not apart

    def descend(peak: int) -> None:
        nonlocal best
        if len(offsets) == len(buffers):
            best = min(best, peak)
            return
        buffer = buffers[len(offsets)]
        for offset in range(0, best - buffer.size, buffer.alignment):
            if any(
                clashes(span, offset, other, other_offset)
                for index, other_offset in enumerate(offsets)
                for span in buffer.spans
                for other in buffers[index].spans
            ):
                continue
            offsets.append(offset)
            descend(max(peak, offset + buffer.size))
            offsets.pop()

    descend(0)
    return best
