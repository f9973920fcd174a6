"""Lazy cost evaluation of a front: only labels that may be the best are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.pareto_labels import Label, ParetoFronts, Rank

Open = tuple[Rank, int, bool, Label]
"""A way, by its rank, then its place among all; and whether that is what it costs."""


def resolve_front(
    front: Sequence[Label], fronts: ParetoFronts, memo: CostMemo
) -> list[Label]:
    """
    Return the best labels of a front, evaluating bounds in order as far as needed.

    Ways are priced in the order of their bounds, until the best of those that are is no
    worse than what bounds the others. The ways before them are settled, so that most
    that are not on a good path are never priced: a search of shortest paths that asks
    for what an edge costs only when it needs to know, as Dellin and Srinivasa (2016)
    do it. Of those that were priced by then, the ones that leave more slack stay, too.
    """
    ways = [
        (label.rank, n, _has_exact_cost(label), label) for n, label in enumerate(front)
    ]
    heapify(ways)
    while ways:
        _, number, is_known, label = heappop(ways)
        if is_known:
            return _add_slack_labels(label, ways, fronts)
        if (priced := _evaluate_label(label, fronts, memo)) is not None:
            heappush(ways, (priced.rank, number, True, priced))
    return []


def _add_slack_labels(
    best: Label, ways: Sequence[Open], fronts: ParetoFronts
) -> list[Label]:
    """The best way, and others that are priced and leave more slack."""
    found = [best]
    for _, _, is_known, label in ways:
        if is_known:
            fronts.insert_by_slack(found, label)
    return found


def _has_exact_cost(label: Label) -> bool:
    """Return `True` if the cost of a label's last step is known."""
    return label.move is None or label.move.outcome.has_exact_cost


def _evaluate_label(label: Label, fronts: ParetoFronts, memo: CostMemo) -> Label | None:
    """The best way with the last move of a bounded one, None where it cannot be."""
    move, before = label.move, label.before
    assert move is not None
    assert before is not None
    ways = (
        fronts.extend_label(before, move, option)
        for option in memo.options(move.group, move.context)
    )
    return min(ways, key=lambda each: each.rank, default=None)
