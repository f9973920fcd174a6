"""
How long things take: pure arithmetic on cycles and bytes.
"""

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil

TRANSCENDENTAL = frozenset(
    (
        "acos acosh asin asinh atan atan2 atanh cbrt cos cosh div erf exp exp2 expm1 "
        "log log10 log1p log2 pow rem rsqrt sin sinh sqrt tan tanh"
    ).split()
)
"""The elementwise operations that cost `transcendental` times an addition."""


def transfer_cycles(nbytes: int, bandwidth: float) -> int:
    """Cycles to move `nbytes` at `bandwidth` bytes per cycle."""
    return int(-(-nbytes // bandwidth))


def matmul_cycles(
    batch: int,
    m: int,
    n: int,
    k: int,
    *,
    rows: int,
    cols: int,
    cycles: float,
    startup: int,
) -> int:
    """Cycles of a product on an array of `rows` by `cols`, one `k` per `cycles`."""
    return ceil(batch * -(-m // rows) * -(-n // cols) * k * cycles) + startup


def vector_cycles(elements: int, *, lanes: int, factor: float, startup: int) -> int:
    """Cycles of an elementwise operation or a reduction of `elements` elements."""
    return ceil(-(-elements // lanes) * factor) + startup


class Port:
    """
    The time of a level's one port, handed out in gaps.

    A transfer takes the free cycles from its start on, first come first served in
    program order; a later transfer that is ready earlier uses the gaps before it.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def reserve(self, start: int, cycles: int) -> int:
        """Take `cycles` free cycles from `start` on. Return the end of the last."""
        if cycles == 0:
            return start
        starts, ends = self._starts, self._ends
        first = last = bisect_right(ends, start)
        begin = start
        if first < len(starts) and starts[first] < start:
            begin = starts[first]
        cursor = start
        while last < len(starts) and starts[last] - cursor < cycles:
            cycles -= max(0, starts[last] - cursor)
            cursor = ends[last]
            last += 1
        end = cursor + cycles
        finish = end
        if first > 0 and ends[first - 1] == begin:
            first -= 1
            begin = starts[first]
        if last < len(starts) and starts[last] == end:
            finish = ends[last]
            last += 1
        starts[first:last] = [begin]
        ends[first:last] = [finish]
        return end


@dataclass
class Queue:
    """
    The time of one engine.
    """

    free: int = 0
    """When the next instruction may start."""
    done: int = 0
    """When all work so far has taken effect."""
    busy: int = 0
    """Cycles spent on work so far, those lost to a shared port included."""

    def work(self, issue: int, cycles: int) -> int:
        """Run for `cycles` cycles, not before `issue`. Return the start."""
        start = max(issue, self.free)
        self.finish(start, start + cycles, 0)
        return start

    def finish(self, start: int, end: int, latency: int) -> None:
        """Record work from `start` to `end`, with its effect `latency` cycles later."""
        self.busy += end - start
        self.free = end
        self.done = max(self.done, end + latency)

    def signal(self, issue: int) -> int:
        """Return when a signal goes out."""
        return max(issue, self.free, self.done)

    def wait(self, issue: int, time: int) -> None:
        """Hold the queue until `time`."""
        self.free = max(self.free, issue, time)
