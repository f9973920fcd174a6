"""
Cost model of GPU matrix instructions: prediction of the operand that becomes the left
factor, from a tiled contraction.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.analysis.operations.banded_matmul import MatmulWork
from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel, TiledOperation
from tlf.dialects.interfaces import ContractionInterface, ElementwiseInterface
from tlf.dialects.types import is_16_bit_float, tensor_type
from tlf.planner.cost.gpu.source_products import find_source_product


@dataclass(frozen=True)
class OperandSwap:
    """Operand swap of a contraction's tile, as the backend decides it."""

    tiling: GroupTiling
    tiled: TiledOperation
    max_instruction_rows: int
    """Rows of the widest matrix instruction."""
    min_extent: int
    """Minimum extent of the axes of a product for matrix instructions."""
    is_read_by_threads: bool = False
    """True if threads read the factors, to multiply or to split them."""

    @property
    def has_swapped_operands(self) -> bool:
        """
        True if the backend makes the second operand the left factor, as predicted.
        """
        natural = self._has_column_axis_first
        if self.is_read_by_threads:
            left = int(natural)
            is_slow = has_depth_last(self.tiled, 1 - left)
            return natural != (is_slow and not has_depth_last(self.tiled, left))
        if not self._needs_recompute_as_left(
            int(natural)
        ) or self._needs_recompute_as_left(int(not natural)):
            return natural
        return natural != self._is_plain_accumulation

    @property
    def _has_column_axis_first(self) -> bool:
        """True if the first axis of the result, in memory order, is a column axis."""
        roles = self.tiled.facts.iterator_roles
        for access in self.tiled.facts.result_map:
            for iterator, _ in access.terms:
                if self.tiled.box[iterator].tile_extent > 1 and roles[iterator] in (
                    "m",
                    "n",
                ):
                    return roles[iterator] == "n"
        return False

    @property
    def _is_plain_accumulation(self) -> bool:
        """True if no loop around the product does more than accumulate it."""
        op = self.tiled.op
        if op is self.tiling.anchor or self.tiling.is_cascade_step(op):
            return self.tiling.correction_of(op) is None
        return self.tiled.loop_level is LoopLevel.OUTER

    def _needs_recompute_as_left(self, operand: int) -> bool:
        """
        Return `True` if threads recompute an operand as the left factor: for other
        users, for another element order, or for narrow instructions, several of which
        read the same rows.
        """
        value, work = self.tiled.op.operands[operand], matmul_work_of(self.tiled)
        if work.batch > 1 or not self._is_computed_by_threads(value):
            return False
        rows, columns = (work.m, work.n) if operand == 0 else (work.n, work.m)
        is_narrow = rows < self.max_instruction_rows <= columns
        return (
            is_narrow
            or self._is_operand_transposed(operand)
            or self._has_other_users(value)
        )

    def _is_computed_by_threads(self, value: SSAValue) -> bool:
        """
        Return `True` if a factor is a 16-bit value that threads compute from loaded
        values.
        """
        owner = value.owner
        if (
            not isinstance(owner, ElementwiseInterface)
            or owner not in self.tiling.tiles
        ):
            return False
        is_narrow = is_16_bit_float(tensor_type(value).element_type)
        return is_narrow and find_source_product(self.tiling, value) is None

    def _is_operand_transposed(self, operand: int) -> bool:
        """
        Return `True` if the reduction axis of an operand is not contiguous in memory.
        """
        own, roles = "mn"[operand], long_axis_roles_of(self.tiled, operand)
        return [role for role in roles if role in (own, "k")][-1:] == [own]

    def _has_other_users(self, value: SSAValue) -> bool:
        """Return `True` if a value has users other than matrix products."""
        users = {use.operation for use in value.uses} & set(self.tiling.tiles)
        return any(not self._has_mma_shape(self.tiling.tiles[user]) for user in users)

    def _has_mma_shape(self, tiled: TiledOperation) -> bool:
        if not isinstance(tiled.op, ContractionInterface):
            return False
        return matmul_work_of(tiled).has_min_extents(self.min_extent)


def long_axis_roles_of(tiled: TiledOperation, operand: int) -> list[str]:
    """Return the roles of the long axes of an operand's tile, in memory order."""
    return [
        tiled.facts.iterator_roles[iterator]
        for access in tiled.facts.indexing_maps[operand] or ()
        for iterator, _ in access.terms
        if tiled.box[iterator].tile_extent > 1
    ]


def has_depth_last(tiled: TiledOperation, operand: int) -> bool:
    """Return `True` if the reduction axis of an operand's tile is contiguous."""
    return long_axis_roles_of(tiled, operand)[-1:] == ["k"]


def matmul_work_of(tiled: TiledOperation) -> MatmulWork:
    """Return the matrix product of a contraction's tile."""
    return MatmulWork.of_iterators(
        tiled.facts.iterator_roles, [each.tile_extent for each in tiled.box]
    )
