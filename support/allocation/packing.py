"""Packing of buffers, without IR: minimize the peak, or fit them into a capacity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd

from tlf.support.allocation.buffer_model import Allocation, Buffer
from tlf.support.allocation.first_fit import ORDERS, allocate_first_fit, peak_of
from tlf.support.allocation.offset_check import find_offset_faults
from tlf.support.allocation.peak_bounds import peak_bound_of_blocks
from tlf.support.allocation.rigid_blocks import RigidBlock, group_into_rigid_blocks
from tlf.support.allocation.search_restarts import VISITS, SearchRestarts, VisitBudget
from tlf.support.allocation.time_sections import block_shapes_of


def pack_within_capacity(
    buffers: Sequence[Buffer], capacity: int, max_visits: int = VISITS
) -> Allocation | None:
    """
    Return an allocation within `capacity` bytes, or None if none was found.

    The result is deterministic: the budget counts work, not time.
    """
    if peak_lower_bound(buffers) > capacity:
        return None
    placement = pack_to_lowest_peak(
        buffers, VisitBudget(max_visits), sufficient_peak=capacity
    )
    return placement if placement.peak <= capacity else None


def pack_side_by_side(buffers: Sequence[Buffer]) -> Allocation:
    """
    Return an allocation with each block at its given offset, else behind all previous
    ones, regardless of lifetimes.
    """
    blocks = group_into_rigid_blocks(buffers)
    offsets: list[int] = []
    peak = 0
    for block in blocks:
        offsets.append(block.align_up(peak) if block.offset is None else block.offset)
        peak = max(peak, offsets[-1] + block.extent)
    return _build_allocation(buffers, blocks, offsets, 0, "side by side")


def pack_to_lowest_peak(
    buffers: Sequence[Buffer], budget: VisitBudget, sufficient_peak: int | None = None
) -> Allocation:
    """
    Return the allocation with the lowest peak in bytes that heuristics and a search
    found.

    First fit in several orders is followed by a search, which stops at a peak of
    `sufficient_peak` bytes, at the lower bound, or when the budget is spent.

    Raises `Fault` if the constraints of the buffers contradict each other.
    """
    blocks = group_into_rigid_blocks(buffers)
    grain = _common_divisor_of_offsets(blocks)
    bound = peak_bound_of_blocks(blocks, grain)
    target = bound if sufficient_peak is None else max(sufficient_peak, bound)
    best: Allocation | None = None
    for offsets, method in _first_fit_packings(blocks):
        if best is None or peak_of(blocks, offsets) < best.peak:
            best = _build_allocation(buffers, blocks, offsets, bound, method)
        if best.peak <= target:
            break
    assert best is not None, "first fit always finds a placement"
    if any(block.offset is not None for block in blocks):
        if fault := next(find_offset_faults(buffers, best.offsets), None):
            raise fault
        is_given = all(block.offset is not None for block in blocks)
        return replace(best, method="given") if is_given else best
    if best.peak <= target or (sufficient_peak is not None and sufficient_peak < bound):
        return best
    shapes, sections = block_shapes_of(blocks, grain)
    restarts = SearchRestarts(shapes, sections, grain, budget)
    return _PeakDescent(buffers, blocks, restarts, best).reduce_peak(sufficient_peak)


def peak_lower_bound(buffers: Sequence[Buffer]) -> int:
    """Return a lower bound on the peak of every placement, in bytes."""
    blocks = group_into_rigid_blocks(buffers)
    return peak_bound_of_blocks(blocks, _common_divisor_of_offsets(blocks))


def _common_divisor_of_offsets(blocks: Sequence[RigidBlock]) -> int:
    """Return a common divisor of the offsets of all blocks in every placement."""
    if any(block.residue for block in blocks):
        return gcd(
            *(each for block in blocks for each in (block.modulus, block.residue))
        )
    return gcd(*(block.modulus for block in blocks)) or 1


def _first_fit_packings(
    blocks: Sequence[RigidBlock],
) -> Iterator[tuple[list[int], str]]:
    """
    Yield the block offsets of first fit in several orders, each with a method name.
    """
    indices = range(len(blocks))
    hints = {index: block.hint for index, block in enumerate(blocks)}
    if any(hint is not None for hint in hints.values()):
        order = sorted(
            indices, key=lambda each: (hints[each] is None, hints[each] or 0)
        )
        yield allocate_first_fit(blocks, order), "hints"
    for key in ORDERS:
        yield (
            allocate_first_fit(
                blocks, sorted(indices, key=lambda n: (*key(blocks[n]), n))
            ),
            ("first fit"),
        )


def _build_allocation(
    buffers: Sequence[Buffer],
    blocks: Sequence[RigidBlock],
    offsets: Sequence[int],
    bound: int,
    method: str,
) -> Allocation:
    """
    Return an allocation with the offset of each buffer, from the offsets of blocks.
    """
    member_offsets = [0] * len(buffers)
    for block, offset in zip(blocks, offsets, strict=True):
        for index, distance in block.members:
            member_offsets[index] = offset + distance
    return Allocation(tuple(member_offsets), peak_of(blocks, offsets), bound, method)


class _PeakDescent:
    """Reduction of the peak of a placement by searches within decreasing capacities."""

    def __init__(
        self,
        buffers: Sequence[Buffer],
        blocks: Sequence[RigidBlock],
        restarts: SearchRestarts,
        best: Allocation,
    ) -> None:
        self.buffers = buffers
        self.blocks = blocks
        self.restarts = restarts
        self.best = best
        self.low = best.bound
        """Lower bound on the peaks that the search can find."""

    @property
    def peak_bound(self) -> int:
        """Lower bound on the peak of every placement, in bytes."""
        return self.low if self.restarts.proves else self.best.bound

    def reduce_peak(self, sufficient_peak: int | None) -> Allocation:
        """
        Search until the peak is at most `sufficient_peak` or optimal, or the budget is
        spent.
        """
        attempts = 8
        while not self.restarts.budget.is_spent():
            low = (
                self.low if sufficient_peak is None else max(sufficient_peak, self.low)
            )
            while low < self.best.peak and not self.restarts.budget.is_spent():
                middle = (
                    low
                    if sufficient_peak is not None
                    else (low + self.best.peak - 1) // 2
                )
                if not self._search_within_capacity(middle, attempts):
                    low = max(self.low, middle + 1)
                if sufficient_peak is not None:
                    break
            if self.best.peak <= max(self.low, sufficient_peak or 0):
                break
            if sufficient_peak is not None and sufficient_peak < self.low:
                break
            attempts *= 2
        best = self.best
        return Allocation(best.offsets, best.peak, self.peak_bound, best.method)

    def _search_within_capacity(self, capacity: int, attempts: int) -> bool:
        """
        Search a placement within `capacity` bytes; set `best` and return `True` if one
        is found. An exhausted search raises the bound `low`.
        """
        found = self.restarts.find_offsets_within(capacity, attempts)
        if found is False:
            self.low = max(self.low, capacity + 1)
        if isinstance(found, bool):
            return False
        offsets = [
            found.get(index, block.residue) for index, block in enumerate(self.blocks)
        ]
        self.best = _build_allocation(
            self.buffers, self.blocks, offsets, self.peak_bound, "search"
        )
        return True
