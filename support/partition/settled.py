"""The best way to a state, when what it costs to go there is only bounded."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tlf.support.partition.labels import Fronts, Label, Rank
from tlf.support.partition.memo import Memo

Open = tuple[Rank, int, bool, Label]
"""A way, by its rank, then its place among all; and whether that is what it costs."""


def settled(front: Sequence[Label], fronts: Fronts, memo: Memo) -> list[Label]:
    """
    The best of some ways to a state, none where not one of them can be gone.

    Ways are priced in the order of their bounds, until the best of those that are is no
    worse than what bounds the others. The ways before them are settled, so that most
    that are not on a good path are never priced: a search of shortest paths that asks
    for what an edge costs only when it needs to know, as Dellin and Srinivasa (2016)
    do it. Of those that were priced by then, the ones that leave more slack stay, too.
    """
    ways = [(label.rank, n, _is_priced(label), label) for n, label in enumerate(front)]
    heapify(ways)
    while ways:
        _, number, is_known, label = heappop(ways)
        if is_known:
            return _with_slack(label, ways, fronts)
        if (priced := _priced(label, fronts, memo)) is not None:
            heappush(ways, (priced.rank, number, True, priced))
    return []


def _with_slack(best: Label, ways: Sequence[Open], fronts: Fronts) -> list[Label]:
    """The best way, and others that are priced and leave more slack."""
    found = [best]
    for _, _, is_known, label in ways:
        if is_known:
            fronts.keep(found, label)
    return found


def _is_priced(label: Label) -> bool:
    """Return `True` if the cost of a label's last step is known."""
    return label.move is None or label.move.outcome.is_priced


def _priced(label: Label, fronts: Fronts, memo: Memo) -> Label | None:
    """The best way with the last move of a bounded one, None where it cannot be."""
    move, before = label.move, label.before
    assert move is not None
    assert before is not None
    ways = (
        fronts.onward(before, move, option)
        for option in memo.options(move.group, move.context)
    )
    return min(ways, key=lambda each: each.rank, default=None)
