"""
Coverage of tensors by the tiles that nests write: elements written, and elements left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, SSAValue

from tlf.analysis.affine_loops.boxes import Access
from tlf.analysis.affine_loops.chains import Chain, chain_of
from tlf.analysis.affine_loops.collisions import Collision, collision
from tlf.analysis.affine_loops.counting import (
    Counts,
    UncountedError,
    count,
    missing,
    placed,
    union_size,
)
from tlf.analysis.affine_loops.integers import UndecidedError
from tlf.dialects import tile
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.types import tensor_type

INCOMPLETE = "it is made of a tensor that is not complete"


@dataclass(frozen=True)
class Destination:
    """A tensor that a nest puts tiles into, and what is known of it."""

    nest: tile.WhileOp
    number: int
    sources: tuple[SSAValue, ...] = ()
    """The tiles."""
    counts: tuple[Counts, ...] = ()
    collision: Collision | None = None
    unknown: str | None = None
    """Reason why nothing can be concluded."""

    @property
    def result(self) -> SSAValue:
        """The tensor after the last tile."""
        return self.nest.results[self.number]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor."""
        return tensor_type(self.result).get_shape()

    @property
    def is_new(self) -> bool:
        """True if the tensor is empty before the first tile."""
        return isinstance(self.nest.inits[self.number].owner, tile.EmptyOp)

    @property
    def tiles(self) -> int:
        """Number of tiles that are put in."""
        return sum(each.tiles for each in self.counts)


@dataclass
class Stitching:
    """The destinations of a function."""

    found: list[Destination] = field(default_factory=list[Destination])
    known: dict[SSAValue, Destination] = field(
        default_factory=dict[SSAValue, Destination]
    )
    """Destinations, by their tensors after the last tile."""

    @staticmethod
    def of(function: Operation) -> Stitching:
        """
        The destinations of a function, outer ones first. What nests inside put into a
        tensor that they are handed counts for the outer one.
        """
        stitching, inner = Stitching(), set[SSAValue]()
        for op in function.walk():
            if not isinstance(op, tile.WhileOp):
                continue
            for number, init in enumerate(op.inits):
                chain = None if init in inner else chain_of(op, number)
                if chain is None or not (chain.writes or op.parallel):
                    continue
                inner.update(chain.values)
                made = examine(op, number, chain)
                stitching.found.append(made)
                stitching.known[made.result] = made
        return stitching

    def missing(self, value: SSAValue) -> tuple[int, ...] | None:
        """
        An element of a tensor that no tile is put at, or None where there is none.
        Raises `UncountedError`.
        """
        counts: list[Counts] = []
        shape = tensor_type(value).get_shape()
        while (before := self._before(value, counts)) is not None:
            if missing(counts, shape) is None:
                return None
            value = before
        if isinstance(value.owner, tile.EmptyOp):
            return missing(counts, shape)
        self._check_whole(value)
        return None

    @staticmethod
    def finished(value: SSAValue) -> SSAValue:
        """A tensor once all tiles behind a nest are put into it, too."""
        users = {use.operation for use in value.uses}
        put = users.pop() if len(users) == 1 else None
        if not isinstance(put, tile.DesliceOp) or put.destination is not value:
            return value
        return Stitching.finished(put.result)

    def tiles(self, value: SSAValue) -> int:
        """Return the number of tiles that a tensor is made of."""
        if (destination := self.known.get(value)) is not None:
            return destination.tiles
        match value.owner:
            case ViewInterface() as op:
                return self.tiles(op.operands[0])
            case tile.DesliceOp() as op:
                return self.tiles(op.source) + self.tiles(op.destination)
            case _:
                return 0

    def _before(self, value: SSAValue, counts: list[Counts]) -> SSAValue | None:
        """
        A tensor before tiles were put into it, which are counted; None if nothing is
        known of them. Raises `UncountedError`.
        """
        if (destination := self.known.get(value)) is not None:
            if destination.unknown is not None:
                raise UncountedError(destination.unknown)
            counts.extend(destination.counts)
            return destination.nest.inits[destination.number]
        if not isinstance(put := value.owner, tile.DesliceOp):
            return None
        if (found := placed(put)) is None:
            return None
        if self.missing(put.source) is not None:
            raise UncountedError(INCOMPLETE)
        counts.append(found)
        return put.destination

    def _check_whole(self, value: SSAValue) -> None:
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
                source = op.yielded.arguments[number]
                if op.parallel or isinstance(source, BlockArgument):
                    raise UncountedError("it is not written tile by tile")
            case _:
                return
        if self.missing(source) is not None:
            raise UncountedError(INCOMPLETE)


def examine(nest: tile.WhileOp, number: int, chain: Chain) -> Destination:
    """Count what a nest writes of a tensor, and look for what it writes twice."""
    shape = tensor_type(nest.results[number]).get_shape()
    writes: Sequence[Access] = chain.writes
    try:
        counts = tuple(count(each, nest) for each in writes)
        is_once = sum(each.writes for each in counts) == union_size(counts, shape)
        found = None if is_once else collision(writes, nest)
        if not is_once and found is None:
            raise UndecidedError
    except UncountedError as reason:
        return Destination(nest, number, unknown=str(reason))
    except UndecidedError:
        return Destination(nest, number, unknown="its offsets are too hard to decide")
    puts = (each.op for each in writes)
    sources = tuple(op.source for op in puts if isinstance(op, tile.DesliceOp))
    return Destination(nest, number, sources, counts, found)
