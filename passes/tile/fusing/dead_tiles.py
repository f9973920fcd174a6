"""
Rewrite of the pass `tile-fuse-loops`: erasure of overwritten writes and unread
destinations of fused nests.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.affine_loops.access_boxes import write_access_of
from tlf.analysis.affine_loops.carried_accesses import (
    CarriedAccesses,
    carried_accesses_of,
)
from tlf.dialects import tile


def erase_overwritten_tiles(nest: tile.WhileOp) -> None:
    """Erase writes of tiles that the same iteration overwrites completely."""
    for op in list(nest.body.block.ops):
        while (before := _previous_write_overwritten_by(op)) is not None:
            op.operands[1] = before.destination
            Rewriter.erase_op(before)


def _previous_write_overwritten_by(op: object) -> tile.DesliceOp | None:
    """
    Return the previous write to a tensor, if an operation overwrites the whole written
    tile; else None.
    """
    if not isinstance(op, tile.DesliceOp):
        return None
    before = op.destination.owner
    if not isinstance(before, tile.DesliceOp) or before.parent is not op.parent:
        return None
    if not before.result.has_one_use():
        return None
    old, new = write_access_of(before), write_access_of(op)
    distances = [
        old_start - new_start
        for old_start, new_start in zip(old.starts, new.starts, strict=True)
    ]
    covers = all(
        not distance.terms
        and 0 <= distance.constant
        and distance.constant + size <= limit
        for distance, size, limit in zip(
            distances, old.extents, new.extents, strict=True
        )
    )
    return before if covers else None


def erase_unread_destinations(nest: tile.WhileOp) -> tile.WhileOp:
    """
    Erase the loop-carried tensors of a nest that are only written, and whose results
    are unused.
    """
    chains: dict[int, CarriedAccesses] = {}
    for index, result in enumerate(nest.results):
        chain = None if result.uses else carried_accesses_of(nest, index)
        if chain is not None and all(
            _is_write_in_nest(each.op, nest) for each in chain.accesses
        ):
            chains[index] = chain
    return _drop_carried_tensors(nest, chains) if chains else nest


def _is_write_in_nest(op: object, nest: tile.WhileOp) -> bool:
    return isinstance(op, tile.DesliceOp) and op.parent is nest.body.block


def _drop_carried_tensors(
    nest: tile.WhileOp, dropped_accesses: dict[int, CarriedAccesses]
) -> tile.WhileOp:
    """Replace `nest` by one without the dropped carried tensors and their accesses."""
    block, end = nest.body.block, nest.yield_op
    remaining = [n for n in range(len(nest.results)) if n not in dropped_accesses]
    block.add_op(tile.YieldOp(*(end.arguments[index] for index in remaining)))
    Rewriter.erase_op(end)
    for index, chain in dropped_accesses.items():
        for access in reversed(chain.accesses):
            Rewriter.erase_op(access.op)
    for argument in [nest.carried_values[index] for index in dropped_accesses]:
        block.erase_arg(argument)
    inits = [nest.inits[index] for index in range(len(nest.inits))]
    replacement = tile.WhileOp(
        nest.mixed_lower_bounds,
        nest.mixed_upper_bounds,
        nest.step_values,
        [inits[index] for index in remaining],
        nest.detach_region(nest.body),
        nest.kind.data,
    )
    for name in ("mapping", "order", "stages", "warps"):
        if name in nest.properties:
            replacement.properties[name] = nest.properties[name]
    replacement.attributes |= nest.attributes
    replacement.location = nest.location
    Rewriter.insert_op(replacement, InsertPoint.before(nest))
    for index, result in zip(remaining, replacement.results, strict=True):
        result.name_hint = nest.results[index].name_hint
        nest.results[index].replace_all_uses_with(result)
    Rewriter.erase_op(nest)
    for index in dropped_accesses:
        _erase_unused_empty_tensor(inits[index])
    return replacement


def _erase_unused_empty_tensor(value: SSAValue) -> None:
    """Erase an unused `tile.empty`."""
    if isinstance(value.owner, tile.EmptyOp) and not value.uses:
        Rewriter.erase_op(value.owner)
