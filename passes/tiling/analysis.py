"""
Which tile of every value a group needs, worked out backwards from its result.

Loops run over the parallel iterators of the operation that computes the first result
(the root). Every other operation computes what its consumers in the group need of it.
The last accumulating operation (the anchor) may have a loop over its reduction
iterators; operations that only feed this inner loop are computed inside of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import ceil, prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.access import Access, Box, Interval, Linear, iterations, region
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    IteratorKind,
    Scalar,
    TilingInterface,
)
from tlf.dialects.types import dtype_of, tensor_type


class TilingError(PassFailedException):
    """A group cannot be tiled as planned. `op` is the operation that stands against it."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op


@dataclass(eq=False, frozen=True)
class Loop:
    """A loop over the tiles of one axis. It is the symbol of its induction variable."""

    extent: int
    tile: int

    @property
    def trips(self) -> int:
        """The number of iterations."""
        return ceil(self.extent / self.tile)

    @property
    def last(self) -> int:
        """Where the last tile starts."""
        return (self.trips - 1) * self.tile


class Scope(Enum):
    """Whether a tile is computed once per tile of the result, or in the inner loop."""

    OUTER = auto()
    INNER = auto()


@dataclass(frozen=True)
class Rules:
    """What tiles may look like."""

    power_of_two: bool = False
    """Every extent of a tile is rounded up to a power of two."""
    views: bool = True
    """A part of a tile can be used without copying it."""
    alignment: int = 1
    """Tiles start at multiples of so many bytes."""

    def capacity(self, size: int) -> int:
        """The extent that a tile gets to hold `size` elements along an axis."""
        return 1 << (size - 1).bit_length() if self.power_of_two else size

    def widen(self, box: Box) -> Box:
        """Give every interval the room that tiles have."""
        return tuple(replace(each, capacity=self.capacity(each.room)) for each in box)


@dataclass(frozen=True)
class Read:
    """A need for a part of a value, by one operand of one operation."""

    consumer: Operation
    operand: int
    box: Box
    scope: Scope


@dataclass(frozen=True)
class TiledOperation:
    """What is computed of an operation for one tile of the group's result."""

    op: TilingInterface
    box: Box
    """The iterations, with those of an inner loop."""
    result: Box
    """The part of the result that these iterations compute."""
    scope: Scope


@dataclass
class GroupTiling:
    """
    The tiles of a group: loops, what is computed of each operation, and what is read of
    each input.
    """

    rules: Rules
    loops: dict[int, Loop] = field(default_factory=dict[int, Loop])
    """The loops over the root's parallel iterators, by iterator."""
    inner_loops: dict[int, Loop] = field(default_factory=dict[int, Loop])
    """The loops over the anchor's reduction iterators, by iterator."""
    anchor: AccumulatingInterface | None = None
    tiles: dict[Operation, TiledOperation] = field(
        default_factory=dict[Operation, TiledOperation]
    )
    """By operation, in the order of the program."""
    reads: dict[tuple[SSAValue, Scope], list[Box]] = field(
        default_factory=dict[tuple[SSAValue, Scope], list[Box]]
    )
    """The tiles to be cut from each input of the group."""
    pieces: list[Box] = field(default_factory=list[Box])
    """For each result of the group, the part that one tile writes."""

    @property
    def ranges(self) -> Mapping[Hashable, tuple[int, int]]:
        """The values that the induction variable of each loop takes."""
        every = [*self.loops.values(), *self.inner_loops.values()]
        return {loop: (0, loop.last) for loop in every}

    def border(self, op: TilingInterface, operand: int) -> Scalar | None:
        """
        What elements of an operand that lie outside of it must read as, or None where
        iterations never reach out of it or it makes no difference.
        """
        accesses = op.operand_accesses()[operand]
        if accesses is None or (value := op.border(operand)) is None:
            return None
        shape = tensor_type(op.operands[operand]).get_shape()
        reaching = zip(accesses, shape, strict=True)
        if any(self._reaches_out(op, access, extent) for access, extent in reaching):
            return value
        return None

    def _reaches_out(self, op: TilingInterface, access: Access, extent: int) -> bool:
        iterators = op.iterators()
        box = self.tiles[op].box
        ends: list[Interval] = []
        reduces = False
        for position, iterator in enumerate(iterators):
            covered = iterator.extent
            if iterator.kind is IteratorKind.REDUCTION:
                uses = access.uses({position})
                reduces = reduces or uses
                covered = box[position].room + self._last(op, position)
                covered = max(covered, iterator.extent)
            ends.append(Interval.whole(covered))
        touched = access.interval(tuple(ends))
        first = touched.offset.constant
        return reduces and (first < 0 or first + touched.size > extent)

    def _last(self, op: TilingInterface, iterator: int) -> int:
        if op is self.anchor and iterator in self.inner_loops:
            return self.inner_loops[iterator].last
        return 0

    def buffers(self) -> Iterator[tuple[SSAValue, Box]]:
        """Every tile: a value, and the part of it that the tile holds."""
        for (value, _), boxes in self.reads.items():
            yield from ((value, box) for box in boxes)
        for op, tile in self.tiles.items():
            yield from ((result, tile.result) for result in op.results)

    def bytes(self) -> int:
        """The bytes that all tiles take together, were none to share its place."""
        alignment = self.rules.alignment
        sizes = (
            elements(box) * dtype_of(tensor_type(value).element_type).itemsize
            for value, box in self.buffers()
        )
        return sum(ceil(size / alignment) * alignment for size in sizes)

    def largest(self) -> int:
        """The most elements that a tile has."""
        return max(elements(box) for _, box in self.buffers())


