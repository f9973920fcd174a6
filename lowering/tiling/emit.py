"""Build the loops over the tiles of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, repeat

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import tile
from tlf.dialects.access import Box, Linear, region
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    IndexedInterface,
    PositionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.types import tensor_type
from tlf.lowering.tiling.indices import Indices, add, source_map
from tlf.passes.tiling.model import (
    GroupTiling,
    Loop,
    Scope,
    TiledOperation,
    covers,
    same_box,
)

VARIABLES = "ijmnpq"
"""Names of induction variables of parallel loops; those of reductions are `k`."""


class TileBuilder:
    """
    Builds a group's loops, for the tiles that its analysis found.
    """

    def __init__(
        self,
        tiling: GroupTiling,
        inputs: Mapping[SSAValue, SSAValue],
        level: str,
        mapping: tile.Mapping,
        order: Sequence[int] | None = None,
        stages: int | None = None,
        overwritten: Mapping[SSAValue, SSAValue] | None = None,
    ) -> None:
        self.tiling = tiling
        self.inputs = inputs
        self.encoding = tile.EncodingAttr(level)
        self.mapping = mapping
        self.order = order
        self.stages = stages
        self.overwritten = overwritten or {}
        self.indices = Indices()
        self.values: dict[SSAValue, SSAValue] = {}
        self.slices: dict[tuple[SSAValue, Scope], list[tuple[Box, SSAValue]]] = {}
        self.sums: dict[tuple[Block, Linear], SSAValue] = {}

    def build(self, builder: Builder, results: Sequence[SSAValue]) -> list[SSAValue]:
        """
        Build the nest before the builder's insertion point. Returns one value for each
        of the group's results.
        """
        loops = list(self.tiling.loops.values())
        inits = [self._destination(builder, value) for value in results]
        arguments = [IndexType()] * len(loops) + [init.type for init in inits]
        body = Block(arg_types=arguments)
        self._name_variables(loops, body)
        inside = Builder(InsertPoint.at_end(body))
        for each in self.tiling.tiles.values():
            if each.scope is Scope.OUTER:
                self._compute(inside, each)
        destinations = body.args[len(loops) :]
        written = [
            self._put_back(inside, value, piece, destination)
            for value, piece, destination in zip(
                results, self.tiling.pieces, destinations, strict=True
            )
        ]
        inside.insert(tile.YieldOp(*written))
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            inits,
            body,
            tile.LoopKind.PARALLEL,
            self.mapping,
            self.order,
        )
        return list(builder.insert(nest).results)

    def _name_variables(self, loops: Sequence[Loop], body: Block) -> None:
        names = chain(VARIABLES, repeat("i"))
        for loop, variable, name in zip(loops, body.args, names, strict=False):
            variable.name_hint = name
            self.indices.variables[loop] = variable

    def _destination(self, builder: Builder, result: SSAValue) -> SSAValue:
        """
        Where a result goes: into what it was accumulated on or may overwrite, or a
        place of its own.
        """
        if (operand := self.overwritten.get(result)) is not None:
            return operand
        owner = result.owner
        if isinstance(owner, AccumulatingInterface) and owner.init_value is not None:
            given = self.inputs.get(owner.init_value)
            if given is not None and given.type == result.type and _is_spare(given):
                return given
        return builder.insert(tile.EmptyOp(result.type)).result

    def _compute(self, builder: Builder, tiled: TiledOperation) -> None:
        op = tiled.op
        anchor = self.tiling.anchor
        if op in self.tiling.gathered:
            result = self._gather(builder, tiled)
        elif anchor is not None and op is anchor and self.tiling.inner_loops:
            result = self._accumulate(builder, tiled, anchor)
        else:
            operands = self._operands(builder, tiled, tiled.scope)
            result = self._tiled(builder, tiled, operands)
        result.name_hint = op.results[0].name_hint
        self.values[op.results[0]] = result

    def _gather(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Cut the tile of a movement's result straight from its operand."""
        op = tiled.op
        accesses = op.operand_accesses()[0] or ()
        offsets = [
            sum(
                (
                    tiled.box[iterator].offset * factor
                    for iterator, factor in access.terms
                ),
                Linear(access.offset),
            )
            for access in accesses
        ]
        source = self.inputs[op.operands[0]]
        type_ = tensor_type(op.results[0])
        starts = [self.indices.of(builder, offset) for offset in offsets]
        wanted = self._type(type_, tiled.result)
        fill, valid = op.border(0), _valid(tiled.result, type_.get_shape())
        map_ = source_map(accesses, op.result_accesses()[0])
        if isinstance(op, IndexedInterface):
            axis, number = op.indexed_axis, op.index_operand
            named = op.operand_accesses()[number] or ()
            box = region(named, tiled.box)
            indices = self._fetch(builder, op, number, box, tiled.scope)
            maps = (map_, source_map(named, op.result_accesses()[0]))
            cut = tile.GatherOp(
                source, starts, axis, indices, maps, wanted, fill, valid
            )
        else:
            cut = tile.SliceOp(source, starts, wanted, fill, valid, map_)
        cut.location = op.location
        return builder.insert(cut).result

    def _tiled(
        self, builder: Builder, tiled: TiledOperation, operands: Sequence[SSAValue]
    ) -> SSAValue:
        op = tiled.op
        types = [self._type(tensor_type(op.results[0]), tiled.result)]
        if isinstance(op, PositionInterface):
            position = self.indices.of_box(builder, tiled.result)

            new = op.tiled_at(operands, types, position, partial(add, builder))
        else:
            new = op.tiled(operands, types)
        new.location = op.location
        return builder.insert(new).results[0]

    def _operands(
        self, builder: Builder, tiled: TiledOperation, scope: Scope
    ) -> list[SSAValue]:
        op = tiled.op
        operands: list[SSAValue] = []
        for position, accesses in enumerate(op.operand_accesses()):
            value = op.operands[position]
            if accesses is None:
                operands.append(self.inputs.get(value, value))
                continue
            box = tuple(access.interval(tiled.box) for access in accesses)
            operands.append(self._fetch(builder, op, position, box, scope))
        return operands

    def _fetch(
        self,
        builder: Builder,
        op: TilingInterface,
        position: int,
        box: Box,
        scope: Scope,
    ) -> SSAValue:
        """The tile `box` of an operand, with what lies outside filled as need be."""
        value = op.operands[position]
        border = self.tiling.border(op, position)
        if value in self.inputs:
            return self._slice(builder, value, box, scope, border)
        producer = value.owner
        assert isinstance(producer, Operation)
        whole = self.tiling.tiles[producer].result
        part = self._view(builder, self.values[value], whole, box)
        if border is None:
            return part
        bounds = tensor_type(value).get_shape()
        offsets = self.indices.of_box(builder, box)
        valid = _valid(box, bounds)
        return builder.insert(tile.MaskOp(part, offsets, bounds, border, valid)).result

    def _slice(
        self,
        builder: Builder,
        value: SSAValue,
        box: Box,
        scope: Scope,
        border: float | None,
    ) -> SSAValue:
        """Cut a tile from an input, once for all that need a part of it."""
        moving = any(
            symbol in self.tiling.inner_loops.values()
            for interval in box
            for symbol, _ in interval.offset.terms
        )
        place = Scope.INNER if moving and scope is Scope.INNER else Scope.OUTER
        whole = next(
            each for each in self.tiling.reads[value, place] if covers(each, box)
        )
        if place is Scope.OUTER and scope is Scope.INNER:
            builder = self.outer
        known = self.slices.setdefault((value, place), [])
        for other, cut in known:
            if same_box(other, whole) and _fills(cut, border):
                return self._view(builder, cut, whole, box)
        source = self.inputs[value]
        made = tile.SliceOp(
            source,
            self.indices.of_box(builder, whole),
            self._type(tensor_type(value), whole),
            border,
            _valid(whole, tensor_type(source).get_shape()),
        )
        cut = builder.insert(made).result
        cut.name_hint = value.name_hint
        known.append((whole, cut))
        return self._view(builder, cut, whole, box)

    def _view(
        self, builder: Builder, value: SSAValue, whole: Box, part: Box
    ) -> SSAValue:
        """The part of a tile that holds the box `part`."""
        if same_box(whole, part):
            return value
        offsets = [
            self.indices.of(builder, inner.offset - outer.offset)
            for inner, outer in zip(part, whole, strict=True)
        ]
        type_ = self._type(tensor_type(value), part)
        return builder.insert(tile.SliceOp(value, offsets, type_)).result

    def _accumulate(
        self, builder: Builder, tiled: TiledOperation, op: AccumulatingInterface
    ) -> SSAValue:
        """The loop over the pieces of a reduction."""
        type_ = self._type(tensor_type(op.results[0]), tiled.result)
        start = self._start(builder, tiled, op, type_)
        loops = list(self.tiling.inner_loops.values())
        body = Block(arg_types=[IndexType()] * len(loops) + [type_])
        for loop, variable in zip(loops, body.args, strict=False):
            variable.name_hint = "k"
            self.indices.variables[loop] = variable
        self.outer = builder
        inside = Builder(InsertPoint.at_end(body))
        for each in self.tiling.tiles.values():
            if each.scope is Scope.INNER:
                self._compute(inside, each)
        count = len(op.inputs)
        operands = self._inputs(inside, tiled, count)
        total = self._tiled(inside, tiled, [*operands, body.args[-1]])
        inside.insert(tile.YieldOp(total))
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            [start],
            body,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        return builder.insert(nest).results[0]

    def _inputs(
        self, builder: Builder, tiled: TiledOperation, count: int
    ) -> list[SSAValue]:
        op = tiled.op
        boxes = [
            tuple(access.interval(tiled.box) for access in accesses)
            for accesses in op.operand_accesses()[:count]
            if accesses is not None
        ]
        return [
            self._fetch(builder, op, position, box, Scope.INNER)
            for position, box in enumerate(boxes)
        ]

    def _start(
        self,
        builder: Builder,
        tiled: TiledOperation,
        op: AccumulatingInterface,
        type_: TensorType[Attribute],
    ) -> SSAValue:
        """What a reduction starts from."""
        if op.init_value is None:
            return builder.insert(tile.FillOp(op.neutral(), type_)).result
        position = len(op.operands) - 1
        return self._fetch(builder, op, position, tiled.result, Scope.OUTER)

    def _put_back(
        self, builder: Builder, value: SSAValue, piece: Box, destination: SSAValue
    ) -> SSAValue:
        owner = value.owner
        assert isinstance(owner, Operation)
        whole = self.tiling.tiles[owner].result
        part = self._view(builder, self.values[value], whole, piece)
        offsets = self.indices.of_box(builder, piece)
        valid = _valid(piece, tensor_type(destination).get_shape())
        return builder.insert(tile.DesliceOp(part, destination, offsets, valid)).result

    def _type(self, model: TensorType[Attribute], box: Box) -> TensorType[Attribute]:
        shape = [interval.room for interval in box]
        return TensorType(model.element_type, shape, self.encoding)


def _is_spare(value: SSAValue) -> bool:
    """Whether nothing but the group uses a value, which a loop carries or computed."""
    if len(list(value.uses)) != 1:
        return False
    owner = value.owner
    if isinstance(owner, ViewInterface):
        return _is_spare(owner.operands[0])
    if isinstance(owner, Operation):
        return not isinstance(owner, ConstantInterface)
    return isinstance(owner.parent_op(), tile.WhileOp)


def _valid(box: Box, bounds: Sequence[int]) -> list[int] | None:
    """
    How much of a tile's room is used along each axis, or None where all is, or the
    bounds of the whole tensor tell.
    """
    told = [
        interval.room == interval.size
        or (
            not interval.offset.terms
            and interval.offset.constant + interval.size >= bound
        )
        for interval, bound in zip(box, bounds, strict=True)
    ]
    return None if all(told) else [interval.size for interval in box]


def _fills(cut: SSAValue, border: float | None) -> bool:
    """Whether a slice reads `border` outside, or nobody asks what it reads."""
    if border is None:
        return True
    owner = cut.owner
    if not isinstance(owner, tile.SliceOp) or owner.fill is None:
        return False
    return owner.fill.value.data == border
