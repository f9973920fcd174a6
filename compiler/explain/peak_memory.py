"""Explanation of plans: breakdown of the peak memory of a group by use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling, TileLoop
from tlf.compiler.explain.cost_estimates import GroupEstimate
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import byte_count, itemsize_of, tensor_type
from tlf.planner.cost.npu.tile_footprint import BufferRow
from tlf.support.affine.index_access import Box
from tlf.support.allocation import Budget, Buffer, pack

MAX_VISITS = 20_000
"""Maximum number of search nodes in the allocation of the buffers of a group."""


class Use(StrEnum):
    """Use of bytes in a memory level."""

    INPUTS = auto()
    """Tiles of operands of the group, except for the uses below."""
    HALO = auto()
    """Elements of tiles that the next tiles read as well."""
    WEIGHTS = auto()
    OUTPUTS = auto()
    """Tiles of results."""
    INTERMEDIATES = auto()
    """Values that one nest passes to the next."""
    ACCUMULATORS = auto()
    """Partial sums of products or reductions."""
    SKIPS = auto()
    """Values that are live across nests that do not use them."""
    DOUBLE_BUFFERS = auto()
    """Buffers of the tiles of other iterations in flight."""
    KEPT = auto()
    """Whole tensors that are resident across groups."""


@dataclass(frozen=True)
class Peak:
    """Peak memory use of a group in a level, in bytes."""

    capacity: int
    live: int
    """Bytes that are simultaneously live."""
    height: int
    """Height of the best allocation found."""
    uses: Mapping[Use, int]
    """Live bytes by their use."""

    @property
    def fragmentation(self) -> int:
        """Bytes lost between buffers."""
        return self.height - self.live


def peak_of(price: GroupEstimate, weights: Collection[SSAValue], held: int = 0) -> Peak:
    """
    Return the peak of a group. `weights` are among its inputs; `held` bytes are
    resident around the group without being used by it.
    """
    footprint = price.predicted.footprint
    resident_inputs = sum(
        byte_count(tensor_type(each)) for each in price.residency.resident
    )
    buffers = [
        Buffer.live_during(row.size, row.start, row.end, 1) for row in footprint.rows
    ]
    live, resident_bytes = footprint.peak_bytes, held + resident_inputs
    height = pack(buffers, Budget(MAX_VISITS)).peak if buffers else 0
    uses = dict.fromkeys(Use, 0)
    uses[Use.KEPT] = resident_bytes
    for row in _live_at_peak(footprint.rows):
        for use, size in _split_by_use(row, price, weights):
            uses[use] += size
    capacity = price.level.capacity
    return Peak(
        capacity, live + resident_bytes, max(height, live) + resident_bytes, uses
    )


def _live_at_peak(rows: Collection[BufferRow]) -> list[BufferRow]:
    """Return the buffers that are live at the first step of peak use."""
    steps = sorted({row.start for row in rows})
    live = [[row for row in rows if row.start <= step < row.end] for step in steps]
    return max(live, key=lambda each: sum(row.size for row in each)) if live else []


def _split_by_use(
    part: BufferRow, price: GroupEstimate, weights: Collection[SSAValue]
) -> Iterator[tuple[Use, int]]:
    """Yield the uses of a buffer, with their bytes."""
    value, size = part.value, part.size - part.ahead
    yield Use.DOUBLE_BUFFERS, part.ahead
    if value in price.residency.retained:
        yield Use.KEPT, size
        return
    halo = min(size, _halo_bytes(part, price.tiling))
    yield Use.HALO, halo
    yield _main_use(part, price, weights), size - halo


def _main_use(
    part: BufferRow, price: GroupEstimate, weights: Collection[SSAValue]
) -> Use:
    value = part.value
    if value in weights:
        return Use.WEIGHTS
    if value in price.tiling.results:
        return Use.OUTPUTS
    if _is_live_across(value, price):
        return Use.SKIPS
    owner = value.owner
    if not isinstance(owner, Operation) or owner not in price.tiling.tiles:
        return Use.INPUTS
    if part.kind != "temporary" and isinstance(owner, AccumulatingInterface):
        return Use.ACCUMULATORS
    return Use.INTERMEDIATES


def _is_live_across(value: SSAValue, price: GroupEstimate) -> bool:
    """Return `True` if a value is live across a nest that does not use it."""
    ops = [use.operation for use in value.uses]
    if isinstance(value.owner, Operation):
        ops.append(value.owner)
    touched = {price.nests[op] for op in ops if op in price.nests}
    if not touched:
        return False
    between = set(range(min(touched), max(touched) + 1))
    return not between <= touched


def _halo_bytes(part: BufferRow, tiling: GroupTiling) -> int:
    """Return the bytes of a tile that it shares with the next tile."""
    item = itemsize_of(part.value)
    elements = prod(interval.size for interval in part.box)
    return item * (elements - prod(_new_extents(part.box, tiling)))


def _new_extents(box: Box, tiling: GroupTiling) -> Iterator[int]:
    """Yield the extent of a box that is new in the next tile, along each axis."""
    loops = tiling.loops.values()
    for interval in box:
        steps = [
            factor * symbol.tile
            for symbol, factor in interval.offset.terms
            if isinstance(symbol, TileLoop) and symbol in loops
        ]
        yield min([interval.size, *steps])
