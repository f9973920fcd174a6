"""Legality of the fusion of two nests, and the treatment of the tensors they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.affine_loops.access_boxes import BoxAccess, read_access_of
from tlf.analysis.affine_loops.carried_accesses import (
    CarriedAccesses,
    carried_accesses_of,
)
from tlf.analysis.affine_loops.dependence_distance import NestPair
from tlf.analysis.affine_loops.integer_solver import UndecidedError
from tlf.analysis.affine_loops.loop_matching import FusedLoop, match_loops
from tlf.analysis.affine_loops.motion_legality import find_motion_barrier
from tlf.analysis.affine_loops.storage_roots import storage_root_of, values_used_by
from tlf.analysis.affine_loops.tile_forwarding import (
    ForwardedSlice,
    find_forward,
    normalize_to_counters,
)
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import AffineSum

DIFFERENT_KINDS = "the nests differ in kind, mapping, order, stages or attributes"
DIFFERENT_TRIP_COUNTS = "the nests run differently often"
NEEDS_WHOLE_RESULT = "the second nest needs a result of the first as a whole"
NEEDED_ELSEWHERE = "what the second nest overwrites is needed elsewhere"
READ_IN_OTHER_SHAPE = (
    "the first nest reads what the second overwrites, in another shape"
)
BOTH_WRITE = "both nests write into one tensor, each from what it held before"
READ_AS_BEFORE = "the second nest reads what the first overwrites, as it was before"
NO_COMMON_TILE = (
    "the second nest reads what no tile of the same iteration of the first holds"
)
NEEDS_SUBVIEW = "the second nest reads part of a tile that the target keeps as a value"
READS_OTHER_BOX = (
    "the first nest reads of what the second overwrites another box than it writes"
)
UNDECIDED = "a dependence is too hard to decide"


class ObjectionError(Exception):
    """Raised with the reason why nests cannot be fused."""


@dataclass
class NestFusion:
    """Fusion of two nests of one block, the first before the second."""

    first: tile.WhileOp
    second: tile.WhileOp
    has_views: bool
    """True if subviews of tiles may be taken."""
    loops: Sequence[FusedLoop] = ()
    merged: dict[int, int] = field(default_factory=dict[int, int])
    """
    Carried values of the second nest that start from results of the first: the index of
    the result by that of the carried value.
    """
    forwards: list[ForwardedSlice] = field(default_factory=list[ForwardedSlice])
    rereads: list[tuple[Operation, int]] = field(
        default_factory=list[tuple[Operation, int]]
    )
    """Reads of the first that are to see what the second carries, by its number."""

    def __post_init__(self) -> None:
        self.pair = NestPair(self.first, self.second)

    def find_objection(self) -> str | None:
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
            return UNDECIDED
        return None

    def _check_loops(self) -> None:
        first, second = self.first, self.second
        if (reason := find_motion_barrier(first, second)) is not None:
            raise ObjectionError(reason)
        names = ("kind", "mapping", "order", "stages")
        if first.attributes != second.attributes or any(
            getattr(first, name) != getattr(second, name) for name in names
        ):
            raise ObjectionError(DIFFERENT_KINDS)
        if len(first.steps) != len(second.steps):
            raise ObjectionError(DIFFERENT_TRIP_COUNTS)
        if (shared := match_loops(first, second)) is None:
            raise ObjectionError(DIFFERENT_TRIP_COUNTS)
        self.loops = shared

    # What the second nest carries

    def _check_destination(self, number: int) -> None:
        init, chain = (
            self.second.inits[number],
            carried_accesses_of(self.second, number),
        )
        if init.owner is self.first:
            self._check_merged(number, chain)
            return
        if self.first.is_parallel:
            place = storage_root_of(init)
            if any(storage_root_of(each) is place for each in self.first.inits):
                raise ObjectionError(BOTH_WRITE)
        if chain is not None:
            self._check_overwritten(init, number, chain)

    def _check_merged(self, number: int, chain: CarriedAccesses | None) -> None:
        """A tensor that the first nest writes, and the second writes on."""
        init = self.second.inits[number]
        position = list[SSAValue](self.first.results).index(init)
        before = carried_accesses_of(self.first, position)
        if chain is None or before is None:
            raise ObjectionError(NEEDS_WHOLE_RESULT)
        reads = self._collect_reads(init, self.second)
        if len(reads) + 1 != init.uses.get_length():
            raise ObjectionError(NEEDED_ELSEWHERE)
        self._check_dependences(before.accesses, [*chain.accesses, *reads])
        if self.first.is_parallel:
            start, writes = self.first.inits[position], before.write_accesses
            self._check_overwritten(start, number, chain, writes)
        for each in reads:
            for write in chain.write_accesses:
                self._check_dependence(NestPair(self.second, self.second), each, write)
        self.merged[number] = position
        self._collect_forwards(reads, position)

    def _check_overwritten(
        self,
        init: SSAValue,
        number: int,
        chain: CarriedAccesses,
        writes: Sequence[BoxAccess] = (),
    ) -> None:
        """
        Check the reads by the first nest of a tensor that the second, and maybe the
        first itself, writes to. Raises `ObjectionError`.
        """
        place = storage_root_of(init)
        others = values_used_by(self.first) - {init, *self.first.inits}
        if self.first.is_parallel and any(
            storage_root_of(each) is place for each in others
        ):
            raise ObjectionError(READ_IN_OTHER_SHAPE)
        if not (reads := self._collect_reads(init, self.first)):
            return
        self._check_dependences(reads, chain.accesses)
        if self.first.is_parallel:
            own = (*writes, *chain.write_accesses)
            if not all(self._is_own_tile_read(each, own) for each in reads):
                raise ObjectionError(READS_OTHER_BOX)
            return
        self.rereads += [(each.op, number) for each in reads]

    def _is_own_tile_read(self, access: BoxAccess, writes: Sequence[BoxAccess]) -> bool:
        """
        Return `True` if a slice reads exactly the tile that its own iteration writes.
        """
        cut, first = access.op, self.first
        if not isinstance(cut, tile.SliceOp) or cut.parent is not first.body.block:
            return False
        extents = tensor_type(cut.result).get_shape()
        starts = [normalize_to_counters(each, first) for each in access.starts]
        for each in writes:
            put, nest = each.op, each.op.parent_op()
            if not isinstance(put, tile.DesliceOp) or not isinstance(
                nest, tile.WhileOp
            ):
                continue
            there = [normalize_to_counters(start, nest) for start in each.starts]
            if extents == tensor_type(put.source).get_shape() and all(
                one - other == AffineSum()
                for one, other in zip(starts, there, strict=True)
            ):
                return True
        return False

    # What the first nest results in

    def _check_result(self, number: int) -> None:
        result, init = self.first.results[number], self.first.inits[number]
        if self.first.is_parallel:
            place = storage_root_of(init)
            used = values_used_by(self.second) - {*self.first.results}
            if any(storage_root_of(each) is place for each in used):
                raise ObjectionError(READ_AS_BEFORE)
        if not (reads := self._collect_reads(result, self.second)):
            return
        if (chain := carried_accesses_of(self.first, number)) is None:
            raise ObjectionError(NEEDS_WHOLE_RESULT)
        self._check_dependences(chain.accesses, reads)
        self._collect_forwards(reads, number)

    def _collect_forwards(self, reads: Sequence[BoxAccess], number: int) -> None:
        """Find the tiles that slices of a result read."""
        end = self.first.yield_op.arguments[number]
        for each in reads:
            cut = each.op
            found = None
            if isinstance(cut, tile.SliceOp):
                found = find_forward(cut, end, self.pair)
            if found is not None and (found.is_whole or self.has_views):
                self.forwards.append(found)
            elif self.first.is_parallel:
                raise ObjectionError(NO_COMMON_TILE if found is None else NEEDS_SUBVIEW)

    # Dependences

    def _collect_reads(self, value: SSAValue, nest: tile.WhileOp) -> list[BoxAccess]:
        """
        Return the accesses by which the body of a nest reads a value from outside, one
        per slice. Raises `ObjectionError` if a read has no known access.
        """
        found: list[BoxAccess] = []
        for use in value.uses:
            if use.operation is nest or not nest.is_ancestor(use.operation):
                continue
            if (access := read_access_of(use.operation, value)) is None:
                raise ObjectionError(NEEDS_WHOLE_RESULT)
            found.append(access)
        return found

    def _check_dependences(
        self, ones: Sequence[BoxAccess], others: Sequence[BoxAccess]
    ) -> None:
        for one in ones:
            for other in others:
                if one.is_write or other.is_write:
                    self._check_dependence(self.pair, one, other)

    @staticmethod
    def _check_dependence(pair: NestPair, one: BoxAccess, other: BoxAccess) -> None:
        if (distance := pair.find_preventing_distance(one, other)) is not None:
            text = ", ".join(str(each) for each in distance)
            raise ObjectionError(
                f"{_describe_dependence(one, other)} at a distance of ({text})"
            )


def _describe_dependence(one: BoxAccess, other: BoxAccess) -> str:
    """The name of a dependence."""
    if one.is_write and other.is_write:
        return "both nests write an element (WAW)"
    if one.is_write:
        return "the second nest reads what the first writes (RAW)"
    return "the second nest writes what the first reads (WAR)"
