"""Problems for the memory planner, made at random."""

import random
from collections.abc import Sequence

from tlf.support.allocation import Buffer, Span


def perfect_packing(
    seed: int, count: int, steps: int = 60, capacity: int = 64, unit: int = 256
) -> list[Buffer]:
    """
    Buffers that fill `capacity` units at each of some steps, with no byte to spare: a
    rectangle of time and memory, cut along and across until it has `count` pieces.
    """
    generator = random.Random(seed)
    pieces = [(0, steps, 0, capacity)]
    while len(pieces) < count:
        pieces.sort(key=lambda each: (each[1] - each[0]) * (each[3] - each[2]))
        start, end, low, high = pieces.pop()
        along = generator.random() * (end - start) < (high - low) * generator.random()
        if high - low > 1 and (along or end - start == 1):
            cut = generator.randint(low + 1, high - 1)
            pieces += (start, end, low, cut), (start, end, cut, high)
        elif end - start > 1:
            cut = generator.randint(start + 1, end - 1)
            pieces += (start, cut, low, high), (cut, end, low, high)
        else:
            pieces.append((start, end, low, high))
            break
    generator.shuffle(pieces)
    return [
        Buffer.live_during((high - low) * unit, start, end, unit)
        for start, end, low, high in pieces
    ]


def lowest_peak(buffers: Sequence[Buffer]) -> int:
    """
    The lowest peak of some small buffers, found by trying all aligned offsets.
    """
    unit = max(buffer.alignment for buffer in buffers)
    best = sum(-(-buffer.size // unit) * unit for buffer in buffers)
    offsets: list[int] = []

    def clashes(span: Span, at: int, other: Span, there: int) -> bool:
        apart = (
            at + span.high <= there + other.low or there + other.high <= at + span.low
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
                clashes(span, offset, other, there)
                for number, there in enumerate(offsets)
                for span in buffer.spans
                for other in buffers[number].spans
            ):
                continue
            offsets.append(offset)
            descend(max(peak, offset + buffer.size))
            offsets.pop()

    descend(0)
    return best
