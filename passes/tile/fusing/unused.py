"""Dropping destinations that nothing reads, and tiles that are overwritten at once."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.affine_loops.boxes import written
from tlf.analysis.affine_loops.chains import Chain, chain_of
from tlf.dialects import tile


def drop_overwritten(nest: tile.WhileOp) -> None:
    """Drop tiles that are put where the next tile of the same iteration is put."""
    for op in list(nest.body.block.ops):
        while (before := _overwritten(op)) is not None:
            op.operands[1] = before.destination
            Rewriter.erase_op(before)


def _overwritten(op: object) -> tile.DesliceOp | None:
    """
    Return the previous write to a tensor, if an operation overwrites all of it; else
    None.
    """
    if not isinstance(op, tile.DesliceOp):
        return None
    before = op.destination.owner
    if not isinstance(before, tile.DesliceOp) or before.parent is not op.parent:
        return None
    if not before.result.has_one_use():
        return None
    old, new = written(before), written(op)
    gaps = [one - other for one, other in zip(old.starts, new.starts, strict=True)]
    covers = all(
        not gap.terms and 0 <= gap.constant and gap.constant + size <= room
        for gap, size, room in zip(gaps, old.extents, new.extents, strict=True)
    )
    return before if covers else None


def drop_unread(nest: tile.WhileOp) -> tile.WhileOp:
    """Drop the carried tensors that are only written, where nothing uses the result."""
    chains: dict[int, Chain] = {}
    for number, result in enumerate(nest.results):
        chain = None if result.uses else chain_of(nest, number)
        if chain is not None and all(_is_put(each.op, nest) for each in chain.accesses):
            chains[number] = chain
    return _without(nest, chains) if chains else nest


def _is_put(op: object, nest: tile.WhileOp) -> bool:
    return isinstance(op, tile.DesliceOp) and op.parent is nest.body.block


def _without(nest: tile.WhileOp, dropped: dict[int, Chain]) -> tile.WhileOp:
    block, end = nest.body.block, nest.yielded
    kept = [n for n in range(len(nest.results)) if n not in dropped]
    block.add_op(tile.YieldOp(*(end.arguments[number] for number in kept)))
    Rewriter.erase_op(end)
    for number, chain in dropped.items():
        for access in reversed(chain.accesses):
            Rewriter.erase_op(access.op)
    for argument in [nest.carried[number] for number in dropped]:
        block.erase_arg(argument)
    inits = [nest.inits[number] for number in range(len(nest.inits))]
    made = tile.WhileOp(
        nest.mixed_lower,
        nest.mixed_upper,
        nest.step_values,
        [inits[number] for number in kept],
        nest.detach_region(nest.body),
        nest.kind.data,
    )
    for name in ("mapping", "order", "stages"):
        if name in nest.properties:
            made.properties[name] = nest.properties[name]
    made.attributes |= nest.attributes
    made.location = nest.location
    Rewriter.insert_op(made, InsertPoint.before(nest))
    for number, result in zip(kept, made.results, strict=True):
        result.name_hint = nest.results[number].name_hint
        nest.results[number].replace_all_uses_with(result)
    Rewriter.erase_op(nest)
    for number in dropped:
        _drop_place(inits[number])
    return made


def _drop_place(value: SSAValue) -> None:
    """Drop a new tensor that nothing uses any more."""
    if isinstance(value.owner, tile.EmptyOp) and not value.uses:
        Rewriter.erase_op(value.owner)
