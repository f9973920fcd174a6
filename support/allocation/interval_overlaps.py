"""Interval overlap queries on a segment tree, without IR."""

from collections.abc import Iterator, Sequence


class IntervalOverlaps:
    """
    Set of intervals with overlap queries. The time of a query depends on its answers,
    not on the intervals that were added elsewhere.

    An interval overlaps another if it contains the other's start, or starts inside of
    it. A segment tree over all starts answers the first case: an interval is stored at
    the few nodes that make up its range, and all intervals that contain a start are
    found on the path to the root.
    """

    def __init__(self, intervals: Sequence[tuple[int, int]]) -> None:
        """
        Build the tree over all intervals that may be added, each from its first to its
        last integer.
        """
        starts = sorted({start for start, _ in intervals})
        rank = {start: position for position, start in enumerate(starts)}
        self._count = len(starts)
        self._first = [rank[start] for start, _ in intervals]
        self._end = [0] * len(intervals)
        self._tree: list[list[int]] = [[] for _ in range(2 * self._count)]
        self._starting: list[list[int]] = [[] for _ in starts]
        position = 0
        for index in sorted(range(len(intervals)), key=lambda n: intervals[n][1]):
            while position < len(starts) and starts[position] <= intervals[index][1]:
                position += 1
            self._end[index] = position

    def add_interval(self, interval_index: int) -> None:
        """Insert the interval with this index, so that later queries find it."""
        self._starting[self._first[interval_index]].append(interval_index)
        low = self._first[interval_index] + self._count
        high = self._end[interval_index] + self._count
        while low < high:
            if low % 2:
                self._tree[low].append(interval_index)
                low += 1
            if high % 2:
                high -= 1
                self._tree[high].append(interval_index)
            low, high = low // 2, high // 2

    def find_overlapping_intervals(self, interval_index: int) -> Iterator[int]:
        """
        Yield the added intervals that overlap the interval with this index, each once.
        """
        node = self._first[interval_index] + self._count
        while node:
            yield from self._tree[node]
            node //= 2
        for position in range(
            self._first[interval_index] + 1, self._end[interval_index]
        ):
            yield from self._starting[position]
