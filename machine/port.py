"""The time of the one port of a memory."""

from bisect import bisect_right


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