def elements(box: Box) -> int:
    """The number of elements in a box."""
    return prod(interval.room for interval in box)


def analyse(
    operations: Sequence[TilingInterface],
    results: Sequence[SSAValue],
    tile: Sequence[int],
    reduce: Sequence[int] = (),
    rules: Rules | None = None,
) -> GroupTiling:
    """
    Work out the tiles of a group.

    `operations` in program order compute `results` from values of outside. `tile` has
    one size for each parallel iterator of the root, `reduce` one for each reduction
    iterator of the anchor, or none.

    Raises `TilingError` where the group cannot be tiled like this.
    """
    return _Analysis(operations, results, rules or Rules()).run(tile, reduce)


class _Analysis:
    def __init__(
        self,
        operations: Sequence[TilingInterface],
        results: Sequence[SSAValue],
        rules: Rules,
    ) -> None:
        self.operations = operations
        self.results = results
        self.rules = rules
        self.tiling = GroupTiling(rules)
        self.needs: dict[SSAValue, list[Read]] = {}
        self.members = set[Operation](operations)
        self.root_region: Box = ()

    def run(self, tile: Sequence[int], reduce: Sequence[int]) -> GroupTiling:
        root = self._root()
        anchors = [
            op for op in self.operations if isinstance(op, AccumulatingInterface)
        ]
        if reduce and anchors:
            self.tiling.anchor = anchors[-1]
        root_box = self._root_box(root, tile)
        self.root_region = region(root.result_accesses()[0], root_box)
        for op in reversed(self.operations):
            box = self._checked_root(root, root_box) if op is root else self._wanted(op)
            if box is not None:
                self._compute(op, box, op is root, reduce)
        self.tiling.tiles = {
            op: self.tiling.tiles[op]
            for op in self.operations
            if op in self.tiling.tiles
        }
        self._collect_reads()
        if not self.rules.views:
            self._check_no_views()
        self.tiling.pieces = [self._piece(value, root) for value in self.results]
        return self.tiling

    def _root(self) -> TilingInterface:
        owner = self.results[0].owner
        if not isinstance(owner, TilingInterface) or owner not in self.members:
            at = owner if isinstance(owner, Operation) else self.operations[-1]
            raise TilingError(
                at, "expected the first result to be computed in the group"
            )
        return owner

    def _root_box(self, root: TilingInterface, tile: Sequence[int]) -> Box:
        iterators = root.iterators()
        parallel = [
            position
            for position, iterator in enumerate(iterators)
            if iterator.kind is IteratorKind.PARALLEL
        ]
        if len(tile) != len(parallel):
            raise TilingError(
                root, f"expected {len(parallel)} tile sizes, got {len(tile)}"
            )
        sizes = dict(zip(parallel, tile, strict=True))
        box: list[Interval] = []
        for position, iterator in enumerate(iterators):
            size = sizes.get(position, iterator.extent)
            if position in sizes and size < iterator.extent:
                self._check_whole(root, position)
                loop = Loop(iterator.extent, size)
                self.tiling.loops[position] = loop
                box.append(Interval(Linear.of(loop), size))
            else:
                box.append(Interval(Linear(), iterator.extent, size))
        return self.rules.widen(tuple(box))

    @staticmethod
    def _check_whole(op: TilingInterface, iterator: int) -> None:
        if (reason := op.untileable().get(iterator)) is not None:
            raise TilingError(op, f"axis {iterator} cannot be tiled: {reason}")

    def _wanted(self, op: TilingInterface) -> Box | None:
        """The iterations that compute what the group needs of an operation."""
        if not (needs := self._needs(op)):
            return None
        inner = self._is_inner(op, needs)
        boxes = [need.box if inner else self._outside(need.box) for need in needs]
        wanted = self._hull(boxes)
        extents = [iterator.extent for iterator in op.iterators()]
        return self.rules.widen(iterations(op.result_accesses()[0], extents, wanted))

    def _checked_root(self, root: TilingInterface, box: Box) -> Box:
        """The root's iterations, once no one needs more of it than they compute."""
        for need in self.needs.get(root.results[0], []):
            if not covers(self.root_region, self._outside(need.box)):
                raise TilingError(root, "another result needs more than one tile of it")
        return box

    def _needs(self, op: TilingInterface) -> list[Read]:
        needs = [need for result in op.results for need in self.needs.get(result, [])]
        if needs or not any(result in self.results for result in op.results):
            return needs
        first = tensor_type(self.results[0]).get_shape()
        if tensor_type(op.results[0]).get_shape() != first:
            raise TilingError(
                op, "expected a further result of the shape of the first one"
            )
        return [Read(op, 0, self.root_region, Scope.OUTER)]

    def _is_inner(self, op: TilingInterface, needs: Sequence[Read]) -> bool:
        if any(result in self.results for result in op.results):
            return False
        if any(need.scope is Scope.OUTER for need in needs):
            return False
        return any(self._moves(need.box) for need in needs)

    def _moves(self, box: Box) -> bool:
        """Whether a box moves with the inner loop."""
        inner = set(self.tiling.inner_loops.values())
        return any(symbol in inner for each in box for symbol, _ in each.offset.terms)

    def _outside(self, box: Box) -> Box:
        """The box that covers `box` for every iteration of the inner loop."""
        inner = set(self.tiling.inner_loops.values())
        covering: list[Interval] = []
        for interval in box:
            offset, size = Linear(interval.offset.constant), interval.size
            for symbol, factor in interval.offset.terms:
                if symbol in inner and isinstance(symbol, Loop):
                    size += factor * symbol.last
                else:
                    offset += Linear.of(symbol) * factor
            covering.append(replace(interval, offset=offset, size=size))
        return tuple(covering)

    def _hull(self, boxes: Sequence[Box]) -> Box:
        """The box over several; whole axes where their distance is not constant."""
        hull = boxes[0]
        for box in boxes[1:]:
            hull = tuple(
                a.hull(b) or self._covering(a, b)
                for a, b in zip(hull, box, strict=True)
            )
        return hull

    def _covering(self, left: Interval, right: Interval) -> Interval:
        """The interval over two for all values of the loops."""
        ranges = self.tiling.ranges
        ends = [each.offset.bounds(ranges) for each in (left, right)]
        first = min(least for least, _ in ends)
        sizes = (left.size, right.size)
        last = max(end + size for (_, end), size in zip(ends, sizes, strict=True))
        return Interval(Linear(first), last - first)

    def _compute(
        self,
        op: TilingInterface,
        box: Box,
        is_root: bool,
        reduce: Sequence[int],
    ) -> None:
        scope = Scope.OUTER
        if not is_root and self._is_inner(op, self._needs(op)):
            scope = Scope.INNER
        if op is self.tiling.anchor:
            box = self._reduction_box(op, box, reduce)
        result = region(op.result_accesses()[0], box)
        self.tiling.tiles[op] = TiledOperation(op, box, result, scope)
        inner = op is self.tiling.anchor and bool(self.tiling.inner_loops)
        for position, accesses in enumerate(op.operand_accesses()):
            if accesses is None:
                continue
            operand = op.operands[position]
            is_init = isinstance(op, AccumulatingInterface) and (
                op.init_value is operand and position == len(op.operands) - 1
            )
            needed = Scope.INNER if inner and not is_init else scope
            need = Read(op, position, region(accesses, box), needed)
            self.needs.setdefault(operand, []).append(need)

    def _reduction_box(
        self, op: TilingInterface, box: Box, reduce: Sequence[int]
    ) -> Box:
        iterators = op.iterators()
        reductions = [
            position
            for position, iterator in enumerate(iterators)
            if iterator.kind is IteratorKind.REDUCTION
        ]
        if len(reduce) != len(reductions):
            raise TilingError(
                op, f"expected {len(reductions)} reduction sizes, got {len(reduce)}"
            )
        tiled = list(box)
        for position, size in zip(reductions, reduce, strict=True):
            extent = iterators[position].extent
            if size >= extent:
                tiled[position] = Interval(Linear(), extent, size)
                continue
            self._check_whole(op, position)
            loop = Loop(extent, size)
            self.tiling.inner_loops[position] = loop
            tiled[position] = Interval(Linear.of(loop), size)
        return self.rules.widen(tuple(tiled))

    def _check_no_views(self) -> None:
        """Every tile computed in the group is used whole."""
        for op, tile in self.tiling.tiles.items():
            for need in (n for value in op.results for n in self.needs.get(value, [])):
                if not same_box(need.box, tile.result):
                    raise TilingError(op, "its consumers need only parts of its tile")

    def _collect_reads(self) -> None:
        for value, needs in self.needs.items():
            inside = isinstance(value.owner, Operation) and value.owner in self.members
            if inside or not isinstance(value.type, TensorType):
                continue
            for need in needs:
                moving = need.scope is Scope.INNER and self._moves(need.box)
                scope = Scope.INNER if moving else Scope.OUTER
                boxes = self.tiling.reads.setdefault((value, scope), [])
                self._add_read(boxes, need.box)

    def _add_read(self, boxes: list[Box], box: Box) -> None:
        for position, known in enumerate(boxes):
            merged = [a.hull(b) for a, b in zip(known, box, strict=True)]
            hull = tuple(interval for interval in merged if interval is not None)
            if len(hull) < len(box):
                continue
            if self.rules.views or same_box(known, box):
                boxes[position] = hull
                return
        boxes.append(box)

    def _piece(self, value: SSAValue, root: TilingInterface) -> Box:
        """The part of a result that one tile of the root writes, and no other does."""
        owner = value.owner
        if isinstance(owner, BlockArgument) or owner not in self.tiling.tiles:
            raise TilingError(root, "expected results that the group computes")
        computed = self.tiling.tiles[owner].result
        if owner is root:
            return computed
        shape = tensor_type(value).get_shape()
        waiting = set(self.tiling.loops.values())
        piece: list[Interval] = []
        for interval, extent in zip(computed, shape, strict=True):
            part = self._axis_piece(owner, interval, extent)
            waiting -= {symbol for symbol, _ in part.offset.terms}
            piece.append(part)
        if any(loop.trips > 1 for loop in waiting):
            raise TilingError(owner, "several tiles would write the same elements")
        return tuple(piece)

    @staticmethod
    def _axis_piece(op: Operation, interval: Interval, extent: int) -> Interval:
        if not interval.offset.terms:
            if (
                interval.offset.constant
                <= 0
                < extent
                <= (interval.offset.constant + interval.size)
            ):
                return interval
            raise TilingError(op, "a tile holds only part of an axis of a result")
        (symbol, factor), *others = interval.offset.terms
        start = interval.offset.constant
        if others or factor != 1 or not isinstance(symbol, Loop) or start > 0:
            raise TilingError(op, "the tiles of a result do not follow one loop each")
        if start + interval.size < symbol.tile:
            raise TilingError(op, "the tiles of a result leave gaps")
        return replace(interval, offset=Linear.of(symbol), size=symbol.tile)


def same_box(left: Box, right: Box) -> bool:
    """Whether two boxes are equal for every value of the loops."""
    return all(
        a.size == b.size and a.room == b.room and a.offset - b.offset == Linear()
        for a, b in zip(left, right, strict=True)
    )


def covers(outer: Box, inner: Box) -> bool:
    """Whether `outer` holds all of `inner` for every value of the loops."""
    for a, b in zip(outer, inner, strict=True):
        distance = b.offset - a.offset
        start = distance.constant
        if distance.terms or start < 0 or start + b.size > a.size:
            return False
    return True
