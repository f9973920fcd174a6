"""Values of a group that are computed in place of an operand, in the nearest memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.cascading import is_carried
from tlf.analysis.tiling.model import GroupTiling, Scope, elements
from tlf.analysis.tiling.rounding import rounded_products
from tlf.dialects import tile
from tlf.dialects.cuts import is_part
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ElementwiseInterface,
    ViewInterface,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.steps import Steps
from tlf.support.affine.access import Box


class InPlace:
    """
    Buffer sharing of `convert-tile-to-mem`: an elementwise operation writes in place of
    an operand that is not needed afterwards, be it computed before or cut for the same
    iteration, and so does a sum in place of its initial value. A view is where its
    operand is.
    """

    def __init__(self, tiling: GroupTiling, steps: Steps) -> None:
        self.tiling = tiling
        self.steps = steps
        self.rounded = rounded_products(tiling)
        """Casts to 16 bits that products do by themselves."""
        self.shares: dict[SSAValue, SSAValue] = {}
        """For a value computed in place, the value whose buffer it takes."""
        for op in tiling.tiles:
            self._find(op)

    def place(self, value: SSAValue) -> SSAValue:
        """The value whose buffer a value is in: itself, if it has its own."""
        return self.shares.get(value, value)

    def sharing(self, place: SSAValue) -> Iterator[SSAValue]:
        """The values that are in the buffer of one, that one first."""
        yield place
        yield from (value for value, other in self.shares.items() if other is place)

    def last_use(self, value: SSAValue) -> int:
        """The last step that uses what is in the buffer of a value."""
        uses = (step for v in self.sharing(value) for step in self.steps.uses(v))
        return max(uses, default=self.steps.end)

    def _find(self, op: Operation) -> None:
        if is_part(op):
            self._share(op.results[0], op.operands[0])
            return
        if isinstance(op, ViewInterface):
            if op.operands[0].owner in self.steps.of:
                self._share(op.results[0], op.operands[0])
            return
        if (product := self.rounded.get(op)) is not None:
            self._share(op.results[0], product.results[0])
            return
        carried = self._is_carried(op)
        for operand in () if carried else _replaced(op):
            wanted, box = self.tiling.tiles[op].result, self._box(operand)
            element = tensor_type(op.results[0]).element_type
            if box is None or tensor_type(operand).element_type != element:
                continue
            if elements(box) != elements(wanted) or operand in self.tiling.results:
                continue
            if self._is_carried(operand.owner):
                continue
            if self.last_use(operand) == self.steps.of[op]:
                self._share(op.results[0], operand)
                return

    def _is_carried(self, owner: Operation | Block) -> bool:
        """Return `True` if an operation computes running totals that a loop carries."""
        if not isinstance(owner, Operation) or not self.tiling.is_row(owner):
            return False
        return is_carried(self.tiling, owner)

    def _box(self, value: SSAValue) -> Box | None:
        """The tile of a value, if it is there for one iteration alone."""
        tiling, owner = self.tiling, value.owner
        if (value, 0) in tiling.windows:
            return None
        if isinstance(owner, Operation) and owner in tiling.tiles:
            return tiling.tiles[owner].result
        boxes = tiling.reads.get((value, Scope.OUTER), ())
        if len(boxes) != 1 or (value, Scope.INNER) in tiling.reads:
            return None
        last = list(tiling.loops.values())[-1:]
        return boxes[0] if not last or moves_with(boxes[0], last) else None

    def _share(self, value: SSAValue, place: SSAValue) -> None:
        self.shares[value] = self.place(place)


def _replaced(op: Operation) -> Sequence[SSAValue]:
    """The operands that the result of an operation may take the place of."""
    match op:
        case ElementwiseInterface() | tile.MaskOp():
            return op.operands
        case AccumulatingInterface():
            return () if op.init_value is None else (op.init_value,)
        case _:
            return ()
