"""
Cost model of NPU buffers: values of a group that reuse an operand's buffer in the
innermost level.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.cascade_tiles import is_loop_carried
from tlf.analysis.tiling.fused_rounding import contractions_by_fused_rounding
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    count_elements_of_box,
)
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.support.affine.index_access import Box


class InPlaceBuffers:
    """
    Buffer sharing of `convert-tile-to-mem`: an elementwise operation writes to the
    buffer of an operand that has no later use and was computed or loaded in the same
    iteration; an accumulation writes to the buffer of its initial value. A view shares
    the buffer of its operand.
    """

    def __init__(self, tiling: GroupTiling, steps: ExecutionSteps) -> None:
        self.tiling = tiling
        self.steps = steps
        self.rounded = contractions_by_fused_rounding(tiling)
        """Casts to 16 bits that are fused into products."""
        self.shares: dict[SSAValue, SSAValue] = {}
        """Maps a value computed in place to the value whose buffer it reuses."""
        for op in tiling.tiles:
            self._reuse_operand_buffer(op)

    def buffer_owner_of(self, value: SSAValue) -> SSAValue:
        """Return the value whose buffer a value is stored in."""
        return self.shares.get(value, value)

    def values_sharing_buffer(self, buffer_owner: SSAValue) -> Iterator[SSAValue]:
        """
        Yield the values stored in the buffer of `buffer_owner`, `buffer_owner` first.
        """
        yield buffer_owner
        yield from (
            value for value, owner in self.shares.items() if owner is buffer_owner
        )

    def last_use_step_of_buffer(self, value: SSAValue) -> int:
        """Return the last step that uses any value in the buffer of a value."""
        uses = (
            step
            for v in self.values_sharing_buffer(value)
            for step in self.steps.use_steps_of(v)
        )
        return max(uses, default=self.steps.end)

    def _reuse_operand_buffer(self, op: Operation) -> None:
        """
        Store the result of `op` in the buffer of its operand, if it is a view, slice or
        fused cast or `op` is the last use of that buffer.
        """
        reuse = self.steps.buffer_reuse_of(op)
        if reuse.viewed_operand is not None:
            self._share_buffer(op.results[0], reuse.viewed_operand)
            return
        if (product := self.rounded.get(op)) is not None:
            self._share_buffer(op.results[0], product.results[0])
            return
        if not reuse.operands or self._is_running_total(op):
            return
        tiling = self.tiling
        count = count_elements_of_box(tiling.tiles[op].result)
        for operand in reuse.operands:
            box = self._single_tile_of(operand)
            if box is None or count_elements_of_box(box) != count:
                continue
            if operand in tiling.results or self._is_running_total(operand.owner):
                continue
            if self.last_use_step_of_buffer(operand) == self.steps.of[op]:
                self._share_buffer(op.results[0], operand)
                return

    def _is_running_total(self, owner: Operation | Block) -> bool:
        """Return `True` if an operation computes running totals that a loop carries."""
        if self.tiling.cascade is None or not isinstance(owner, Operation):
            return False
        return self.tiling.is_row_operation(owner) and is_loop_carried(
            self.tiling, owner
        )

    def _single_tile_of(self, value: SSAValue) -> Box | None:
        """
        Return the tile of a value if it belongs to a single iteration, else `None`.
        """
        tiling, owner = self.tiling, value.owner
        if (value, 0) in tiling.windows:
            return None
        if isinstance(owner, Operation) and owner in tiling.tiles:
            return tiling.tiles[owner].result
        boxes = tiling.reads.get((value, LoopLevel.OUTER), ())
        if len(boxes) != 1 or (value, LoopLevel.INNER) in tiling.reads:
            return None
        last = list(tiling.loops.values())[-1:]
        return boxes[0] if not last or is_box_moved_by(boxes[0], last) else None

    def _share_buffer(self, value: SSAValue, buffer_owner: SSAValue) -> None:
        self.shares[value] = self.buffer_owner_of(buffer_owner)
