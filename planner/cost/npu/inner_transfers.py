"""Loads and stores of each operation between two levels, in nests over inner tiles."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.fused_rounding import is_rounded_by
from tlf.analysis.tiling.group_tiling import TiledOperation
from tlf.dialects.interfaces import ContractionInterface
from tlf.planner.cost.npu.nest_prediction import Nests


class InnerTransfer(NamedTuple):
    """Instructions and moves for an operation, whatever its tile."""

    op: Operation
    nest: int
    computes: bool
    """True if it takes instructions of its own."""
    loads: tuple[tuple[SSAValue, int], ...]
    """The operands that are moved near for it, with their places."""
    stores: tuple[SSAValue, ...]
    """The results that are moved back."""


def collect_transfers(
    tiles: Mapping[Operation, TiledOperation],
    nests: Nests,
    without: Collection[object] = (),
) -> Iterator[InnerTransfer]:
    """
    Yield the exchange of each operation in order, each of them in one of the nests:
    `without` the instructions of some operations, and without moves of some values.
    """
    there: dict[int, set[object]] = {}
    for op, tiled in tiles.items():
        if tiled.facts.is_buffer_view or tiled.is_moved:
            continue
        own = nests[op]
        near = there.setdefault(own, {*without})
        read = {operand: n for n, operand in reversed([*enumerate(op.operands)])}
        loads = [
            (operand, number)
            for operand, number in read.items()
            if operand not in near and not _is_nest_result(operand, nests, own)
        ]
        stores = [
            result
            for result in op.results
            if result not in near and _is_live_out(result, nests, own)
        ]
        computes = op not in near and not _is_fused_rounding(tiled, nests)
        yield InnerTransfer(op, own, computes, tuple(loads), tuple(stores))
        near.update(op.operands)


def _is_nest_result(operand: SSAValue, nests: Nests, own: int) -> bool:
    """Return `True` if an operand is computed in the nest."""
    owner = operand.owner
    return isinstance(owner, Operation) and nests.get(owner) == own


def _is_live_out(result: SSAValue, nests: Nests, own: int) -> bool:
    """Return `True` if a result has no users, or users outside of the nest."""
    users = [use.operation for use in result.uses]
    return not users or any(nests.get(user) != own for user in users)


def _is_fused_rounding(tiled: TiledOperation, nests: Nests) -> bool:
    """
    Return `True` if an operation is a rounding that a product of the same nest does by
    itself.
    """
    if not tiled.facts.is_rounding_cast:
        return False
    product = tiled.op.operands[0].owner
    return (
        isinstance(product, ContractionInterface)
        and nests.get(product) == nests[tiled.op]
        and is_rounded_by(product, tiled.op)
    )
