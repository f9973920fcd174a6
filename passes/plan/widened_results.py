"""
Part of the pass `graph-group` that lets the readers of a result widen it, rather than
the group that computes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from tlf.dialects.interfaces import ElementwiseInterface, TilingInterface
from tlf.dialects.storage_attributes import mark_recomputed
from tlf.planner.fusion.intermediate_traffic import has_wider_results


def copy_widened_results(groups: Sequence[Sequence[TilingInterface]]) -> bool:
    """
    Replace each operation that widens a result of its group for several readers in
    others, such as a cast to f32, by a copy for each reader, so that the narrow result
    can be stored. Return `True` if there is such an operation.
    """
    group_by_operation = {op: part for part in groups for op in part}
    widening = [
        op
        for op, part in group_by_operation.items()
        if _widens_for_other_groups(op, part)
    ]
    for op in widening:
        _copy_for_each_reader(op)
    return bool(widening)


def _widens_for_other_groups(op: Operation, group: Sequence[Operation]) -> bool:
    """
    Return `True` if an operation widens a value that its group computes for it alone,
    and only operations of other groups read the result.
    """
    if not isinstance(op, ElementwiseInterface) or len(op.operands) != 1:
        return False
    (operand,), (result,) = op.operands, op.results
    readers = {use.operation for use in result.uses}
    return (
        has_wider_results(op)
        and operand.owner in group
        and operand.has_one_use()
        and len(readers) > 1
        and readers.isdisjoint(group)
        and all(isinstance(each, TilingInterface) for each in readers)
    )


def _copy_for_each_reader(op: Operation) -> None:
    """Replace an operation by one for each operation that reads its result."""
    (result,) = op.results
    builder = Builder(InsertPoint.before(op))
    for number, reader in enumerate(dict.fromkeys(u.operation for u in result.uses)):
        copy = builder.insert(op.clone())
        copy.location = op.location
        mark_recomputed(copy, number)
        reader.operands = [
            copy.results[0] if each is result else each for each in reader.operands
        ]
    op.detach()
    op.erase()
