"""
Legality of the fusion of two nests, and the treatment of the tensors that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.affine_loops.between import between
from tlf.analysis.affine_loops.boxes import Access, read
from tlf.analysis.affine_loops.chains import Chain, chain_of
from tlf.analysis.affine_loops.dependence import Pair
from tlf.analysis.affine_loops.forwarding import Forward, at_counters, forward_of
from tlf.analysis.affine_loops.integers import UndecidedError
from tlf.analysis.affine_loops.storage import origin, used_by
from tlf.analysis.affine_loops.trips import SharedLoop, shared_loops
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.support.affine.access import Linear

KINDS = "the nests differ in kind, mapping, order, stages or attributes"
LOOPS = "the nests run differently often"
WHOLE = "the second nest needs a result of the first as a whole"
REST = "what the second nest overwrites is needed elsewhere"
OTHER = "the first nest reads what the second overwrites, in another shape"
TWICE = "both nests write into one tensor, each from what it held before"
BEFORE = "the second nest reads what the first overwrites, as it was before"
TILE = "the second nest reads what no tile of the same iteration of the first holds"
VIEW = "the second nest reads part of a tile that the target keeps as a value"
OWN = "the first nest reads of what the second overwrites another box than it writes"
HARD = "a dependence is too hard to decide"


class ObjectionError(Exception):
    """Raised with the reason why nests cannot be fused."""


@dataclass
class Fusion:
    """Two nests of one block, the first before the second."""

    first: tile.WhileOp
    second: tile.WhileOp
    views: bool
    """True if subviews of tiles may be taken."""
    loops: Sequence[SharedLoop] = ()
    merged: dict[int, int] = field(default_factory=dict[int, int])
    """
    Carried values of the second nest that start from results of the first: the index of
    the result by that of the carried value.
    """
    forwards: list[Forward] = field(default_factory=list[Forward])
    rereads: list[tuple[Operation, int]] = field(
        default_factory=list[tuple[Operation, int]]
    )
    """Reads of the first that are to see what the second carries, by its number."""

    def __post_init__(self) -> None:
        self.pair = Pair(self.first, self.second)

    def objection(self) -> str | None:
        """Return why the nests cannot be fused, or None if they can."""
        try:
            self._check_loops()
            for number in range(len(self.second.inits)):
                self._check_destination(number)
            for number in range(len(self.first.results)):
                if number not in self.merged.values():
                    self._check_result(number)
        except ObjectionError as reason:
            return str(reason)
        except UndecidedError:
            return HARD
        return None

    def _check_loops(self) -> None:
        first, second = self.first, self.second
        if (reason := between(first, second)) is not None:
            raise ObjectionError(reason)
        names = ("kind", "mapping", "order", "stages")
        if first.attributes != second.attributes or any(
            getattr(first, name) != getattr(second, name) for name in names
        ):
            raise ObjectionError(KINDS)
        if len(first.steps) != len(second.steps):
            raise ObjectionError(LOOPS)
        if (shared := shared_loops(first, second)) is None:
            raise ObjectionError(LOOPS)
        self.loops = shared

    # What the second nest carries

    def _check_destination(self, number: int) -> None:
        init, chain = self.second.inits[number], chain_of(self.second, number)
        if init.owner is self.first:
            self._check_merged(number, chain)
            return
        if self.first.parallel:
            place = origin(init)
            if any(origin(each) is place for each in self.first.inits):
                raise ObjectionError(TWICE)
        if chain is not None:
            self._check_overwritten(init, number, chain)

    def _check_merged(self, number: int, chain: Chain | None) -> None:
        """A tensor that the first nest writes, and the second writes on."""
        init = self.second.inits[number]
        position = list[SSAValue](self.first.results).index(init)
        before = chain_of(self.first, position)
        if chain is None or before is None:
            raise ObjectionError(WHOLE)
        reads = self._reads(init, self.second)
        if len(reads) + 1 != init.uses.get_length():
            raise ObjectionError(REST)
        self._order(before.accesses, [*chain.accesses, *reads])
        if self.first.parallel:
            start, writes = self.first.inits[position], before.writes
            self._check_overwritten(start, number, chain, writes)
        for each in reads:
            for write in chain.writes:
                self._demand(Pair(self.second, self.second), each, write)
        self.merged[number] = position
        self._forward(reads, position)

    def _check_overwritten(
        self,
        init: SSAValue,
        number: int,
        chain: Chain,
        writes: Sequence[Access] = (),
    ) -> None:
        """
        Check the reads by the first nest of a tensor that the second, and maybe the
        first itself, writes to. Raises `ObjectionError`.
        """
        place = origin(init)
        others = used_by(self.first) - {init, *self.first.inits}
        if self.first.parallel and any(origin(each) is place for each in others):
            raise ObjectionError(OTHER)
        if not (reads := self._reads(init, self.first)):
            return
        self._order(reads, chain.accesses)
        if self.first.parallel:
            own = (*writes, *chain.writes)
            if not all(self._is_own(each, own) for each in reads):
                raise ObjectionError(OWN)
            return
        self.rereads += [(each.op, number) for each in reads]

    def _is_own(self, access: Access, writes: Sequence[Access]) -> bool:
        """
        Return `True` if a slice reads exactly the tile that its own iteration writes.
        """
        cut, first = access.op, self.first
        if not isinstance(cut, tile.SliceOp) or cut.parent is not first.body.block:
            return False
        extents = tensor_type(cut.result).get_shape()
        starts = [at_counters(each, first) for each in access.starts]
        for each in writes:
            put, nest = each.op, each.op.parent_op()
            if not isinstance(put, tile.DesliceOp) or not isinstance(
                nest, tile.WhileOp
            ):
                continue
            there = [at_counters(start, nest) for start in each.starts]
            if extents == tensor_type(put.source).get_shape() and all(
                one - other == Linear()
                for one, other in zip(starts, there, strict=True)
            ):
                return True
        return False

    # What the first nest results in

    def _check_result(self, number: int) -> None:
        result, init = self.first.results[number], self.first.inits[number]
        if self.first.parallel:
            place = origin(init)
            used = used_by(self.second) - {*self.first.results}
            if any(origin(each) is place for each in used):
                raise ObjectionError(BEFORE)
        if not (reads := self._reads(result, self.second)):
            return
        if (chain := chain_of(self.first, number)) is None:
            raise ObjectionError(WHOLE)
        self._order(chain.accesses, reads)
        self._forward(reads, number)

    def _forward(self, reads: Sequence[Access], number: int) -> None:
        """Find the tiles that slices of a result read."""
        end = self.first.yielded.arguments[number]
        for each in reads:
            cut = each.op
            found = None
            if isinstance(cut, tile.SliceOp):
                found = forward_of(cut, end, self.pair)
            if found is not None and (found.is_whole or self.views):
                self.forwards.append(found)
            elif self.first.parallel:
                raise ObjectionError(TILE if found is None else VIEW)

    # Dependences

    def _reads(self, value: SSAValue, nest: tile.WhileOp) -> list[Access]:
        """
        Return the accesses by which the body of a nest reads a value from outside, one
        per slice. Raises `ObjectionError` if a read has no known access.
        """
        found: list[Access] = []
        for use in value.uses:
            if use.operation is nest or not nest.is_ancestor(use.operation):
                continue
            if (access := read(use.operation, value)) is None:
                raise ObjectionError(WHOLE)
            found.append(access)
        return found

    def _order(self, ones: Sequence[Access], others: Sequence[Access]) -> None:
        for one in ones:
            for other in others:
                if one.writes or other.writes:
                    self._demand(self.pair, one, other)

    @staticmethod
    def _demand(pair: Pair, one: Access, other: Access) -> None:
        if (distance := pair.preventing(one, other)) is not None:
            text = ", ".join(str(each) for each in distance)
            raise ObjectionError(f"{_kind(one, other)} at a distance of ({text})")


def _kind(one: Access, other: Access) -> str:
    """The name of a dependence."""
    if one.writes and other.writes:
        return "both nests write an element (WAW)"
    if one.writes:
        return "the second nest reads what the first writes (RAW)"
    return "the second nest writes what the first reads (WAR)"
