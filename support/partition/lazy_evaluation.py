"""
Lazy cost evaluation in the partition search, without IR: only labels that may be the
best.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.pareto_labels import ParetoFronts, PathLabel, Rank

Open = tuple[Rank, int, bool, PathLabel]
"""Label with its rank, its index, and True if its cost is exact."""


def evaluate_front(
    front: Sequence[PathLabel], fronts: ParetoFronts, memo: CostMemo
) -> list[PathLabel]:
    """
    Return the best labels of a front, evaluating bounds in order as far as needed.

    Labels are evaluated in the order of their bounds, until the best evaluated label is
    no worse than the bounds of the others. The labels of earlier states are resolved,
    so that most labels off a good path are never evaluated: a shortest-path search that
    evaluates an edge only when its cost matters (Dellin and Srinivasa 2016). Labels
    that were evaluated by then and leave more slack are returned, too.
    """
    queue = [
        (label.rank, n, _has_exact_cost(label), label) for n, label in enumerate(front)
    ]
    heapify(queue)
    while queue:
        _, index, is_exact, label = heappop(queue)
        if is_exact:
            return _add_labels_with_more_slack(label, queue, fronts)
        if (evaluated := _evaluate_last_transition(label, fronts, memo)) is not None:
            heappush(queue, (evaluated.rank, index, True, evaluated))
    return []


def _add_labels_with_more_slack(
    best: PathLabel, candidates: Sequence[Open], fronts: ParetoFronts
) -> list[PathLabel]:
    """Return the best label, and other evaluated labels that leave more slack."""
    labels = [best]
    for _, _, is_exact, label in candidates:
        if is_exact:
            fronts.insert_by_slack(labels, label)
    return labels


def _has_exact_cost(label: PathLabel) -> bool:
    """Return `True` if the cost of a label's last step is exact."""
    return label.transition is None or label.transition.outcome.has_exact_cost


def _evaluate_last_transition(
    label: PathLabel, fronts: ParetoFronts, memo: CostMemo
) -> PathLabel | None:
    """
    Return the best label with the last transition of a bounded label, or None if its
    group has no options.
    """
    move, before = label.transition, label.previous
    assert move is not None
    assert before is not None
    labels = (
        fronts.extend_label(before, move, option)
        for option in memo.options_of_group(move.group, move.context)
    )
    return min(labels, key=lambda each: each.rank, default=None)
