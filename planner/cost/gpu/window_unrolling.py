"""
Unroll-and-jam of the loops that windows slide along: what the tiles that a program then
computes at once share.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TiledOperation,
    TileLoop,
    iterators_of_kind,
)
from tlf.dialects.interfaces import (
    ElementwiseInterface,
    IndexedReadInterface,
    IteratorType,
    MovementInterface,
    ReductionInterface,
    TilingInterface,
)
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.planner.settings.search_budgets import KERNEL_SEARCH
from tlf.support.affine.delinearized_access import DelinearizedAccess


@dataclass(frozen=True)
class WindowUnrolling:
    """A loop whose tiles alternate in a program, and what they share of their work."""

    loop: TileLoop
    axis: int
    """Axis of the plan that the loop is over."""
    rank: int
    """Number of axes of the plan."""
    factor: int
    """Number of tiles that a program computes at once."""
    window_share: float
    """Distinct elements of overlapping windows, divided by those of all windows."""

    @property
    def unroll_factors(self) -> tuple[int, ...]:
        """Number of tiles that a program computes at once, by axis of the plan."""
        factors = [1] * self.rank
        factors[self.axis] = self.factor
        return tuple(factors)

    def share_of(self, symbols: AbstractSet[Hashable], *, is_window: bool) -> float:
        """
        Return the part of the work on a tile that remains, given the symbols that its
        offset depends on: tiles that do not move along the loop are the same for all.
        """
        if self.loop not in symbols:
            return 1 / self.factor
        return self.window_share if is_window else 1.0

    def share_of_operation(self, tiled: TiledOperation, tiling: GroupTiling) -> float:
        """
        Return the part of the executions of an operation that remains if the tiles of a
        program share its results.
        """
        gathered = tiling.gathered_operations
        is_window = all(
            isinstance(operand.owner, Operation) and operand.owner in gathered
            for operand in tiled.op.operands
        )
        symbols = {symbol for each in tiled.box for symbol, _ in each.offset.terms}
        return self.share_of(symbols, is_window=is_window)


def window_unrollings_of(tiling: GroupTiling) -> Sequence[WindowUnrolling]:
    """
    Return the ways to unroll a loop of a group without products along which the windows
    of a reduction overlap, by ascending factor.
    """
    if not tiling.gathered_operations or tiling.cascade is not None:
        return ()
    trips = prod(loop.trips for loop in tiling.inner_loops.values())
    if trips > TRITON_CALIBRATION.max_unrolled_iterations:
        return ()
    most = min(
        KERNEL_SEARCH.max_unroll_factor, KERNEL_SEARCH.max_jammed_iterations // trips
    )
    if tiling.nested_loops or not all(map(_may_alternate, tiling.tiles.values())):
        return ()
    (root, *_) = tiling.results
    assert isinstance(root.owner, TilingInterface)
    parallel = iterators_of_kind(root.owner, IteratorType.PARALLEL)
    return [
        WindowUnrolling(loop, parallel.index(iterator), len(parallel), factor, share)
        for op in tiling.gathered_operations
        for iterator, loop, offsets in _window_loops_of(tiling, op)
        for factor in range(2, most + 1)
        if offsets.extent % factor == 0
        and (share := offsets.distinct_share(factor)) < 1
    ]


def _may_alternate(tiled: TiledOperation) -> bool:
    """Return `True` if the elements of an operation's tile need not be contiguous."""
    kinds = ElementwiseInterface | ReductionInterface | MovementInterface
    is_regular = isinstance(tiled.op, kinds)
    return is_regular and not isinstance(tiled.op, IndexedReadInterface)


@dataclass(frozen=True)
class _WindowOffsets:
    """Offsets that neighbouring windows read along an axis of the source."""

    extent: int
    """Number of windows along the axis."""
    step: int
    """Distance of neighbouring windows."""
    taps: frozenset[int]
    """Offsets of the elements of a window."""

    def distinct_share(self, count: int) -> float:
        """Return the distinct offsets of neighbouring windows, divided by all."""
        distinct = {n * self.step + tap for n in range(count) for tap in self.taps}
        return len(distinct) / (count * len(self.taps))


def _window_loops_of(
    tiling: GroupTiling, op: Operation
) -> Iterator[tuple[int, TileLoop, _WindowOffsets]]:
    """Yield the loops along which the windows that an operation gathers slide."""
    tiled = tiling.tiles[op]
    if (access := tiled.facts.delinearized_access) is None:
        return
    for iterator, loop in tiling.loops.items():
        for axis, interval in enumerate(tiled.result):
            is_moved_by_loop = interval.offset.terms == ((loop, 1),)
            if not is_moved_by_loop or interval.size != loop.tile:
                continue
            if (offsets := _window_offsets_along(access, axis)) is not None:
                yield iterator, loop, offsets


def _window_offsets_along(
    access: DelinearizedAccess, axis: int
) -> _WindowOffsets | None:
    """
    Return what the windows along the last digit of an axis of the value read; None if
    that digit does not move them along one axis of the source, or if it is the
    innermost axis of either, along which threads access contiguous elements.
    """
    if axis == len(access.shape) - 1:
        return None
    dims = [dim for dim, digit in enumerate(access.digits) if digit.axis == axis]
    moved = [each for each in access.accesses if each.coefficient_of(dims[-1])]
    if len(moved) != 1 or moved[0] is access.accesses[-1]:
        return None
    (along,) = moved
    ranges = [
        range(0, factor * access.digits[dim].extent, factor)
        for dim, factor in along.terms
        if access.digits[dim].axis != axis and factor
    ]
    taps = frozenset(map(sum, product(*ranges)))
    extent = access.digits[dims[-1]].extent
    return _WindowOffsets(extent, along.coefficient_of(dims[-1]), taps)
