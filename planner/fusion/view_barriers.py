"""Planning of fusion: reasons why a view outside of all groups separates operations."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.ir import Operation

from tlf.dialects.interfaces import TilingInterface, ViewInterface


def explain_view_barriers(
    op: Operation, grouped: Collection[Operation]
) -> Iterator[tuple[Operation, str]]:
    """
    Yield the grouped operations whose results an operation reads through ungrouped
    views, and the reason why each is in another group.
    """
    for operand in op.operands:
        view: Operation | None = None
        owner = operand.owner
        while isinstance(owner, ViewInterface) and owner not in grouped:
            view, owner = owner, owner.operands[0].owner
        if view is not None and owner in grouped:
            assert isinstance(owner, Operation)
            kind = view.name.partition(".")[2]
            yield owner, f"tiles do not map to tiles through the {kind}"


def is_unit_reshape(op: TilingInterface) -> bool:
    """Return `True` if a view only adds and drops axes of extent 1."""
    accesses = [*op.indexing_maps(), *op.result_indexing_maps()]
    return all(
        access.width == 1 and all(factor == 1 for _, factor in access.terms)
        for each in accesses
        if each is not None
        for access in each
    )
