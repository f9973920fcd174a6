"""Coverage of tensors by the tiles that nests write: elements written and left out."""

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
    count_single_write,
    count_writes,
    find_missing,
    union_size,
)
from tlf.dialects import tile
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.types import tensor_type

INCOMPLETE = "it is made of a tensor that is not complete"


@dataclass(frozen=True)
class Destination:
    """A tensor that a nest writes tiles into, with write counts and conflicts."""

    nest: tile.WhileOp
    result_index: int
    sources: tuple[SSAValue, ...] = ()
    """The tiles."""
    write_counts: tuple[WriteCounts, ...] = ()
    conflict: WriteConflict | None = None
    unknown: str | None = None
    """Reason why nothing can be concluded."""

    @property
    def result(self) -> SSAValue:
        """The tensor after the last tile."""
        return self.nest.results[self.result_index]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor."""
        return tensor_type(self.result).get_shape()

    @property
    def is_new(self) -> bool:
        """True if the tensor is empty before the first tile."""
        return isinstance(self.nest.inits[self.result_index].owner, tile.EmptyOp)

    @property
    def tile_count(self) -> int:
        """Number of tiles that are put in."""
        return sum(each.tiles for each in self.write_counts)


@dataclass
class TileCoverage:
    """Coverage of the destination tensors of a function."""

    destinations: list[Destination] = field(default_factory=list[Destination])
    by_result: dict[SSAValue, Destination] = field(
        default_factory=dict[SSAValue, Destination]
    )
    """Destinations, by their tensors after the last tile."""

    @staticmethod
    def of(function: Operation) -> TileCoverage:
        """
        The destinations of a function, outer ones first. What nests inside put into a
        tensor that they are handed counts for the outer one.
        """
        stitching, inner = TileCoverage(), set[SSAValue]()
        for op in function.walk():
            if not isinstance(op, tile.WhileOp):
                continue
            for number, init in enumerate(op.inits):
                chain = None if init in inner else carried_accesses_of(op, number)
                if chain is None or not (chain.write_accesses or op.is_parallel):
                    continue
                inner.update(chain.values)
                made = analyze_destination(op, number, chain)
                stitching.destinations.append(made)
                stitching.by_result[made.result] = made
        return stitching

    def find_missing(self, value: SSAValue) -> tuple[int, ...] | None:
        """
        An element of a tensor that no tile is put at, or None where there is none.
        Raises `UncountedError`.
        """
        counts: list[WriteCounts] = []
        shape = tensor_type(value).get_shape()
        while (before := self._value_before(value, counts)) is not None:
            if find_missing(counts, shape) is None:
                return None
            value = before
        if isinstance(value.owner, tile.EmptyOp):
            return find_missing(counts, shape)
        self._check_complete(value)
        return None

    @staticmethod
    def final_value_of(value: SSAValue) -> SSAValue:
        """A tensor once all tiles behind a nest are put into it, too."""
        users = {use.operation for use in value.uses}
        put = users.pop() if len(users) == 1 else None
        if not isinstance(put, tile.DesliceOp) or put.destination is not value:
            return value
        return TileCoverage.final_value_of(put.result)

    def count_tiles(self, value: SSAValue) -> int:
        """Return the number of tiles that a tensor is made of."""
        if (destination := self.by_result.get(value)) is not None:
            return destination.tile_count
        match value.owner:
            case ViewInterface() as op:
                return self.count_tiles(op.operands[0])
            case tile.DesliceOp() as op:
                return self.count_tiles(op.source) + self.count_tiles(op.destination)
            case _:
                return 0

    def _value_before(
        self, value: SSAValue, counts: list[WriteCounts]
    ) -> SSAValue | None:
        """
        A tensor before tiles were put into it, which are counted; None if nothing is
        known of them. Raises `UncountedError`.
        """
        if (destination := self.by_result.get(value)) is not None:
            if destination.unknown is not None:
                raise UncountedError(destination.unknown)
            counts.extend(destination.write_counts)
            return destination.nest.inits[destination.result_index]
        if not isinstance(put := value.owner, tile.DesliceOp):
            return None
        if (found := count_single_write(put)) is None:
            return None
        if self.find_missing(put.source) is not None:
            raise UncountedError(INCOMPLETE)
        counts.append(found)
        return put.destination

    def _check_complete(self, value: SSAValue) -> None:
        """
        Check that a tensor is computed as a whole, or derived from one that is. Raises
        `UncountedError`.
        """
        match value.owner:
            case tile.SliceOp(source=source):
                pass
            case tile.DesliceOp() as op:
                source = op.destination
            case ViewInterface() as op:
                source = op.operands[0]
            case tile.WhileOp() as op:
                number = list[SSAValue](op.results).index(value)
                source = op.yield_op.arguments[number]
                if op.is_parallel or isinstance(source, BlockArgument):
                    raise UncountedError("it is not written tile by tile")
            case _:
                return
        if self.find_missing(source) is not None:
            raise UncountedError(INCOMPLETE)


def analyze_destination(
    nest: tile.WhileOp, number: int, chain: CarriedAccesses
) -> Destination:
    """Count what a nest writes of a tensor, and look for what it writes twice."""
    shape = tensor_type(nest.results[number]).get_shape()
    writes: Sequence[BoxAccess] = chain.write_accesses
    try:
        counts = tuple(count_writes(each, nest) for each in writes)
        is_once = sum(each.total_writes for each in counts) == union_size(counts, shape)
        found = None if is_once else find_write_conflict(writes, nest)
        if not is_once and found is None:
            raise UndecidedError
    except UncountedError as reason:
        return Destination(nest, number, unknown=str(reason))
    except UndecidedError:
        return Destination(nest, number, unknown="its offsets are too hard to decide")
    puts = (each.op for each in writes)
    sources = tuple(op.source for op in puts if isinstance(op, tile.DesliceOp))
    return Destination(nest, number, sources, counts, found)
