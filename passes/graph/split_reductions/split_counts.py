"""
Helper of the pass `graph-split-k-reductions` that only reads IR: reductions of a group,
candidate numbers of their parts, and the selection of the best one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence

from xdsl.ir import Operation

from tlf.analysis.operations.op_facts import OpFacts
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    DelinearizedReadInterface,
)
from tlf.dialects.types import tensor_type
from tlf.planner.settings.search_budgets import REASSOCIATION


def reductions_of(operations: Iterable[Operation]) -> list[AccumulatingInterface]:
    """Return the reductions among operations, in order."""
    return [op for op in operations if isinstance(op, AccumulatingInterface)]


def candidate_split_counts(
    reductions: Collection[AccumulatingInterface], extent: int, processors: int
) -> list[int]:
    """
    Return the candidate numbers of equal parts of a reduction axis, in ascending order;
    none if the tiles of the results keep all processors busy. Windows that a reduction
    reads as rows are read in these parts, too.
    """
    if (
        processors == 1
        or min_tile_count_of_results(reductions)
        >= REASSOCIATION.tiles_per_processor * processors
    ):
        return []
    candidates, count = list[int](), 2
    while count <= extent // REASSOCIATION.min_part_extent:
        divisor = _smallest_divisor_from(extent, count, reductions)
        if (
            divisor is not None
            and divisor not in candidates
            and divisor <= extent // REASSOCIATION.min_part_extent
        ):
            candidates.append(divisor)
        count *= 2
    return candidates


def select_best_count(
    counts: Sequence[int],
    start_count: int,
    saved_cycles_of: Callable[[int], int],
    max_saved_cycles_of: Callable[[int], float],
    total_cycles: int,
) -> int | None:
    """
    Return the count that saves the most of `total_cycles`, of those within a factor of
    `max_count_ratio` of `start_count`; None if no count saves anything, or the first
    one from `start_count` on costs a fraction of `max_split_loss`. Counts are evaluated
    only while their bounds `max_saved_cycles_of` exceed what is saved already.
    """
    first = min(bisect_left(counts, start_count), len(counts) - 1)
    least = -int(REASSOCIATION.max_split_loss * total_cycles)
    if first < 0 or max_saved_cycles_of(counts[first]) < least:
        return None
    if saved_cycles_of(counts[first]) < least:
        return None
    near = [n for n, each in enumerate(counts) if _is_near(each, counts[first])]
    best, most = None, 0
    for n in sorted(near, key=lambda n: abs(n - first)):
        if max_saved_cycles_of(counts[n]) <= most:
            continue
        if (saved := saved_cycles_of(counts[n])) > most:
            best, most = counts[n], saved
    return best


def _is_near(count: int, start_count: int) -> bool:
    """Return `True` if a count is so near to the start that it is evaluated."""
    ratio = REASSOCIATION.max_count_ratio
    return start_count <= ratio * count and count <= ratio * start_count


def min_tile_count_of_results(reductions: Collection[AccumulatingInterface]) -> int:
    """
    Return the minimum number of large tiles over the results of reductions.
    """
    return min(map(_tile_count_of_result, reductions))


def _tile_count_of_result(op: Operation) -> int:
    """Return the number of large tiles of the result of a reduction."""
    elements = tensor_type(op.results[0]).element_count()
    is_product = isinstance(op, ContractionInterface)
    return -(
        -elements
        // (
            REASSOCIATION.tile_rows * REASSOCIATION.tile_columns
            if is_product
            else REASSOCIATION.tile_rows
        )
    )


def _smallest_divisor_from(
    extent: int, min_divisor: int, reductions: Collection[AccumulatingInterface]
) -> int | None:
    """
    Return the smallest divisor of an extent, at least a minimum and below twice that,
    by which all windows read as rows are divisible, or None.
    """
    return next(
        (
            n
            for n in range(min_divisor, 2 * min_divisor)
            if extent % n == 0 and all(_divides_windows(op, n) for op in reductions)
        ),
        None,
    )


def _divides_windows(op: AccumulatingInterface, part_count: int) -> bool:
    """
    Return `True` if the windows among the operands are windows also in parts of the
    longest reduced axis.
    """
    iterator = longest_reduced_iterator_of(OpFacts(op))
    for operand, accesses in zip(op.operands, op.indexing_maps(), strict=True):
        gather = operand.owner
        if accesses is None or not isinstance(gather, DelinearizedReadInterface):
            continue
        axes = [n for n, each in enumerate(accesses) if each.loop_dim == iterator]
        for axis in axes:
            shape = list(tensor_type(operand).get_shape())
            shape[axis : axis + 1] = [part_count, shape[axis] // part_count]
            if gather.delinearized_access.reshape_value(shape) is None:
                return False
    return True


def longest_reduced_iterator_of(facts: OpFacts) -> int | None:
    """Return the reduced iterator with the largest extent, or None."""
    return max(facts.reduction_dims, key=lambda each: facts.extents[each], default=None)


def longest_reduced_extent(op: AccumulatingInterface) -> int:
    """
    Return the largest extent of the reduced axes of an operation; 1 without any.
    """
    facts = OpFacts(op)
    iterator = longest_reduced_iterator_of(facts)
    return 1 if iterator is None else facts.extents[iterator]
