"""Views and cuts of what groups make, as the groups that read them have them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.cuts import is_part, is_stored_cut
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.target import Level, Target
from tlf.passes.engine.merged import MergedGroup, merge
from tlf.passes.tiling.group import misfit


def join_cuts(block: Block, level: Level, target: Target) -> None:
    """
    Let groups without a plan cut for themselves what they read of tensors that groups
    make, where they can be tiled so: they then read the whole tensor, which may stay
    near for all that read parts of it. Of what is only seen under another shape, every
    reader gets a view of its own, which can become part of it.
    """
    for op in reversed(list(block.ops)):
        if not is_seen(op) or not _is_made(op):
            continue
        for seen, reader in _apart(op):
            if is_part(seen) and isinstance(reader, graph.GroupOp):
                _join(seen, reader, level, target)


def is_seen(op: Operation) -> bool:
    """Whether an operation is a view of a stored tensor, or of part of it."""
    return isinstance(op, ViewInterface) or (is_part(op) and is_stored_cut(op))


def _is_made(op: Operation) -> bool:
    """Whether a group makes what is seen."""
    while is_seen(op):
        owner = op.operands[0].owner
        if isinstance(owner, Block):
            return False
        op = owner
    return isinstance(op, graph.GroupOp)


def _apart(op: Operation) -> Sequence[tuple[Operation, Operation]]:
    """Every operation that uses a result, each with a copy of what makes it."""
    (result,) = op.results
    readers = list(dict.fromkeys(use.operation for use in result.uses))
    pairs = [(op, reader) for reader in readers[:1]]
    for reader in readers[1:]:
        copy = op.clone()
        copy.results[0].name_hint = result.name_hint
        Rewriter.insert_op(copy, InsertPoint.after(op))
        result.replace_uses_with_if(
            copy.results[0], lambda use, reader=reader: use.operation is reader
        )
        pairs.append((copy, reader))
    return pairs


def _join(cut: Operation, reader: graph.GroupOp, level: Level, target: Target) -> None:
    """Let a group cut its input itself, unless it has a plan or no tiles then."""
    picked = (cut, reader)
    if reader.plan is None:
        if misfit(MergedGroup(picked).members, level, target) is None:
            merge(picked)
