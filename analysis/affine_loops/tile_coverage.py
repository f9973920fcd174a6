"""
Analysis of the tiles that nests write: elements of tensors that are written or missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, SSAValue

from tlf.analysis.affine_loops.access_boxes import BoxAccess
from tlf.analysis.affine_loops.carried_accesses import (
    CarriedAccesses,
    carried_accesses_of,
)
from tlf.analysis.affine_loops.integer_solver import UndecidedError
from tlf.analysis.affine_loops.write_conflicts import WriteConflict, find_write_conflict
from tlf.analysis.affine_loops.write_counts import (
    UncountedError,
    WriteCounts,
    count_write_outside_loops,
    count_writes,
    count_written_elements,
    find_unwritten_element,
)
from tlf.dialects import tile
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.types import tensor_type

INCOMPLETE = "it derives from an incomplete tensor"


@dataclass(frozen=True)
class Destination:
    """Tensor that a nest writes tiles into, with write counts and conflicts."""

    nest: tile.WhileOp
    result_index: int
    sources: tuple[SSAValue, ...] = ()
    """Tiles that are stored."""
    write_counts: tuple[WriteCounts, ...] = ()
    conflict: WriteConflict | None = None
    unknown_reason: str | None = None
    """Reason why the coverage is unknown."""

    @property
    def result(self) -> SSAValue:
        """Tensor after the last tile."""
        return self.nest.results[self.result_index]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return tensor_type(self.result).get_shape()

    @property
    def is_new(self) -> bool:
        """True if the tensor is empty before the first tile."""
        return isinstance(self.nest.inits[self.result_index].owner, tile.EmptyOp)

    @property
    def tile_count(self) -> int:
        """Number of stored tiles."""
        return sum(each.tile_count for each in self.write_counts)


@dataclass
class TileCoverage:
    """
    Tensors that the nests of a function store tiles into, with the known write counts
    of their elements.
    """

    destinations: list[Destination] = field(default_factory=list[Destination])
    by_result: dict[SSAValue, Destination] = field(
        default_factory=dict[SSAValue, Destination]
    )
    """Destinations by the tensor after the last tile."""

    @staticmethod
    def of(function: Operation) -> TileCoverage:
        """
        Return the coverage of the destinations of a function, outer ones first. Tiles
        that inner nests store into a carried tensor of an outer nest count for the
        outer one.
        """
        coverage, inner = TileCoverage(), set[SSAValue]()
        for op in function.walk():
            if not isinstance(op, tile.WhileOp):
                continue
            for index, init in enumerate(op.inits):
                chain = None if init in inner else carried_accesses_of(op, index)
                if chain is None or not (chain.write_accesses or op.is_parallel):
                    continue
                inner.update(chain.values)
                destination = analyze_writes_to_destination(op, index, chain)
                coverage.destinations.append(destination)
                coverage.by_result[destination.result] = destination
        return coverage

    def find_uncovered_element(self, value: SSAValue) -> tuple[int, ...] | None:
        """
        Return an element of a tensor that no tile covers; None if there is none. Raises
        `UncountedError`.
        """
        counts: list[WriteCounts] = []
        shape = tensor_type(value).get_shape()
        while (previous := self._tensor_before_writes(value, counts)) is not None:
            if find_unwritten_element(counts, shape) is None:
                return None
            value = previous
        if isinstance(value.owner, tile.EmptyOp):
            return find_unwritten_element(counts, shape)
        self._check_source_is_complete(value)
        return None

    @staticmethod
    def tensor_after_all_stores(value: SSAValue) -> SSAValue:
        """
        Return the tensor at the end of a chain of `tile.deslice`, each the only user of
        the previous tensor; `value` itself if there is none.
        """
        users = {use.operation for use in value.uses}
        user = users.pop() if len(users) == 1 else None
        if not isinstance(user, tile.DesliceOp) or user.destination is not value:
            return value
        return TileCoverage.tensor_after_all_stores(user.result)

    def count_stored_tiles(self, value: SSAValue) -> int:
        """Return the number of tiles stored into a tensor and its sources."""
        if (destination := self.by_result.get(value)) is not None:
            return destination.tile_count
        match value.owner:
            case ViewInterface() as op:
                return self.count_stored_tiles(op.operands[0])
            case tile.DesliceOp() as op:
                return self.count_stored_tiles(op.source) + self.count_stored_tiles(
                    op.destination
                )
            case _:
                return 0

    def _tensor_before_writes(
        self, value: SSAValue, counts: list[WriteCounts]
    ) -> SSAValue | None:
        """
        Return a tensor before a store or a nest, and add its write counts to `counts`;
        None if the writes are unknown. Raises `UncountedError`.
        """
        if (destination := self.by_result.get(value)) is not None:
            if destination.unknown_reason is not None:
                raise UncountedError(destination.unknown_reason)
            counts.extend(destination.write_counts)
            return destination.nest.inits[destination.result_index]
        if not isinstance(deslice := value.owner, tile.DesliceOp):
            return None
        if (write_counts := count_write_outside_loops(deslice)) is None:
            return None
        if self.find_uncovered_element(deslice.source) is not None:
            raise UncountedError(INCOMPLETE)
        counts.append(write_counts)
        return deslice.destination

    def _check_source_is_complete(self, value: SSAValue) -> None:
        """
        Check that a tensor is computed as a whole, or derived from a complete one.
        Raises `UncountedError`.
        """
        match value.owner:
            case tile.SliceOp(source=source):
                pass
            case tile.DesliceOp() as op:
                source = op.destination
            case ViewInterface() as op:
                source = op.operands[0]
            case tile.WhileOp() as op:
                index = list[SSAValue](op.results).index(value)
                source = op.yield_op.arguments[index]
                if op.is_parallel or isinstance(source, BlockArgument):
                    raise UncountedError("it is not written tile by tile")
            case _:
                return
        if self.find_uncovered_element(source) is not None:
            raise UncountedError(INCOMPLETE)


def analyze_writes_to_destination(
    nest: tile.WhileOp, carried_index: int, chain: CarriedAccesses
) -> Destination:
    """
    Count the writes of a nest to a tensor, and find a conflict if an element is written
    twice.
    """
    shape = tensor_type(nest.results[carried_index]).get_shape()
    writes: Sequence[BoxAccess] = chain.write_accesses
    try:
        counts = tuple(count_writes(each, nest) for each in writes)
        is_once = sum(each.total_writes for each in counts) == count_written_elements(
            counts, shape
        )
        conflict = None if is_once else find_write_conflict(writes, nest)
        if not is_once and conflict is None:
            raise UndecidedError
    except UncountedError as reason:
        return Destination(nest, carried_index, unknown_reason=str(reason))
    except UndecidedError:
        return Destination(
            nest, carried_index, unknown_reason="its offsets are undecided"
        )
    operations = (each.op for each in writes)
    sources = tuple(op.source for op in operations if isinstance(op, tile.DesliceOp))
    return Destination(nest, carried_index, sources, counts, conflict)
