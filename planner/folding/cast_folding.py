"""Decision on casts: the roundings that products perform instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

from tlf.planner.folding.fold_facts import (
    FoldOperation,
    OpT_co,
    ProductFacts,
    blocks_in,
)


def select_foldable_casts(
    operations: Sequence[FoldOperation[OpT_co]],
) -> list[tuple[OpT_co, OpT_co]]:
    """
    Return the products of a function with the casts in the same block that round their
    whole results to the type of the factors, and are the only users of these.
    """
    user_counts = Counter[Hashable](
        buffer
        for block in blocks_in(operations)
        for operation in block
        if operation.body is None
        for buffer in operation.accessed
    )
    found: list[tuple[OpT_co, OpT_co]] = []
    for block in blocks_in(operations):
        for position, operation in enumerate(block):
            product = operation.product
            if product is None or user_counts[product.result] != 2:
                continue
            following = islice(block, position + 1, None)
            if (cast := _find_rounding_cast(product, following)) is not None:
                found.append((operation.op, cast.op))
    return found


def _find_rounding_cast(
    product: ProductFacts, following: Iterable[FoldOperation[OpT_co]]
) -> FoldOperation[OpT_co] | None:
    """
    Return the cast that rounds the result of a product, if it is the next access of the
    result, and its own result is not accessed in between; else None.
    """
    accessed_between = set(product.inputs)
    for operation in following:
        if product.result not in operation.accessed:
            accessed_between.update(operation.accessed)
            continue
        rounding = operation.rounding
        if rounding is None or rounding.source != product.result:
            return None
        if rounding.result_type != product.factor_type:
            return None
        return None if rounding.result in accessed_between else operation
    return None
