"""
Cost model of `mem-fold-fills` and `mem-fold-casts`, on its schedule instead of IR:
removal of fills and casts that accumulations make redundant.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tlf.dialects.target import TargetSpec
from tlf.planner.cost.program.instruction_nests import Instruction, Item, Nest
from tlf.planner.folding.cast_folding import select_foldable_casts
from tlf.planner.folding.fill_folding import select_overwritten_fills
from tlf.planner.folding.fold_facts import (
    AccumulatedOutput,
    AccumulationFacts,
    FillFacts,
    FoldOperation,
    ProductFacts,
    RoundingFacts,
)


def drop_overwritten_fills(items: list[Item], _: TargetSpec) -> None:
    """Drop the fills of buffers that an accumulation then overwrites."""
    folded = select_overwritten_fills(collect_fold_operations(items))
    _drop_items(items, {fill for each in folded for fill in each.fills})


def fold_rounding_casts(items: list[Item], _: TargetSpec) -> None:
    """Fold casts that round the results of products into these."""
    folded = select_foldable_casts(collect_fold_operations(items))
    for product, cast in folded:
        assert isinstance(product, Instruction)
        assert isinstance(cast, Instruction)
        product.writes, product.accumulator = cast.writes, cast.writes[0].buffer
    _drop_items(items, {cast for _, cast in folded})


def _drop_items(items: list[Item], dropped: Collection[Item]) -> None:
    """Drop items of a schedule and of its nests, in place."""
    items[:] = [each for each in items if each not in dropped]
    for each in items:
        if isinstance(each, Nest):
            _drop_items(each.body, dropped)


def collect_fold_operations(
    items: Sequence[Item], nest: Nest | None = None
) -> list[FoldOperation[Item]]:
    """Return the facts of the items of a schedule, or of the body of a nest."""
    return [_facts_of(item, nest) for item in items]


def _facts_of(item: Item, nest: Nest | None) -> FoldOperation[Item]:
    if isinstance(item, Nest):
        body = collect_fold_operations(item.body, item)
        accessed = frozenset(buffer for each in body for buffer in each.accessed)
        has_iterations = item.trip_count > 0
        return FoldOperation(item, accessed, body=body, has_iterations=has_iterations)
    accessors = (item, *item.completed_moves)
    return FoldOperation(
        item,
        frozenset(
            e.buffer for accessor in accessors for e in accessor.reads_and_writes
        ),
        _fill_facts_of(item),
        _accumulation_facts_of(item),
        _product_facts_of(item),
        _rounding_facts_of(item, nest),
    )


def _fill_facts_of(item: Instruction) -> FillFacts | None:
    if item.fill_value is None:
        return None
    (write,) = item.writes
    return FillFacts(write.buffer, write.buffer, item.fill_value)


def _accumulation_facts_of(item: Instruction) -> AccumulationFacts | None:
    """Return the facts of an accumulation into a whole buffer."""
    total = item.accumulator
    if total is None:
        return None
    inputs = frozenset(access.buffer for access in item.reads)
    output = AccumulatedOutput(total, (total,), item.neutral_element)
    return AccumulationFacts(inputs, [output])


def _product_facts_of(item: Instruction) -> ProductFacts | None:
    """
    Return the facts of a product of 16-bit factors into a whole buffer. If it does not
    overwrite the buffer, the buffer has a further user.
    """
    total, factor_type = item.accumulator, item.half_type
    inputs = frozenset(access.buffer for access in item.reads)
    if not item.is_product or total is None or factor_type is None or total in inputs:
        return None
    return ProductFacts(inputs, total, factor_type)


def _rounding_facts_of(item: Instruction, nest: Nest | None) -> RoundingFacts | None:
    """Return the facts of a cast to a buffer of the nest that is no ring."""
    if item.is_product or item.half_type is None or len(item.reads) != 1:
        return None
    (read,), (write,) = item.reads, item.writes
    if write.buffer.slice_count > 1 or write.buffer.allocation_nest is not nest:
        return None
    return RoundingFacts(read.buffer, write.buffer, item.half_type)
