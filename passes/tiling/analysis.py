"""
Which tile of every value a group needs, worked out backwards from its result.

Loops run over the parallel iterators of the operation that computes the first result
(the root). Every other operation computes what its consumers in the group need of it.
The last accumulating operation (the anchor) may have a loop over its reduction
iterators; operations that only feed this inner loop are computed inside of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.dialects.access import Box, Interval, Linear, iterations, region
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    IndexedInterface,
    IteratorKind,
    MovementInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.passes.tiling.model import (
    GroupTiling,
    Loop,
    Read,
    Rules,
    Scope,
    TiledOperation,
    TilingError,
    covers,
    same_box,
)
from tlf.passes.tiling.pieces import piece_of

FROM_MEMORY = "its operand must come from memory, not from the group"


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
    tiling = outline(operations, results, tile, reduce, rules)
    root = results[0].owner
    assert isinstance(root, TilingInterface)
    tiling.pieces = [piece_of(tiling, value, root) for value in results]
    return tiling


def outline(
    operations: Sequence[TilingInterface],
    results: Sequence[SSAValue],
    tile: Sequence[int],
    reduce: Sequence[int] = (),
    rules: Rules | None = None,
) -> GroupTiling:
    """
    The tiles of a group without the pieces of its results: several tiles may write the
    same elements.
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
        accesses = op.result_accesses()[0]
        box = iterations(accesses, extents, wanted)
        if not self._covers(region(accesses, box), wanted):
            raise TilingError(
                op, "its consumers reach beyond an axis that it does not iterate over"
            )
        return self.rules.widen(box)

    def _covers(self, computed: Box, wanted: Box) -> bool:
        """Whether what is computed holds all that is wanted, for every tile."""
        ranges = self.tiling.ranges
        for outer, inner in zip(computed, wanted, strict=True):
            least, greatest = (inner.offset - outer.offset).bounds(ranges)
            if least < 0 or greatest + inner.size > outer.size:
                return False
        return True

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
        self._check_move(op)
        if op not in self.tiling.gathered:
            self._check_rooms(op, box)
        inner = op is self.tiling.anchor and bool(self.tiling.inner_loops)
        for position, accesses in enumerate(op.operand_accesses()):
            is_moved = op in self.tiling.gathered and position == 0
            if accesses is None or is_moved:
                continue
            operand = op.operands[position]
            is_init = isinstance(op, AccumulatingInterface) and (
                op.init_value is operand and position == len(op.operands) - 1
            )
            needed = Scope.INNER if inner and not is_init else scope
            need = Read(op, position, region(accesses, box), needed)
            self.needs.setdefault(operand, []).append(need)

    def _check_move(self, op: TilingInterface) -> None:
        """Find out whether a move does an operation, or how it is done otherwise."""
        if not isinstance(op, MovementInterface):
            return
        if isinstance(op, IndexedInterface) and not self.rules.indexed:
            raise TilingError(
                op, "the target cannot load by indices: run `graph-decompose`"
            )
        if self.rules.gathers and self._is_gathered(op):
            self.tiling.gathered.add(op)
        elif self.rules.gathers:
            self._check_permutes(op)

    def _is_gathered(self, op: MovementInterface) -> bool:
        """Whether the move that cuts a tile can do a movement, element by element."""
        source = op.operands[0].owner
        from_outside = not isinstance(source, Operation) or source not in self.members
        accesses = [*(op.operand_accesses()[0] or ()), *op.result_accesses()[0]]
        return from_outside and all(
            access.width == 1 or access.index is not None for access in accesses
        )

    @staticmethod
    def _check_permutes(op: MovementInterface) -> None:
        """A movement of a tile of the group can only shift, permute and repeat."""
        used: set[int] = set()
        for access in op.operand_accesses()[0] or ():
            terms = access.terms
            if access.index is not None:
                raise TilingError(op, FROM_MEMORY)
            many = len(terms) > 1 or any(iterator in used for iterator, _ in terms)
            used.update(iterator for iterator, _ in terms)
            if many or any(factor != 1 for _, factor in terms):
                raise TilingError(op, FROM_MEMORY)

    def _check_rooms(self, op: TilingInterface, box: Box) -> None:
        """Every tile that an operation reads has an extent that tiles may have."""
        if not self.rules.power_of_two:
            return
        for accesses in op.operand_accesses():
            for interval in region(accesses or (), box):
                if interval.room != self.rules.capacity(interval.room):
                    raise TilingError(
                        op,
                        f"it reads windows of {interval.room} elements, and tiles of "
                        "this target have extents that are powers of two",
                    )

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
