"""Analysis of the legality of fusing two nests, and of their shared tensors."""

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
from tlf.analysis.affine_loops.loop_matching import FusedLoop, match_loops_of_nests
from tlf.analysis.affine_loops.motion_legality import find_motion_barrier
from tlf.analysis.affine_loops.storage_roots import (
    outside_values_used_by,
    storage_root_of,
)
from tlf.analysis.affine_loops.tile_forwarding import (
    ForwardedSlice,
    express_in_nest_counters,
    find_tile_containing_slice,
)
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import AffineSum

DIFFERENT_KINDS = "the nests differ in kind, mapping, order, stages or attributes"
DIFFERENT_TRIP_COUNTS = "the nests have different trip counts"
NEEDS_WHOLE_RESULT = "the second nest needs a result of the first as a whole"
NEEDED_ELSEWHERE = "the tensor that the second nest overwrites has other uses"
READ_IN_OTHER_SHAPE = (
    "the first nest reads a tensor that the second overwrites, in another shape"
)
BOTH_WRITE = "both nests write to one tensor, starting from the same value"
READ_AS_BEFORE = (
    "the second nest reads the original value of a tensor that the first overwrites"
)
NO_COMMON_TILE = (
    "the second nest reads elements that no tile of the same iteration of the first "
    "contains"
)
NEEDS_SUBVIEW = (
    "the second nest reads a subview of a tile that is a value, not a buffer"
)
READS_OTHER_BOX = (
    "the first nest reads a box other than its own tile of a tensor that the second "
    "overwrites"
)
UNDECIDED = "a dependence is undecided"


class FusionObjectionError(Exception):
    """Error: nests cannot be fused. The message is the reason."""


