"""
What may be computed of the operands of a contraction, tile by tile, in its own loops.

An operand that the group computes is not written and not read again, but computed anew
for every tile of the axes that it does not run along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, isqrt, prod

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    IteratorKind,
    MovementInterface,
)
from tlf.dialects.target import Level, Target
from tlf.dialects.tile import level_of
from tlf.dialects.types import dtype_of, tensor_type
from tlf.passes.analysis.roofline import vector_rate
from tlf.passes.analysis.work import size_in_bytes, work_of

MOVED = "an operand of a contraction is moved or reduced, not computed by element"
SHARED = "others use what is computed for an operand of a contraction"
COSTLY = "to compute an operand of a contraction for every tile of it does not pay"

TILES = 3
"""A contraction works on a tile of each operand and of the result."""


@dataclass
class Prologues:
    """Judges what groups compute of the operands of contractions, for a level."""

    level: Level
    target: Target
    rate: float = field(init=False)
    """Scalar operations per cycle."""
    vector: dict[Operation, int] = field(
        init=False, default_factory=dict[Operation, int]
    )
    """The scalar operations of operations."""

    def __post_init__(self) -> None:
        self.rate = vector_rate(self.target)

    def objection(self, operations: Sequence[Operation]) -> str | None:
        """Why a group must not compute what it computes of contractions' operands."""
        inside = set(operations)
        for op in operations:
            if not isinstance(op, ContractionInterface):
                continue
            for position, operand in enumerate(op.operands):
                if operand.owner not in inside:
                    continue
                reason = self._objection(op, position, inside)
                if reason is not None:
                    return reason
        return None

    def _objection(
        self, op: ContractionInterface, position: int, inside: set[Operation]
    ) -> str | None:
        value = op.operands[position]
        computing = _computing(value, inside)
        if value not in op.inputs or not all(
            isinstance(each, ElementwiseInterface) or self._is_gathered(each, inside)
            for each in computing
        ):
            return MOVED
        computes = any(isinstance(each, ElementwiseInterface) for each in computing)
        if not _users(computing) <= ({op, *computing} if computes else inside):
            return SHARED
        pays = not computes or self._pays(op, position, computing)
        return None if pays else COSTLY

    def _is_gathered(self, op: Operation, inside: set[Operation]) -> bool:
        """Whether the move of its operand does a movement of a value of outside."""
        if not isinstance(op, MovementInterface) or self.level.kind != "value":
            return False
        return all(operand.owner not in inside for operand in op.operands)

    def _pays(
        self, op: ContractionInterface, position: int, computing: set[Operation]
    ) -> bool:
        """
        Whether the bytes that are not moved take longer than what is computed again.

        Apart, the inputs are read once, the operand is written once, and read once for
        every tile of the other axes; together, the inputs are read as often, and the
        operand is computed as often.
        """
        value = op.operands[position]
        times = self.times(op, position)
        read, stored = size_in_bytes(_inputs(computing)), size_in_bytes([value])
        saved = stored * (1 + times) - read * (times - 1)
        again = (times - 1) * sum(self._operations(each) for each in computing)
        return saved / self._bandwidth(value) >= again / self.rate

    def _operations(self, op: Operation) -> int:
        if op not in self.vector:
            self.vector[op] = work_of(op).vector
        return self.vector[op]

    def _bandwidth(self, value: SSAValue) -> int:
        """The bytes per cycle of the memory that a value would be written to."""
        level = self.target.levels.get(level_of(value.type) or "")
        return (level or self.target.outermost).bandwidth

    def times(self, op: ContractionInterface, position: int) -> int:
        """How often a contraction reads every element of an operand, about."""
        accesses = op.operand_accesses()[position] or ()
        iterators = op.iterators()
        kinds = [iterator.kind for iterator in iterators]
        axes = [{iterator for iterator, _ in access.terms} for access in accesses]
        used = set[int]().union(*axes)
        others = prod(
            iterator.extent
            for axis, iterator in enumerate(iterators)
            if iterator.kind is IteratorKind.PARALLEL and axis not in used
        )
        # Windows overlap along an axis that moves with results and within a sum.
        windows = prod(
            iterators[each].extent
            for axis in axes
            if len({kinds[each] for each in axis}) > 1
            for each in axis
            if kinds[each] is IteratorKind.REDUCTION
        )
        return ceil(others / self._side(op, position)) * windows

    def _side(self, op: ContractionInterface, position: int) -> int:
        """The extent of a tile along the axes that an operand does not run along."""
        element = tensor_type(op.operands[0]).element_type
        preferred = self.target.tiling.matrix_tile.get(str(element))
        if preferred is not None:
            rows, columns, _ = preferred
            return columns if position == 0 else rows
        itemsize = dtype_of(element).itemsize
        return max(1, isqrt(self.level.capacity // TILES // itemsize))


def _computing(value: SSAValue, inside: set[Operation]) -> set[Operation]:
    """The operations of a group that compute a value."""
    found, pending = set[Operation](), [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner in inside and owner not in found:
            found.add(owner)
            pending.extend(owner.operands)
    return found


def _users(operations: set[Operation]) -> set[Operation]:
    return {
        use.operation
        for op in operations
        for result in op.results
        for use in result.uses
    }


def _inputs(operations: set[Operation]) -> list[SSAValue]:
    """What operations read from memory."""
    return [
        operand
        for op in operations
        for operand in op.operands
        if operand.owner not in operations and not _is_splat(operand.owner)
    ]


def _is_splat(owner: Operation | Block) -> bool:
    return isinstance(owner, ConstantInterface) and owner.splat() is not None
