"""
Planning of fusion: rule for prologues, on operands computed tile by tile in a
contraction's loops.

An operand that the group computes is neither stored nor loaded, but recomputed for
every tile along the axes that do not index it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, isqrt, prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.producer_slices import producer_slice_of
from tlf.analysis.work.flops_and_bytes import (
    LANE_TYPES,
    multiplication_type_of,
    size_in_bytes,
)
from tlf.analysis.work.roofline import vector_operations_per_cycle
from tlf.analysis.work.vector_step_costs import lane_steps
from tlf.dialects.graph.packed_images import LOAD_BYTES
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    IteratorType,
    MovementInterface,
    splat_attribute_of,
)
from tlf.dialects.product_precision import FACTOR_SPLITS
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.tile import level_of
from tlf.dialects.types import dtype_of, itemsize_of, tensor_type
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.support.affine.index_access import IndexAccess

MOVED = "an operand of a contraction is moved or reduced, not computed elementwise"
SHARED = "the producers of a contraction's operand have other users"
TRANSPOSED = "threads read a factor faster whose rows run along another axis in memory"
UNALIGNED = (
    "threads read a factor faster whose rows are padded to whole loads in memory"
)
COSTLY = "recomputing an operand of a contraction for every tile is not profitable"

TILES = 3
"""Number of tiles of a contraction: one of each operand and of the result."""


@dataclass
class PrologueRule:
    """Fusion rule for the producers of operands of contractions, for a level."""

    level: Level
    target: TargetSpec
    default_level: Level | None = None
    """Level of values whose type names none; the outermost level by default."""
    lane_rate: float = field(init=False)
    """Lane steps per cycle."""
    lane_steps_by_op: dict[Operation, int] = field(
        init=False, default_factory=dict[Operation, int]
    )

    def __post_init__(self) -> None:
        self.lane_rate = vector_operations_per_cycle(self.target)

    def prologue_objection(self, operations: Sequence[Operation]) -> str | None:
        """
        Return the reason why a group must not compute its contractions' operands, or
        None if it may.
        """
        inside = set(operations)
        for op in operations:
            if not isinstance(op, ContractionInterface):
                continue
            for position, operand in enumerate(op.operands):
                if operand.owner not in inside:
                    continue
                reason = self._operand_producer_objection(op, position, inside)
                if reason is not None:
                    return reason
        return None

    def _operand_producer_objection(
        self,
        op: ContractionInterface,
        operand_index: int,
        group_operations: set[Operation],
    ) -> str | None:
        """
        Return the reason why a contraction's group must not compute an operand: it is
        moved, shared or costly. None if it may.
        """
        value = op.operands[operand_index]
        computing = producer_slice_of(value, group_operations)
        if value not in op.inputs or not all(
            isinstance(each, ElementwiseInterface)
            or self._is_moved_from_outside(each, group_operations)
            for each in computing
        ):
            return MOVED
        for producer in computing:
            if (reason := self._slow_read_objection(op, value, producer)) is not None:
                return reason
        computes = any(isinstance(each, ElementwiseInterface) for each in computing)
        if not _users_of_results(computing) <= (
            {op, *computing} if computes else group_operations
        ):
            return SHARED
        pays = not computes or self._is_recompute_profitable(
            op, operand_index, computing
        )
        return None if pays else COSTLY

    def moves_factors_of_slow_reads(self, operations: Sequence[Operation]) -> bool:
        """
        Return `True` if operations contain a product and a move of one of its factors,
        which threads would read faster if the move was stored.
        """
        return any(
            self._slow_read_objection(op, value, producer) is not None
            for op in operations
            if isinstance(op, ContractionInterface)
            for value in op.inputs
            if isinstance(producer := value.owner, Operation) and producer in operations
        )

    def _slow_read_objection(
        self, op: ContractionInterface, value: SSAValue, producer: Operation
    ) -> str | None:
        """
        Return the reason why threads read a factor faster if its producer stores it, or
        `None` if they do not.
        """
        if _reads_along_other_axis(op, value, producer):
            return TRANSPOSED
        is_unaligned = self.target.computes_in_registers and _reads_unaligned_rows(
            value, producer
        )
        return UNALIGNED if is_unaligned else None

    def _is_moved_from_outside(
        self, op: Operation, group_operations: set[Operation]
    ) -> bool:
        """
        Return `True` if an operation moves values from outside of the group, which the
        load of its operand can do.
        """
        if not isinstance(op, MovementInterface) or self.level.kind != "value":
            return False
        return all(operand.owner not in group_operations for operand in op.operands)

    def _is_recompute_profitable(
        self, op: ContractionInterface, operand_index: int, producers: set[Operation]
    ) -> bool:
        """
        Return `True` if the traffic saved takes longer than the recomputation.

        In separate groups, the operand is stored, and loaded instead of the inputs for
        every tile of the other axes, the first time from the level it is stored to; the
        vector engine works in parallel. In one group, the matrix engine waits for the
        vector engine.
        """
        value = op.operands[operand_index]
        reads = self.operand_read_count(op, operand_index)
        stored = size_in_bytes([value])
        extra = stored - size_in_bytes(_operands_from_memory(producers))
        inner_bandwidth, outer_bandwidth = self._load_and_store_bandwidths_of(value)
        saved = 2 * stored / outer_bandwidth + (reads - 1) * extra / inner_bandwidth
        steps = sum(self._lane_steps_of(each) for each in producers)
        passing_steps = CONTROL_CODE.element_steps * tensor_type(value).element_count()
        return saved >= reads * (steps + passing_steps) / self.lane_rate

    def _lane_steps_of(self, op: Operation) -> int:
        """Return the steps of one lane that an operation takes."""
        if op not in self.lane_steps_by_op:
            self.lane_steps_by_op[op] = lane_steps(op, self.target)
        return self.lane_steps_by_op[op]

    def _load_and_store_bandwidths_of(self, value: SSAValue) -> tuple[int, int]:
        """
        Return the bytes per cycle of the memory next to the level, which may be a
        cache, and of the level that a value would be stored to.
        """
        levels = list(self.target.levels.values())
        inner = levels[levels.index(self.level) + 1]
        outer = self.target.levels.get(level_of(value.type) or "")
        outer = outer or self.default_level or self.target.outermost_level
        return inner.bandwidth, outer.bandwidth

    def operand_read_count(self, op: ContractionInterface, operand_index: int) -> int:
        """
        Return an estimate of the number of times a contraction reads every element of
        an operand.
        """
        accesses = op.indexing_maps()[operand_index] or ()
        iterators = op.iteration_domain()
        kinds = [iterator.kind for iterator in iterators]
        axes = [{iterator for iterator, _ in access.terms} for access in accesses]
        used = set[int]().union(*axes)
        iterations = prod(
            iterator.extent
            for axis, iterator in enumerate(iterators)
            if iterator.kind is IteratorType.PARALLEL and axis not in used
        )
        # Along an axis indexed by parallel and reduction iterators, windows overlap,
        # unless one tile contains all of them.
        sliding = sum(len({kinds[each] for each in axis}) > 1 for axis in axes)
        share = self.level.capacity // TILES
        windows = (
            1 if size_in_bytes([op.operands[operand_index]]) <= share else 2**sliding
        )
        return (
            ceil(iterations / self._operand_reuse_extent(op, operand_index)) * windows
        )

    def _operand_reuse_extent(
        self, op: ContractionInterface, operand_index: int
    ) -> int:
        """Return the extent of a tile along the axes that do not index an operand."""
        element = tensor_type(op.operands[0]).element_type
        preferred = self.target.tiling.preferred_tile(str(element))
        if preferred is not None:
            rows, columns, _ = preferred
            return columns if operand_index == 0 else rows
        itemsize = dtype_of(element).itemsize
        return max(1, isqrt(self.level.capacity // TILES // itemsize))


def _reads_along_other_axis(
    op: ContractionInterface, value: SSAValue, producer: Operation
) -> bool:
    """
    Return `True` if the producer of a factor moves a tensor so that the rows of the
    factor run along another axis. Lanes that multiply read rows along the result;
    threads that split factors read rows along the reduction.
    """
    kind = multiplication_type_of(op)
    if not isinstance(producer, MovementInterface) or producer is not value.owner:
        return False
    if kind not in LANE_TYPES and kind not in FACTOR_SPLITS:
        return False
    factor = op.indexing_maps()[list(op.operands).index(value)]
    source = producer.indexing_maps()[0]
    if not factor or not source or not source[-1].terms:
        return False
    kinds = [iterator.kind for iterator in op.iteration_domain()]
    reduced = {IteratorType.REDUCTION}
    rows = [{kinds[each] for each, _ in access.terms} == reduced for access in factor]
    is_moved = all(rows[axis] != rows[-1] for axis, _ in source[-1].terms)
    return is_moved and rows[-1] == (kind in FACTOR_SPLITS)


def _reads_unaligned_rows(value: SSAValue, producer: Operation) -> bool:
    """
    Return `True` if the producer of a factor pads rows that are no multiple of a load
    of a thread to rows that are.
    """
    if not isinstance(producer, MovementInterface) or producer is not value.owner:
        return False
    last = tensor_type(value).get_num_dims() - 1
    source = producer.indexing_maps()[0]
    if not source or source[-1] != IndexAccess.of_iterator(last):
        return False
    before, after = (
        tensor_type(each).get_shape()[-1] * itemsize_of(each) % LOAD_BYTES
        for each in (producer.operands[0], value)
    )
    return before != 0 and after == 0


def _users_of_results(operations: set[Operation]) -> set[Operation]:
    """
    Return the operations, inside or outside of the set, that use results of
    `operations`.
    """
    return {
        use.operation
        for op in operations
        for result in op.results
        for use in result.uses
    }


def _operands_from_memory(operations: set[Operation]) -> list[SSAValue]:
    """Return the operands from outside of `operations` except splats, with repeats."""
    return [
        operand
        for op in operations
        for operand in op.operands
        if operand.owner not in operations and splat_attribute_of(operand) is None
    ]