@dataclass
class NestFusion:
    """Fusion of two nests of one block, the first before the second."""

    first: tile.WhileOp
    second: tile.WhileOp
    has_views: bool
    """True if tiles may be accessed through subviews."""
    loops: Sequence[FusedLoop] = ()
    merged_result_indices: dict[int, int] = field(default_factory=dict[int, int])
    """
    Index of the result of the first nest, by the index of the carried value of the
    second nest that is initialized with this result.
    """
    forwarded_slices: list[ForwardedSlice] = field(default_factory=list[ForwardedSlice])
    redirected_reads: list[tuple[Operation, int]] = field(
        default_factory=list[tuple[Operation, int]]
    )
    """
    Reads of the first nest that must read the carried value of the second nest, by its
    index.
    """

    def __post_init__(self) -> None:
        self.pair = NestPair(self.first, self.second)

    def find_fusion_objection(self) -> str | None:
        """Return the reason why the nests cannot be fused; None if they can."""
        try:
            self._check_loops_match()
            for index in range(len(self.second.inits)):
                self._check_carried_tensor(index)
            for index in range(len(self.first.results)):
                if index not in self.merged_result_indices.values():
                    self._check_reads_of_result(index)
        except FusionObjectionError as reason:
            return str(reason)
        except UndecidedError:
            return UNDECIDED
        return None

    def _check_loops_match(self) -> None:
        """
        Set `loops` to the matched loops of the nests. Raises `FusionObjectionError` if
        loops or attributes differ, or there is a motion barrier.
        """
        first, second = self.first, self.second
        if (reason := find_motion_barrier(first, second)) is not None:
            raise FusionObjectionError(reason)
        names = ("kind", "mapping", "order", "stages", "warps")
        if first.attributes != second.attributes or any(
            getattr(first, name) != getattr(second, name) for name in names
        ):
            raise FusionObjectionError(DIFFERENT_KINDS)
        if len(first.steps) != len(second.steps):
            raise FusionObjectionError(DIFFERENT_TRIP_COUNTS)
        if (loops := match_loops_of_nests(first, second)) is None:
            raise FusionObjectionError(DIFFERENT_TRIP_COUNTS)
        self.loops = loops

    # Carried values of the second nest

    def _check_carried_tensor(self, carried_index: int) -> None:
        """
        Check all accesses of both nests to a tensor that the second nest carries.
        Raises `FusionObjectionError`.
        """
        init, chain = (
            self.second.inits[carried_index],
            carried_accesses_of(self.second, carried_index),
        )
        if init.owner is self.first:
            self._check_tensor_of_both_nests(carried_index, chain)
            return
        if self.first.is_parallel:
            storage = storage_root_of(init)
            if any(storage_root_of(each) is storage for each in self.first.inits):
                raise FusionObjectionError(BOTH_WRITE)
        if chain is not None:
            self._check_reads_before_overwrite(init, carried_index, chain)

    def _check_tensor_of_both_nests(
        self, carried_index: int, chain: CarriedAccesses | None
    ) -> None:
        """
        Check a tensor that both nests write, the second after the first. Raises
        `FusionObjectionError`.
        """
        init = self.second.inits[carried_index]
        position = list[SSAValue](self.first.results).index(init)
        before = carried_accesses_of(self.first, position)
        if chain is None or before is None:
            raise FusionObjectionError(NEEDS_WHOLE_RESULT)
        reads = self._collect_reads_in_nest(init, self.second)
        if len(reads) + 1 != init.uses.get_length():
            raise FusionObjectionError(NEEDED_ELSEWHERE)
        self._check_dependences_allow_fusion(before.accesses, [*chain.accesses, *reads])
        if self.first.is_parallel:
            start, writes = self.first.inits[position], before.write_accesses
            self._check_reads_before_overwrite(start, carried_index, chain, writes)
        for each in reads:
            for write in chain.write_accesses:
                self._check_dependence_allows_fusion(
                    NestPair(self.second, self.second), each, write
                )
        self.merged_result_indices[carried_index] = position
        self._collect_forwarded_slices(reads, position)

    def _check_reads_before_overwrite(
        self,
        init: SSAValue,
        carried_index: int,
        chain: CarriedAccesses,
        writes: Sequence[BoxAccess] = (),
    ) -> None:
        """
        Check reads by the first nest of a tensor that the second nest, and possibly
        also the first, writes. Raises `FusionObjectionError`.
        """
        storage = storage_root_of(init)
        used_values = outside_values_used_by(self.first) - {init, *self.first.inits}
        if self.first.is_parallel and any(
            storage_root_of(each) is storage for each in used_values
        ):
            raise FusionObjectionError(READ_IN_OTHER_SHAPE)
        if not (reads := self._collect_reads_in_nest(init, self.first)):
            return
        self._check_dependences_allow_fusion(reads, chain.accesses)
        if self.first.is_parallel:
            own = (*writes, *chain.write_accesses)
            if not all(self._is_own_tile_read(each, own) for each in reads):
                raise FusionObjectionError(READS_OTHER_BOX)
            return
        self.redirected_reads += [(each.op, carried_index) for each in reads]

    def _is_own_tile_read(self, access: BoxAccess, writes: Sequence[BoxAccess]) -> bool:
        """
        Return `True` if a slice reads exactly the tile that its own iteration writes.
        """
        slice_op, first = access.op, self.first
        if (
            not isinstance(slice_op, tile.SliceOp)
            or slice_op.parent is not first.body.block
        ):
            return False
        extents = tensor_type(slice_op.result).get_shape()
        starts = [express_in_nest_counters(each, first) for each in access.starts]
        for each in writes:
            deslice, nest = each.op, each.op.parent_op()
            if not isinstance(deslice, tile.DesliceOp) or not isinstance(
                nest, tile.WhileOp
            ):
                continue
            write_starts = [
                express_in_nest_counters(start, nest) for start in each.starts
            ]
            if extents == tensor_type(deslice.source).get_shape() and all(
                one - other == AffineSum()
                for one, other in zip(starts, write_starts, strict=True)
            ):
                return True
        return False

    # Results of the first nest

    def _check_reads_of_result(self, result_index: int) -> None:
        """
        Check the second nest's reads of a result of the first, and collect slices to
        forward. Raises `FusionObjectionError`.
        """
        result, init = self.first.results[result_index], self.first.inits[result_index]
        if self.first.is_parallel:
            storage = storage_root_of(init)
            used = outside_values_used_by(self.second) - {*self.first.results}
            if any(storage_root_of(each) is storage for each in used):
                raise FusionObjectionError(READ_AS_BEFORE)
        if not (reads := self._collect_reads_in_nest(result, self.second)):
            return
        if (chain := carried_accesses_of(self.first, result_index)) is None:
            raise FusionObjectionError(NEEDS_WHOLE_RESULT)
        self._check_dependences_allow_fusion(chain.accesses, reads)
        self._collect_forwarded_slices(reads, result_index)

    def _collect_forwarded_slices(
        self, reads: Sequence[BoxAccess], result_index: int
    ) -> None:
        """
        Collect the tiles that slices of a result can read directly. Raises
        `FusionObjectionError` if a slice of parallel nests cannot be forwarded.
        """
        end = self.first.yield_op.arguments[result_index]
        for each in reads:
            slice_op = each.op
            forward = None
            if isinstance(slice_op, tile.SliceOp):
                forward = find_tile_containing_slice(slice_op, end, self.pair)
            if forward is not None and (forward.is_whole_tile or self.has_views):
                self.forwarded_slices.append(forward)
            elif self.first.is_parallel:
                raise FusionObjectionError(
                    NO_COMMON_TILE if forward is None else NEEDS_SUBVIEW
                )

    # Dependences

    def _collect_reads_in_nest(
        self, value: SSAValue, nest: tile.WhileOp
    ) -> list[BoxAccess]:
        """
        Return the accesses by which the body of a nest reads a value from outside, one
        per slice. Raises `FusionObjectionError` if a read has no known access.
        """
        accesses: list[BoxAccess] = []
        for use in value.uses:
            if use.operation is nest or not nest.is_ancestor(use.operation):
                continue
            if (access := read_access_of(use.operation, value)) is None:
                raise FusionObjectionError(NEEDS_WHOLE_RESULT)
            accesses.append(access)
        return accesses

    def _check_dependences_allow_fusion(
        self, first_accesses: Sequence[BoxAccess], second_accesses: Sequence[BoxAccess]
    ) -> None:
        """
        Raise `FusionObjectionError` if any dependence, of accesses of which one writes,
        prevents the fusion of the nests.
        """
        for one in first_accesses:
            for other in second_accesses:
                if one.is_write or other.is_write:
                    self._check_dependence_allows_fusion(self.pair, one, other)

    @staticmethod
    def _check_dependence_allows_fusion(
        pair: NestPair, first_access: BoxAccess, second_access: BoxAccess
    ) -> None:
        """
        Raise `FusionObjectionError`, with kind and distance, if the dependence of two
        accesses prevents the fusion of `pair`.
        """
        if (
            distance := pair.find_fusion_preventing_distance(
                first_access, second_access
            )
        ) is not None:
            text = ", ".join(str(each) for each in distance)
            raise FusionObjectionError(
                f"{_describe_dependence(first_access, second_access)} at a distance "
                f"of ({text})"
            )


def _describe_dependence(first_access: BoxAccess, second_access: BoxAccess) -> str:
    """Return a message that names the dependence of two nests as WAW, RAW or WAR."""
    if first_access.is_write and second_access.is_write:
        return "both nests write an element (WAW)"
    if first_access.is_write:
        return "the second nest reads what the first writes (RAW)"
    return "the second nest writes what the first reads (WAR)"
