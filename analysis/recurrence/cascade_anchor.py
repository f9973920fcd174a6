"""
Analysis of cascades: selection of the anchor, the reduction that provides the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.analysis.recurrence.cascade import (
    Cascade,
    NoAnchorError,
    NoCascadeError,
    build_valid_cascade,
    find_cascade,
)
from tlf.dialects.interfaces import AccumulatingInterface, TilingInterface


def find_longest_cascade(
    operations: Sequence[TilingInterface],
    op_facts: OpFactsCache,
    axes: AxisClasses | None = None,
) -> Cascade | None:
    """
    Return the cascade with the longest anchor loop; None if there is none. The anchor
    is the last reduction, unless earlier reductions form a loop along a longer axis, as
    in an attention whose results are normalised. Reductions after that loop run
    untiled. `axes` are the axis classes of the operations, if known.
    """
    loops = (
        find_cascade(operations, op_facts, anchor=op, axes=axes)
        for op in _candidate_anchors(operations, op_facts)
    )
    return next((each for each in loops if each is not None), None)


def explain_no_cascade(
    operations: Sequence[TilingInterface],
    op_facts: OpFactsCache,
    axes: AxisClasses | None = None,
) -> NoCascadeError | None:
    """
    Return the error that prevents the longest loop if reductions form no cascade; None
    if there is no error.
    """
    for op in _candidate_anchors(operations, op_facts):
        try:
            build_valid_cascade(operations, op_facts, anchor=op, axes=axes)
        except NoAnchorError:
            continue
        except NoCascadeError as error:
            return error
    return None


def _candidate_anchors(
    operations: Sequence[TilingInterface], op_facts: OpFactsCache
) -> Sequence[AccumulatingInterface]:
    """
    Return the accumulating operations, longest first; of equal lengths, the last one
    first.
    """
    found = [op for op in operations if isinstance(op, AccumulatingInterface)]
    lengths = {op: prod(op_facts.facts_of(op).reduction_extents) for op in found}
    return sorted(reversed(found), key=lengths.__getitem__, reverse=True)
