"""Result of the tile analysis: loops, and the box of every operation and input."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from math import ceil, prod
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
    TilingInterface,
)
from tlf.dialects.padding_interface import clip_to_extents, is_implicitly_padded
from tlf.dialects.types import dtype_of, tensor_type
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
    """A group cannot be tiled as planned. `op` is the operation at fault."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op


def dims_of_kind(op: TilingInterface, kind: IteratorType) -> list[int]:
    """The iterators of one kind, by their place among all."""
    iterators = enumerate(op.iteration_domain())
    return [position for position, each in iterators if each.kind is kind]


@dataclass(eq=False, frozen=True)
class TileLoop:
    """A loop over the tiles of one axis. It is the symbol of its induction variable."""

    extent: int
    tile: int

    @property
    def trips(self) -> int:
        """The number of iterations."""
        return -(-self.extent // self.tile)

    @property
    def last_start(self) -> int:
        """Start of the last tile."""
        return (self.trips - 1) * self.tile


class LoopLevel(Enum):
    """
    Loop level of a tile: per result tile, in the reduction loop, or nested in that.
    """

    OUTER = auto()
    INNER = auto()
    NESTED = auto()


@dataclass(frozen=True)
class ReductionLoop:
    """The reduction with a loop, its cascade, and reductions nested in that loop."""

    anchor: AccumulatingInterface | None = None
    cascade: Cascade | None = None
    nested: tuple[AccumulatingInterface, ...] = ()
    """Reductions with loops of their own in the loop of the anchor."""

    def __bool__(self) -> bool:
        return self.anchor is not None


class ReadDemand(NamedTuple):
    """The box of a value that one operand of one operation needs."""

    consumer: TilingInterface | None
    """None for a part that a window keeps."""
    operand_index: int
    box: Box
    loop_level: LoopLevel


class TiledOperation(NamedTuple):
    """The part of an operation that is computed for one tile of the group's result."""

    op: TilingInterface
    box: Box
    """The iterations, with those of an inner loop."""
    result: Box
    """The part of the result that there is: computed by these, or kept as well."""
    loop_level: LoopLevel
    facts: OpFacts
    reads: tuple[Box | None, ...] = ()
    """The part of each operand that these iterations read, if it is a tensor."""
    is_recomputed: bool = False
    """True if a result of an inner loop is recomputed behind it."""
    is_moved: bool = False
    """True if the move of its first operand performs it."""

    @property
    def computed_box(self) -> Box:
        """The part of the result that these iterations compute."""
        return accessed_box(self.facts.result_map, self.box)


TEMPORARY_BYTES = 4
"""The bytes of an element of a temporary."""

Tile: TypeAlias = tuple[SSAValue, Box]
"""A value, and the part of it that a tile holds."""


@dataclass
class GroupTiling:
    """
    The tiles of a group: loops, what is computed of each operation, and what is read of
    each input.
    """

    rules: TileRules
    results: tuple[SSAValue, ...] = ()
    """The values that the group yields."""
    op_facts: OpFactsCache = field(default_factory=OpFactsCache)
    """Cached forms of its operations."""
    loops: dict[int, TileLoop] = field(default_factory=dict[int, TileLoop])
    """The loops over the root's parallel iterators, by iterator."""
    inner_loops: dict[int, TileLoop] = field(default_factory=dict[int, TileLoop])
    """The loops over the anchor's reduction iterators, by iterator."""
    nested_loops_by_op: dict[Operation, dict[int, TileLoop]] = field(
        default_factory=dict[Operation, dict[int, TileLoop]]
    )
    """The loops in that loop, over the reductions of contractions that need nothing."""
    anchor: AccumulatingInterface | None = None
    cascade: Cascade | None = None
    """Other reductions in the anchor's loop."""
    tiles: dict[Operation, TiledOperation] = field(
        default_factory=dict[Operation, TiledOperation]
    )
    """By operation, in the order of the program."""
    reads: dict[tuple[SSAValue, LoopLevel], list[Box]] = field(
        default_factory=dict[tuple[SSAValue, LoopLevel], list[Box]]
    )
    """The tiles to be cut from each input of the group."""
    result_tiles: list[Box] = field(default_factory=list[Box])
    """For each result of the group, the part that one tile writes."""

    gathered_operations: set[Operation] = field(default_factory=set[Operation])
    """Movements that the move of their first operand does."""

    rolling_loop: TileLoop | None = None
    """The loop whose tiles keep what they share with those before."""
    windows: dict[tuple[SSAValue, int], RollingWindow] = field(
        default_factory=dict[tuple[SSAValue, int], RollingWindow]
    )
    """
    Rolling windows: of values that the group computes, with 0, and of tiles of its
    inputs, with their index in `reads`.
    """
    prefetch_distances: dict[Operation, int] = field(
        default_factory=dict[Operation, int]
    )
    """Operations that are computed so many iterations ahead of the results."""
    prologue: GroupTiling | None = None
    """
    Prologue: the tiles computed and read for the windows before the first iteration.
    """

    @property
    def ranges(self) -> Mapping[Hashable, tuple[int, int]]:
        """The values that the induction variable of each loop takes."""
        every = [*self.loops.values(), *self.inner_loops.values(), *self.nested_loops]
        return {loop: (0, loop.last_start) for loop in every}

    @property
    def nested_loops(self) -> list[TileLoop]:
        """The loops in the loop over the anchor's reduction."""
        return [
            loop
            for loops in self.nested_loops_by_op.values()
            for loop in loops.values()
        ]

    def is_prefetched(self, value: SSAValue) -> bool:
        """Return `True` if a value is computed an iteration ahead of its readers."""
        window = self.windows.get((value, 0))
        return window is not None and window.is_prefetched

    def padding_value(self, op: TilingInterface, operand: int) -> Scalar | None:
        """
        Return the value that elements outside of an operand must read as; None if
        iterations never reach them or it makes no difference.
        """
        form = self.tiles[op].facts
        accesses = form.indexing_maps[operand]
        if accesses is None or (value := form.padding_value(operand)) is None:
            return None
        shape = tensor_type(op.operands[operand]).get_shape()
        box = self.tiles[op].box
        bands = banded_matmul_of(self.rules.array, op, box, form)
        if bands is not None and operand == bands.windows.filter_operand:
            return value
        pads = self.rules.is_retiled and operand == 0
        for axis, (access, extent) in enumerate(zip(accesses, shape, strict=True)):
            supplies = pads and axis in form.padded_extents
            if supplies and is_implicitly_padded(access.interval(box)):
                continue
            if self._can_read_out_of_bounds(op, access, extent):
                return value
        return None

    def _can_read_out_of_bounds(
        self, op: TilingInterface, access: IndexAccess, extent: int
    ) -> bool:
        form, box = self.tiles[op].facts, self.tiles[op].box
        windows = form.windows if self.rules.has_views else None
        ends: list[Interval] = []
        for position, iterator in enumerate(form.iteration_domain):
            covered = iterator.extent
            if iterator.kind is IteratorType.REDUCTION:
                covered = max(
                    covered,
                    box[position].tile_extent + self._last_start_of(op, position),
                )
            elif windows is not None and windows.is_window_iterator(position):
                covered = max(covered, max_end(box[position]))
            ends.append(Interval.whole(covered))
        touched = access.interval(tuple(ends))
        first = touched.offset.constant
        return first < 0 or first + touched.size > extent

    def _last_start_of(self, op: TilingInterface, iterator: int) -> int:
        if op is self.anchor and iterator in self.inner_loops:
            return self.inner_loops[iterator].last_start
        if self.is_along_anchor_loop(op, iterator):
            return next(iter(self.inner_loops.values())).last_start
        if (loop := self.nested_loops_by_op.get(op, {}).get(iterator)) is not None:
            return loop.last_start
        return 0

    def is_step(self, op: Operation) -> bool:
        """
        Return `True` if an operation is reduced in the anchor's loop beside the anchor.
        """
        steps = () if self.cascade is None else self.cascade.steps
        return op in steps and op is not self.anchor

    def is_running(self, op: Operation) -> bool:
        """
        Return `True` if an operation depends on the result of a step, and is not a
        step.
        """
        return self.cascade is not None and op in self.cascade.dependent

    def is_row(self, op: Operation) -> bool:
        """Return `True` if an operation computes one result from totals."""
        return self.cascade is not None and op in self.cascade.rows

    def correction_of(self, op: Operation) -> Correction | None:
        """Return the correction of the running sum of an operation, if it needs one."""
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
        """Every tile that is cut from an input of the group."""
        for (value, _), boxes in self.reads.items():
            yield from ((value, box) for box in boxes)

    def output_tiles(self) -> Iterator[Tile]:
        """Every tile of a result of the group."""
        for op, tile in self.tiles.items():
            for result in op.results:
                if result in self.results:
                    yield result, tile.result

    def all_tiles(self) -> Iterator[Tile]:
        """Every tile: a value, and the part of it that the tile holds."""
        yield from self.input_tiles()
        for op, tile in self.tiles.items():
            yield from ((result, tile.result) for result in op.results)

    def total_bytes(self, stages: int = 1) -> int:
        """
        The bytes that all tiles take together, were none to share its place, and the
        temporaries of elementwise operations that take several steps. Tiles that come
        in and go out have one place for each stage.
        """
        moved = self.input_bytes() + self._sum_bytes(self.output_tiles())
        return (
            (stages - 1) * moved
            + self._sum_bytes(self.all_tiles())
            + sum(
                tile.facts.temporary_count
                * TEMPORARY_BYTES
                * elements_of_box(tile.result)
                for tile in self.tiles.values()
                if tile.facts.temporary_count
            )
        )

    def input_bytes(self) -> int:
        """The bytes that the tiles cut from inputs take together."""
        return self._sum_bytes(self.input_tiles())

    def _sum_bytes(self, tiles: Iterator[Tile]) -> int:
        alignment = self.rules.alignment
        sizes = (
            elements_of_box(box) * dtype_of(tensor_type(value).element_type).itemsize
            for value, box in tiles
        )
        return sum(ceil(size / alignment) * alignment for size in sizes)

    def max_tile_elements(self) -> int:
        """The most elements that a tile has."""
        return max(elements_of_box(box) for _, box in self.all_tiles())


def operand_boxes_of(
    rules: TileRules, op: TilingInterface, box: Box, form: OpFacts
) -> tuple[Box | None, ...]:
    """The part of each operand that a tile is needed of, for some iterations."""
    read = [
        each if each is None else accessed_box(each, box) for each in form.indexing_maps
    ]
    bands = banded_matmul_of(rules.array, op, box, form)
    filters = None if bands is None else bands.windows.filter_operand
    if (
        rules.is_retiled
        and form.padded_extents
        and filters != 0
        and read[0] is not None
    ):
        read[0] = clip_to_extents(read[0], form.padded_extents)
    if bands is not None and filters is not None:
        touched = read[filters]
        assert touched is not None
        read[filters] = bands.widen_filter_box(
            form.indexing_maps[filters] or (), touched
        )
    return tuple(read)


def elements_of_box(box: Box) -> int:
    """The number of elements in a box."""
    return prod(interval.tile_extent for interval in box)


def is_same_box(left: Box, right: Box) -> bool:
    """Return `True` if two boxes are equal for every value of the loops."""
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
    """Return the least start of an interval over the iterations of its loops."""
    start = interval.offset.constant
    for symbol, factor in interval.offset.terms:
        start += (
            min(0, factor * symbol.last_start) if isinstance(symbol, TileLoop) else 0
        )
    return start


def max_end(interval: Interval) -> int:
    """Return the greatest end of an interval over the iterations of its loops."""
    end = interval.offset.constant + interval.tile_extent
    for symbol, factor in interval.offset.terms:
        end += max(0, factor * symbol.last_start) if isinstance(symbol, TileLoop) else 0
    return end


def is_covering(outer: Box, inner: Box) -> bool:
    """Return `True` if `outer` contains all of `inner` for every value of the loops."""
    for a, b in zip(outer, inner, strict=True):
        distance = b.offset - a.offset
        start = distance.constant
        if distance.terms or start < 0 or start + b.size > a.size:
            return False
    return True


def is_init_operand(op: TilingInterface, position: int) -> bool:
    """Return `True` if an operand is the initial value of a reduction."""
    return (
        isinstance(op, AccumulatingInterface)
        and position == len(op.operands) - 1
        and op.init_value is op.operands[position]
    )
