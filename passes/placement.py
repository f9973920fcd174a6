"""
Placing buffers with lifetimes in one memory: arithmetic without IR.

The peak is kept low by first fit, in the best of a few orders.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tlf.passes.overlaps import Overlaps


@dataclass(frozen=True)
class Buffer:
    """
    Something to place: its bytes, and the first and the last step it is live at.
    """

    size: int
    start: int
    end: int

    def meets(self, other: "Buffer") -> bool:
        """Whether both are live at some step."""
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Placement:
    """
    An offset in bytes per buffer, and the end of the highest one.
    """

    offsets: tuple[int, ...]
    peak: int


def align(offset: int, alignment: int) -> int:
    """
    Round an offset up to a multiple of `alignment`.
    """
    return -(-offset // alignment) * alignment


ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda buffer: (-buffer.size, buffer.start),
    lambda buffer: (-buffer.size * (buffer.end - buffer.start + 1), -buffer.size),
    lambda buffer: (buffer.start - buffer.end, -buffer.size),
    lambda buffer: (buffer.start, -buffer.size),
)
"""Keys to sort buffers by before they are placed."""


def place(
    buffers: Sequence[Buffer], alignment: int, capacity: int, share: bool = False
) -> Placement:
    """
    Give every buffer an offset, so that buffers that are live together are disjoint.

    Buffers share bytes only if they do not fit next to each other, or if `share`:
    sharing orders engines that could run at the same time.
    The peak may exceed `capacity`; the caller checks it.
    """
    apart = _stack(buffers, alignment)
    if apart.peak <= capacity and not share:
        return apart
    placements = [_first_fit(buffers, alignment, order) for order in ORDERS]
    return min(placements, key=lambda placement: placement.peak)


def live_bytes(buffers: Sequence[Buffer]) -> int:
    """
    Return the most bytes that are live at one step: a lower bound of any peak.
    """
    changes = [(buffer.start, buffer.size) for buffer in buffers]
    changes += [(buffer.end + 1, -buffer.size) for buffer in buffers]
    most = live = 0
    for _, change in sorted(changes):
        live += change
        most = max(most, live)
    return most


def _stack(buffers: Sequence[Buffer], alignment: int) -> Placement:
    offsets: list[int] = []
    peak = 0
    for buffer in buffers:
        offsets.append(align(peak, alignment))
        peak = offsets[-1] + buffer.size
    return Placement(tuple(offsets), peak)


def _first_fit(
    buffers: Sequence[Buffer],
    alignment: int,
    order: Callable[[Buffer], tuple[int, ...]],
) -> Placement:
    offsets: dict[int, int] = {}
    placed = Overlaps([(buffer.start, buffer.end) for buffer in buffers])
    for number in sorted(range(len(buffers)), key=lambda n: (*order(buffers[n]), n)):
        buffer = buffers[number]
        taken = sorted(
            (offsets[other], offsets[other] + buffers[other].size)
            for other in placed.of(number)
        )
        offset = 0
        for low, high in taken:
            if offset + buffer.size <= low:
                break
            offset = max(offset, align(high, alignment))
        offsets[number] = offset
        placed.add(number)
    peak = max((offsets[n] + buffers[n].size for n in offsets), default=0)
    return Placement(tuple(offsets[n] for n in range(len(buffers))), peak)
