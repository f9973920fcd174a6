"""Placement of the operations of a group inside or behind the loop of its reduction."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.cascading import corrects_behind
from tlf.analysis.tiling.model import GroupTiling, Read, Scope, TilingError
from tlf.dialects.interfaces import TilingInterface


def is_inner(tiling: GroupTiling, op: TilingInterface, needs: Sequence[Read]) -> bool:
    """
    Return `True` if an operation whose parts consumers need is computed in the loop.
    Raises `TilingError` if its result differs inside and behind the loop, and both are
    needed.
    """
    if tiling.is_step(op):
        return True
    scopes = _scopes(tiling, op, needs)
    is_running = tiling.is_running(op)
    if is_running and len(scopes) > 1:
        if tiling.is_row(op):
            return True
        raise TilingError(op, "it is needed while sums run, and once they are over")
    if Scope.OUTER in scopes:
        return False
    inner = set(tiling.inner_loops.values())
    return is_running or any(moves_with(need.box, inner) for need in needs)


def is_again(tiling: GroupTiling, op: TilingInterface, needs: Sequence[Read]) -> bool:
    """
    Return `True` if a value that is computed in the loop is needed behind it as well.
    """
    if not tiling.is_row(op):
        return False
    return len(_scopes(tiling, op, needs)) > 1 or corrects_behind(tiling, op)


def _scopes(
    tiling: GroupTiling, op: TilingInterface, needs: Sequence[Read]
) -> set[Scope]:
    """Return the scopes in which the result of an operation is needed."""
    scopes = {need.scope for need in needs}
    if any(result in tiling.results for result in op.results):
        scopes.add(Scope.OUTER)
    return scopes
