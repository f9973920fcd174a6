"""
Analysis result of tiling a group: loops, and the boxes of every operation and input.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.operations.op_facts import OpFacts, OpFactsCache
from tlf.analysis.recurrence.cascade import Cascade
from tlf.analysis.tiling.banded_windows import banded_matmul_of
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.analysis.tiling.window_tile import RollingWindow
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    IteratorType,
    Scalar,
    ScanInterface,
    TilingInterface,
)
from tlf.dialects.padding_interface import (
    clip_box_to_extents,
    is_implicitly_padded_interval,
)
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.support.affine.index_access import (
    AffineSum,
    Box,
    IndexAccess,
    Interval,
    accessed_box,
)

if TYPE_CHECKING:
    from tlf.analysis.recurrence.correction_factors import Correction
    from tlf.analysis.recurrence.reduction_restarts import Restart


class TilingError(PassFailedException):
    """Error: a group cannot be tiled as planned. `op` is the operation at fault."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op


def iterators_of_kind(op: TilingInterface, kind: IteratorType) -> list[int]:
    """Return the indices of the iterators of one kind."""
    iterators = enumerate(op.iteration_domain())
    return [position for position, each in iterators if each.kind is kind]


@dataclass(eq=False, frozen=True)
class TileLoop:
    """
    Loop over the tiles of one axis; the object is the symbol of the induction variable.
    """

    extent: int
    tile: int

    @property
    def trips(self) -> int:
        """Number of iterations."""
        return -(-self.extent // self.tile)

    @property
    def last_start(self) -> int:
        """Start of the last tile."""
        return (self.trips - 1) * self.tile


class LoopLevel(Enum):
    """
    Loop level of a tile: per result tile, in the reduction loop, or in a nested loop.
    """

    OUTER = auto()
    INNER = auto()
    NESTED = auto()


@dataclass(frozen=True)
class ReductionLoop:
    """Reduction that has a loop, its cascade, and the reductions nested in the loop."""

    anchor: AccumulatingInterface | None = None
    cascade: Cascade | None = None
    nested: tuple[AccumulatingInterface, ...] = ()
    """Reductions with their own loops inside the loop of the anchor."""

    def __bool__(self) -> bool:
        return self.anchor is not None


class ReadDemand(NamedTuple):
    """
    Box of a value that one operation reads through one operand, and its loop level.
    """

    consumer: TilingInterface | None
    """None for the part of a window needed by the prologue."""
    operand_index: int
    box: Box
    loop_level: LoopLevel


class TiledOperation(NamedTuple):
    """Part of an operation that is computed for one tile of the group's result."""

    op: TilingInterface
    box: Box
    """Iterations, including the iterations of an inner loop as symbolic offsets."""
    result: Box
    """
    Available part of the result: computed by these iterations, or retained in a window.
    """
    loop_level: LoopLevel
    facts: OpFacts
    reads: tuple[Box | None, ...] = ()
    """
    Box of each operand that these iterations read; None for operands without an
    indexing map.
    """
    is_recomputed: bool = False
    """True if a result of an inner loop is recomputed after the loop."""
    is_moved: bool = False
    """True if the operation is performed by the move of its first operand."""

    @property
    def computed_box(self) -> Box:
        """Part of the result that these iterations compute."""
        return accessed_box(self.facts.result_map, self.box)

    @property
    def scan_loop(self) -> TileLoop | None:
        """Loop over the tiles of a scan; None if a tile has the whole axis."""
        if (iterator := self.facts.scan_iterator) is None:
            return None
        symbols = (symbol for symbol, _ in self.box[iterator].offset.terms)
        return next((each for each in symbols if isinstance(each, TileLoop)), None)


TEMPORARY_BYTES = 4
"""Bytes per element of a temporary."""

Tile: TypeAlias = tuple[SSAValue, Box]
"""A value, and the box of it that a tile contains."""


@dataclass
class GroupTiling:
    """Tiles of a group: loops, and the boxes of its operations and inputs."""

    rules: TileRules
    results: tuple[SSAValue, ...] = ()
    """Values that the group yields."""
    op_facts: OpFactsCache = field(default_factory=OpFactsCache)
    """Cached facts about the operations."""
    loops: dict[int, TileLoop] = field(default_factory=dict[int, TileLoop])
    """Loops over the parallel iterators of the root, by iterator."""
    inner_loops: dict[int, TileLoop] = field(default_factory=dict[int, TileLoop])
    """Loops over the reduction iterators of the anchor, by iterator."""
    nested_loops_by_op: dict[Operation, dict[int, TileLoop]] = field(
        default_factory=dict[Operation, dict[int, TileLoop]]
    )
    """
    Loops inside the anchor's loop, over the reductions of contractions of group inputs.
    """
    anchor: AccumulatingInterface | None = None
    cascade: Cascade | None = None
    """Cascade of the reductions in the anchor's loop."""
    tiles: dict[Operation, TiledOperation] = field(
        default_factory=dict[Operation, TiledOperation]
    )
    """Tile of each operation, in execution order."""
    reads: dict[tuple[SSAValue, LoopLevel], list[Box]] = field(
        default_factory=dict[tuple[SSAValue, LoopLevel], list[Box]]
    )
    """Tiles sliced from each input of the group, by loop level."""
    result_tiles: list[Box] = field(default_factory=list[Box])
    """For each result of the group, the box that one tile writes."""

    gathered_operations: set[Operation] = field(default_factory=set[Operation])
    """Movements that are performed by the move of their first operand."""

    rolling_loop: TileLoop | None = None
    """Loop whose consecutive tiles share their overlap."""
    windows: dict[tuple[SSAValue, int], RollingWindow] = field(
        default_factory=dict[tuple[SSAValue, int], RollingWindow]
    )
    """
    Rolling windows, by value and index: index 0 for values that the group computes, the
    index in `reads` for tiles of its inputs.
    """
    prefetch_distances: dict[Operation, int] = field(
        default_factory=dict[Operation, int]
    )
    """Number of iterations by which an operation runs ahead of the results."""
    prologue: GroupTiling | None = None
    """
    Prologue: tiles computed and loaded to fill the windows before the first iteration.
    """

    @property
    def ranges(self) -> Mapping[Hashable, tuple[int, int]]:
        """Smallest and largest value of each induction variable."""
        loops = [*self.loops.values(), *self.inner_loops.values(), *self.nested_loops]
        return {loop: (0, loop.last_start) for loop in loops}

    @property
    def nested_loops(self) -> list[TileLoop]:
        """
        Nested loops of all operations, which run inside the loop over the anchor's
        reduction.
        """
        return [
            loop
            for loops in self.nested_loops_by_op.values()
            for loop in loops.values()
        ]

    @property
    def scan_loop(self) -> TileLoop | None:
        """Loop over tiles of scans, which carries their totals."""
        for tiled in self.tiles.values():
            if (loop := tiled.scan_loop) is not None:
                return loop
        return None

    def scans_along_loop(self, loop: TileLoop) -> list[ScanInterface]:
        """Return the scans whose totals a loop carries, in execution order."""
        return [
            op
            for op, tiled in self.tiles.items()
            if isinstance(op, ScanInterface) and tiled.scan_loop is loop
        ]

    @property
    def sequential_loop(self) -> TileLoop | None:
        """Loop of the root whose iterations depend on each other."""
        return self.scan_loop if self.rolling_loop is None else self.rolling_loop

    def is_prefetched(self, value: SSAValue) -> bool:
        """Return `True` if a value is computed one iteration ahead of its readers."""
        window = self.windows.get((value, 0))
        return window is not None and window.is_prefetched

    def padding_value(self, op: TilingInterface, operand: int) -> Scalar | None:
        """
        Return the padding value of an operand: the value that its out-of-bounds
        elements must have. None if iterations never read them or any value is correct.
        """
        form = self.tiles[op].facts
        accesses = form.indexing_maps[operand]
        if accesses is None or (value := form.padding_value(operand)) is None:
            return None
        shape = tensor_type(op.operands[operand]).get_shape()
        box = self.tiles[op].box
        matmul = banded_matmul_of(self.rules.array, op, box, form)
        if matmul is not None and operand == matmul.windows.filter_operand:
            return value
        can_pad = self.rules.is_retiled and operand == 0
        for axis, (access, extent) in enumerate(zip(accesses, shape, strict=True)):
            is_padded = can_pad and axis in form.padded_extents
            if is_padded and is_implicitly_padded_interval(
                access.accessed_interval(box)
            ):
                continue
            if self._can_read_out_of_bounds(op, access, extent):
                return value
        return None

    def _can_read_out_of_bounds(
        self, op: TilingInterface, access: IndexAccess, extent: int
    ) -> bool:
        """
        Return `True` if iterations of `op`, including those that pad reduction tiles
        and windows, access an axis outside of `[0, extent)`.
        """
        form, box = self.tiles[op].facts, self.tiles[op].box
        windows = form.windows if self.rules.has_views else None
        domain: list[Interval] = []
        for position, iterator in enumerate(form.iteration_domain):
            covered = iterator.extent
            is_scanned = position == form.scan_iterator
            if iterator.kind is IteratorType.REDUCTION or is_scanned:
                covered = max(
                    covered,
                    box[position].tile_extent + self._last_tile_start_of(op, position),
                )
            elif windows is not None and windows.is_window_iterator(position):
                covered = max(covered, max_end(box[position]))
            domain.append(Interval(AffineSum(), covered))
        accessed = access.accessed_interval(tuple(domain))
        first = accessed.offset.constant
        return first < 0 or first + accessed.size > extent

    def _last_tile_start_of(self, op: TilingInterface, iterator: int) -> int:
        """
        Return the start of the last tile along an iterator that an inner or nested loop
        or that of a scan tiles; 0 for other iterators.
        """
        if (loop := self.tiles[op].scan_loop) is not None:
            return loop.last_start
        if op is self.anchor and iterator in self.inner_loops:
            return self.inner_loops[iterator].last_start
        if self.is_along_anchor_loop(op, iterator):
            return next(iter(self.inner_loops.values())).last_start
        if (loop := self.nested_loops_by_op.get(op, {}).get(iterator)) is not None:
            return loop.last_start
        return 0

    def is_cascade_step(self, op: Operation) -> bool:
        """
        Return `True` if an operation other than the anchor is reduced in the anchor's
        loop.
        """
        steps = () if self.cascade is None else self.cascade.steps
        return op in steps and op is not self.anchor

    def is_dependent_on_step(self, op: Operation) -> bool:
        """
        Return `True` if an operation depends on the result of a step, and is not a
        step.
        """
        return self.cascade is not None and op in self.cascade.dependent_operations

    def is_row_operation(self, op: Operation) -> bool:
        """Return `True` if an operation computes one result per row from totals."""
        return self.cascade is not None and op in self.cascade.row_operations

    def correction_of(self, op: Operation) -> Correction | None:
        """Return the correction of the running sum of an operation, if it has one."""
        step = None if self.cascade is None else self.cascade.steps.get(op)
        return None if step is None else step.correction

    def restart_of(self, op: Operation) -> Restart | None:
        """Return the restart of the reduction of an operation, if it has one."""
        step = None if self.cascade is None else self.cascade.steps.get(op)
        return None if step is None else step.restart

    def is_along_anchor_loop(self, op: Operation, iterator: int) -> bool:
        """
        Return `True` if an iterator of a step of a cascade runs along the anchor's
        loop.
        """
        if self.cascade is None or op is self.anchor:
            return False
        step = self.cascade.steps.get(op)
        return step is not None and step.iterator == iterator

    def input_tiles(self) -> Iterator[Tile]:
        """Yield every tile that is sliced from an input of the group."""
        for (value, _), boxes in self.reads.items():
            yield from ((value, box) for box in boxes)

    def output_tiles(self) -> Iterator[Tile]:
        """Yield each result of the group with the box of it that one tile contains."""
        for op, tile in self.tiles.items():
            for result in op.results:
                if result in self.results:
                    yield result, tile.result

    def all_tiles(self) -> Iterator[Tile]:
        """Yield every tile: a value, and the box of it that the tile contains."""
        yield from self.input_tiles()
        for op, tile in self.tiles.items():
            yield from ((result, tile.result) for result in op.results)

    def bytes_of_all_tiles(self, stages: int = 1) -> int:
        """
        Return the bytes of all tiles without buffer sharing, plus the temporaries of
        elementwise operations of several steps. Loaded and stored tiles have one buffer
        per stage.
        """
        moved_bytes = self.bytes_of_input_tiles() + self._sum_tile_bytes(
            self.output_tiles()
        )
        return (
            (stages - 1) * moved_bytes
            + self._sum_tile_bytes(self.all_tiles())
            + sum(
                tile.facts.temporary_count
                * TEMPORARY_BYTES
                * count_elements_of_box(tile.result)
                for tile in self.tiles.values()
                if tile.facts.temporary_count
            )
        )

    def bytes_of_input_tiles(self) -> int:
        """Return the total bytes of the tiles sliced from inputs."""
        return self._sum_tile_bytes(self.input_tiles())

    def _sum_tile_bytes(self, tiles: Iterator[Tile]) -> int:
        """
        Return the total bytes of tiles, each rounded up to the alignment of the level.
        """
        alignment = self.rules.alignment
        sizes = (
            count_elements_of_box(box) * itemsize_of(value) for value, box in tiles
        )
        return sum(ceil(size / alignment) * alignment for size in sizes)

    @cached_property
    def max_tile_elements(self) -> int:
        """Largest number of elements of a tile."""
        return max(count_elements_of_box(box) for _, box in self.all_tiles())


def operand_boxes_of(
    rules: TileRules, op: TilingInterface, box: Box, facts: OpFacts
) -> tuple[Box | None, ...]:
    """Return the box of each operand that the tile of some iterations needs."""
    boxes = [
        each if each is None else accessed_box(each, box)
        for each in facts.indexing_maps
    ]
    matmul = banded_matmul_of(rules.array, op, box, facts)
    filters = None if matmul is None else matmul.windows.filter_operand
    if (
        rules.is_retiled
        and facts.padded_extents
        and filters != 0
        and boxes[0] is not None
    ):
        boxes[0] = clip_box_to_extents(boxes[0], facts.padded_extents)
    if matmul is not None and filters is not None:
        accessed = boxes[filters]
        assert accessed is not None
        boxes[filters] = matmul.add_zero_borders_to_filters(
            facts.indexing_maps[filters] or (), accessed
        )
    return tuple(boxes)


def count_elements_of_box(box: Box) -> int:
    """Return the number of elements in a box."""
    count = 1
    for each in box:
        count *= each.capacity if each.capacity > each.size else each.size
    return count


def is_same_box(left: Box, right: Box) -> bool:
    """
    Return `True` if two boxes are equal for all values of the induction variables.
    """
    if left is right:
        return True
    for a, b in zip(left, right, strict=True):
        if a is b:
            continue
        if a.size != b.size or a.tile_extent != b.tile_extent:
            return False
        if a.offset != b.offset and a.offset - b.offset != AffineSum():
            return False
    return True


def min_start(interval: Interval) -> int:
    """Return the smallest start of an interval over the iterations of its loops."""
    start = interval.offset.constant
    for symbol, factor in interval.offset.terms:
        start += (
            min(0, factor * symbol.last_start) if isinstance(symbol, TileLoop) else 0
        )
    return start


def max_end(interval: Interval) -> int:
    """Return the largest end of an interval over the iterations of its loops."""
    end = interval.offset.constant + interval.tile_extent
    for symbol, factor in interval.offset.terms:
        end += max(0, factor * symbol.last_start) if isinstance(symbol, TileLoop) else 0
    return end


def is_box_covering(outer: Box, inner: Box) -> bool:
    """
    Return `True` if `outer` contains `inner` for all values of the induction variables.
    """
    for a, b in zip(outer, inner, strict=True):
        distance = b.offset - a.offset
        start = distance.constant
        if distance.terms or start < 0 or start + b.size > a.size:
            return False
    return True


def is_initial_value_operand(op: TilingInterface, operand_index: int) -> bool:
    """Return `True` if an operand is the initial value of a reduction."""
    return (
        isinstance(op, AccumulatingInterface)
        and operand_index == len(op.operands) - 1
        and op.init_value is op.operands[operand_index]
    )
