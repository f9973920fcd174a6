"""
Cost model of NPU transfers: loads and stores of a group's operations between two
levels, in nests over inner tiles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.fused_rounding import is_fused_rounding
from tlf.analysis.tiling.group_tiling import TiledOperation
from tlf.dialects.interfaces import ContractionInterface
from tlf.planner.cost.npu.nest_prediction import Nests


class InnerTransfer(NamedTuple):
    """Instructions and moves of an operation, independent of its tile."""

    op: Operation
    nest: int
    has_instructions: bool
    """True if the operation has its own instructions."""
    loads: tuple[tuple[SSAValue, int], ...]
    """
    Operands loaded into the inner level for the operation, with their operand indices.
    """
    stores: tuple[SSAValue, ...]
    """Results stored to the outer level."""


def collect_inner_transfers(
    tiles: Mapping[Operation, TiledOperation],
    nests: Nests,
    excluded: Collection[object] = (),
) -> Iterator[InnerTransfer]:
    """
    Yield the transfers of each operation in its nest, in order. Instructions of
    operations and moves of values in `excluded` are excluded.
    """
    loaded_by_nest: dict[int, set[object]] = {}
    for op, tiled in tiles.items():
        if tiled.facts.is_buffer_view or tiled.is_moved:
            continue
        nest = nests[op]
        loaded = loaded_by_nest.setdefault(nest, {*excluded})
        operand_indices = {
            operand: n for n, operand in reversed([*enumerate(op.operands)])
        }
        loads = [
            (operand, index)
            for operand, index in operand_indices.items()
            if operand not in loaded and not _is_nest_result(operand, nests, nest)
        ]
        stores = [
            result
            for result in op.results
            if result not in loaded and _is_live_out(result, nests, nest)
        ]
        computes = op not in loaded and not _is_fused_rounding(tiled, nests)
        yield InnerTransfer(op, nest, computes, tuple(loads), tuple(stores))
        loaded.update(op.operands)


def _is_nest_result(operand: SSAValue, nests: Nests, own_nest: int) -> bool:
    """Return `True` if an operand is computed in the nest."""
    owner = operand.owner
    return isinstance(owner, Operation) and nests.get(owner) == own_nest


def _is_live_out(result: SSAValue, nests: Nests, own_nest: int) -> bool:
    """Return `True` if a result has no users, or users outside of the nest."""
    users = [use.operation for use in result.uses]
    return not users or any(nests.get(user) != own_nest for user in users)


def _is_fused_rounding(tiled: TiledOperation, nests: Nests) -> bool:
    """
    Return `True` if an operation is a rounding that is fused into a product of the
    nest.
    """
    if not tiled.facts.is_rounding_cast:
        return False
    product = tiled.op.operands[0].owner
    return (
        isinstance(product, ContractionInterface)
        and nests.get(product) == nests[tiled.op]
        and is_fused_rounding(product, tiled.op)
    )
