"""
Fusion rule for prologues: operands computed tile by tile in a contraction's loops.

An operand that the group computes is not written and not read again, but computed anew
for every tile of the axes that it does not run along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, isqrt, prod

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.producer_slices import producer_slice_of
from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.analysis.work.roofline import vector_rate
from tlf.analysis.work.vector_step_costs import lane_steps
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    IteratorType,
    MovementInterface,
)
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.tile import level_of
from tlf.dialects.types import dtype_of, tensor_type

MOVED = "an operand of a contraction is moved or reduced, not computed by element"
SHARED = "others use what is computed for an operand of a contraction"
COSTLY = "to compute an operand of a contraction for every tile of it does not pay"

TILES = 3
"""A contraction works on a tile of each operand and of the result."""

PASSING = 3
"""The steps that hand an element on to the matrix engine: put down, wait, pick up."""


@dataclass
class PrologueRule:
    """Judges what groups compute of the operands of contractions, for a level."""

    level: Level
    target: TargetSpec
    home: Level | None = None
    """The level of values that name none; the outermost one unless given."""
    rate: float = field(init=False)
    """Steps of a lane per cycle."""
    steps: dict[Operation, int] = field(
        init=False, default_factory=dict[Operation, int]
    )

    def __post_init__(self) -> None:
        self.rate = vector_rate(self.target)

    def objection(self, operations: Sequence[Operation]) -> str | None:
        """
        Return why a group must not compute its contractions' operands; `None` if it
        may.
        """
        inside = set(operations)
        for op in operations:
            if not isinstance(op, ContractionInterface):
                continue
            for position, operand in enumerate(op.operands):
                if operand.owner not in inside:
                    continue
                reason = self._operand_objection(op, position, inside)
                if reason is not None:
                    return reason
        return None

    def _operand_objection(
        self, op: ContractionInterface, position: int, inside: set[Operation]
    ) -> str | None:
        value = op.operands[position]
        computing = producer_slice_of(value, inside)
        if value not in op.inputs or not all(
            isinstance(each, ElementwiseInterface) or self._is_gathered(each, inside)
            for each in computing
        ):
            return MOVED
        computes = any(isinstance(each, ElementwiseInterface) for each in computing)
        if not _users_of(computing) <= ({op, *computing} if computes else inside):
            return SHARED
        pays = not computes or self._is_profitable(op, position, computing)
        return None if pays else COSTLY

    def _is_gathered(self, op: Operation, inside: set[Operation]) -> bool:
        """
        Return `True` if a movement of values from outside is done by the load of its
        operand.
        """
        if not isinstance(op, MovementInterface) or self.level.kind != "value":
            return False
        return all(operand.owner not in inside for operand in op.operands)

    def _is_profitable(
        self, op: ContractionInterface, position: int, computing: set[Operation]
    ) -> bool:
        """
        Return `True` if the traffic saved takes longer than the recomputation.

        Apart, the operand is written, and read instead of the inputs for every tile of
        the other axes, the first time from where it was written; the vector engine
        works while this is under way. Together, the matrix engine waits for it.
        """
        value = op.operands[position]
        times = self.read_count(op, position)
        stored = size_in_bytes([value])
        more = stored - size_in_bytes(_inputs_of(computing))
        near, far = self._bandwidths_of(value)
        saved = 2 * stored / far + (times - 1) * more / near
        steps = sum(self._lane_steps_of(each) for each in computing)
        passed_on = PASSING * tensor_type(value).element_count()
        return saved >= times * (steps + passed_on) / self.rate

    def _lane_steps_of(self, op: Operation) -> int:
        """The steps of one lane that an operation takes."""
        if op not in self.steps:
            self.steps[op] = lane_steps(op, self.target)
        return self.steps[op]

    def _bandwidths_of(self, value: SSAValue) -> tuple[int, int]:
        """
        The bytes per cycle of the memory next to the level, which may be a cache, and
        of that which a value would be written to.
        """
        levels = list(self.target.levels.values())
        near = levels[levels.index(self.level) + 1]
        far = self.target.levels.get(level_of(value.type) or "")
        far = far or self.home or self.target.outermost
        return near.bandwidth, far.bandwidth

    def read_count(self, op: ContractionInterface, position: int) -> int:
        """
        Return about how many times a contraction reads every element of an operand.
        """
        accesses = op.indexing_maps()[position] or ()
        iterators = op.iteration_domain()
        kinds = [iterator.kind for iterator in iterators]
        axes = [{iterator for iterator, _ in access.terms} for access in accesses]
        used = set[int]().union(*axes)
        others = prod(
            iterator.extent
            for axis, iterator in enumerate(iterators)
            if iterator.kind is IteratorType.PARALLEL and axis not in used
        )
        # Along an axis that moves with results and within a sum, windows overlap,
        # unless they all are in one tile.
        sliding = sum(len({kinds[each] for each in axis}) > 1 for axis in axes)
        share = self.level.capacity // TILES
        windows = 1 if size_in_bytes([op.operands[position]]) <= share else 2**sliding
        return ceil(others / self._reuse_extent(op, position)) * windows

    def _reuse_extent(self, op: ContractionInterface, position: int) -> int:
        """The extent of a tile along the axes that an operand does not run along."""
        element = tensor_type(op.operands[0]).element_type
        preferred = self.target.tiling.preferred_tile(str(element))
        if preferred is not None:
            rows, columns, _ = preferred
            return columns if position == 0 else rows
        itemsize = dtype_of(element).itemsize
        return max(1, isqrt(self.level.capacity // TILES // itemsize))


def _users_of(operations: set[Operation]) -> set[Operation]:
    return {
        use.operation
        for op in operations
        for result in op.results
        for use in result.uses
    }


def _inputs_of(operations: set[Operation]) -> list[SSAValue]:
    """Return the operands that operations read from memory."""
    return [
        operand
        for op in operations
        for operand in op.operands
        if operand.owner not in operations and not _is_splat(operand.owner)
    ]


def _is_splat(owner: Operation | Block) -> bool:
    return isinstance(owner, ConstantInterface) and owner.splat_value() is not None
