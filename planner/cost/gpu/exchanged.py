"""Operand swap: the choice of the left factor of matrix instructions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.analysis.operations.bands import Work
from tlf.analysis.tiling.model import GroupTiling, Scope, TiledOperation
from tlf.dialects.interfaces import ContractionInterface, ElementwiseInterface
from tlf.dialects.types import is_half, tensor_type
from tlf.planner.cost.gpu.origins import made_by


@dataclass(frozen=True)
class Exchange:
    """
    Decides, as the backend does, whether the factors of a tile of a contraction are
    exchanged: where the result then needs no transposition, unless threads would
    compute the left factor more than once so, and not the other one.
    """

    tiling: GroupTiling
    tiled: TiledOperation
    rows: int
    """Of the widest matrix instruction."""
    least: int
    """Of an axis of a product that matrix instructions compute."""

    @property
    def holds(self) -> bool:
        """True if the second operand is the left factor."""
        natural = self._by_result
        if not self._repeats(int(natural)) or self._repeats(int(not natural)):
            return natural
        return natural != self._adds_alone

    @property
    def _by_result(self) -> bool:
        """
        True if the first axis of the result, in memory order, is an axis of columns.
        """
        roles = self.tiled.form.roles
        for access in self.tiled.form.result:
            for iterator, _ in access.terms:
                if self.tiled.box[iterator].room > 1 and roles[iterator] in ("m", "n"):
                    return roles[iterator] == "n"
        return False

    @property
    def _adds_alone(self) -> bool:
        """True if the loop around the product only accumulates into its sum."""
        op = self.tiled.op
        if op is self.tiling.anchor or self.tiling.is_step(op):
            return self.tiling.correction_of(op) is None
        return self.tiled.scope is Scope.OUTER

    def _repeats(self, left: int) -> bool:
        """
        Return `True` if threads recompute an operand where it is the left factor: for
        other users, for another order of its elements, or for narrow instructions, of
        which several take the same rows.
        """
        value, work = self.tiled.op.operands[left], work_of(self.tiled)
        if work.batch > 1 or not self._is_computed(value):
            return False
        rows, columns = (work.m, work.n) if left == 0 else (work.n, work.m)
        is_narrow = rows < self.rows <= columns
        return is_narrow or self._is_turned(left) or self._is_shared(value)

    def _is_computed(self, value: SSAValue) -> bool:
        """
        Return `True` if a factor is a value of 16 bits that threads compute from what
        they load.
        """
        owner = value.owner
        if (
            not isinstance(owner, ElementwiseInterface)
            or owner not in self.tiling.tiles
        ):
            return False
        is_narrow = is_half(tensor_type(value).element_type)
        return is_narrow and made_by(self.tiling, value) is None

    def _is_turned(self, operand: int) -> bool:
        """
        Return `True` if the reduction axis of an operand is not its contiguous one in
        memory.
        """
        own, roles = "mn"[operand], roles_along(self.tiled, operand)
        return [role for role in roles if role in (own, "k")][-1:] == [own]

    def _is_shared(self, value: SSAValue) -> bool:
        """Return `True` if a value has users other than matrix products."""
        users = {use.operation for use in value.uses} & set(self.tiling.tiles)
        return any(not self._multiplies(self.tiling.tiles[user]) for user in users)

    def _multiplies(self, tiled: TiledOperation) -> bool:
        if not isinstance(tiled.op, ContractionInterface):
            return False
        return work_of(tiled).has_axes_of(self.least)


def roles_along(tiled: TiledOperation, operand: int) -> list[str]:
    """The roles of the long axes of a tile of an operand, as they lie in memory."""
    return [
        tiled.form.roles[iterator]
        for access in tiled.form.operands[operand] or ()
        for iterator, _ in access.terms
        if tiled.box[iterator].room > 1
    ]


def work_of(tiled: TiledOperation) -> Work:
    """The product that a tile of a contraction is."""
    return Work.of(tiled.form.roles, [each.room for each in tiled.box])
