"""
Reads a function of tiles as a schedule: what moves, what is computed, and where.

Tiles get buffers as `convert-tile-to-mem` gives them: what is computed element by
element may take the place of an operand that ends there, rings keep what overlaps, and
what has a place already is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tlf.analysis.buffers.origin import origin_of
from tlf.analysis.buffers.parts import find_parts
from tlf.analysis.buffers.regions import Region
from tlf.analysis.buffers.rings import Ring, find_rings
from tlf.analysis.buffers.tile_liveness import Liveness, Storage
from tlf.dialects import tile
from tlf.dialects.cuts import row_major
from tlf.dialects.npu import dma_engine
from tlf.dialects.target import Target
from tlf.dialects.target.machine import machine_of
from tlf.dialects.tile import EncodingAttr, level_of
from tlf.dialects.types import AnyTensor, dtype_of, tensor_type
from tlf.machine.costs import Cost, Costs
from tlf.planner.cost.program.indices import Indices, UnknownTimeError
from tlf.planner.cost.program.maps import splat_of
from tlf.planner.cost.program.moves import MovePrice, Side
from tlf.planner.cost.program.pending import Pending
from tlf.planner.cost.program.places import Place
from tlf.planner.cost.program.program import (
    Access,
    Buffer,
    Fixed,
    Item,
    Nest,
    Price,
    Step,
)
from tlf.planner.cost.program.turns import turn_of
from tlf.support.affine.access import Linear

ReadOperation: TypeAlias = "Callable[[Reader, Operation], None]"
"""Adds what an operation does to a schedule."""


class Reader:
    """
    State of reading a function: the places of all tiles, and the items read so far.
    """

    def __init__(
        self, function: func.FuncOp, target: Target, operation: ReadOperation
    ) -> None:
        self.function = function
        self.operation = operation
        self.target = target
        self.costs = Costs(machine_of(target))
        self.indices = Indices()
        self.liveness = Liveness(function)
        self.rings = find_rings(function, target, self.liveness)
        self.parts = find_parts(function, target, self.liveness)
        self.made: set[tile.DesliceOp] = set()
        """The `tile.DesliceOp`s of tiles that were computed in place."""
        self.buffers: dict[Ring, Place] = {}
        """The whole of each ring."""
        self.following: dict[Ring, Place] = {}
        self.firsts: dict[Ring, Place] = {}
        self.places: dict[SSAValue, Place] = {}
        self.storages: dict[SSAValue, Storage] = {}
        self.destinations: dict[SSAValue, Place] = {}
        self.pending = Pending()
        self.nest: Nest | None = None
        self._count = 0
        self.items: list[Item] = []
        names = list(target.levels)
        self._neighbours = set(pairwise(names)) | set(pairwise(names[::-1]))
        self.nearest = names[0]

    def read(self) -> list[Item]:
        """The schedule of the function."""
        block = self.function.body.block
        for argument in block.args:
            if isinstance(argument.type, TensorType):
                place = self.allocate(tensor_type(argument))
                self.bind(argument, place, Storage(writable=False))
        returned = block.last_op
        assert isinstance(returned, func.ReturnOp)
        for value in returned.arguments:
            self._destine(value)
        self.block(block)
        self.finish(self.pending.all())
        return self.items

    def next(self) -> int:
        """A number greater than all before."""
        self._count += 1
        return self._count

    def _destine(self, value: SSAValue) -> None:
        """Let what a returned value is put together in be one place."""
        if (origin := origin_of(value)) is None:
            raise UnknownTimeError(
                self.function, "expected results that tiles were put into"
            )
        self.destinations[origin] = self.allocate(tensor_type(origin))

    def block(self, block: Block) -> None:
        """Read the operations of a block, all but the last."""
        for op in block.ops:
            if op is block.last_op:
                return
            if isinstance(op, ApplyOp):
                self.indices.apply(op)
            else:
                self.operation(self, op)

    def inner_block(self, block: Block) -> None:
        """Read the operations of a loop's body; moves end where it ends."""
        pending, self.pending = self.pending, Pending()
        self.block(block)
        self.finish(self.pending.all())
        self.pending = pending

    # Tiles and their places

    def level(self, type_: Attribute) -> str:
        """The memory level of a tile."""
        return level_of(type_) or self.target.outermost.name

    def allocate(self, type_: AnyTensor, slices: int = 1, axis: int = 0) -> Place:
        """A new buffer for a tile; a ring of several slices along an axis."""
        item = dtype_of(type_.element_type).itemsize
        shape = type_.get_shape()
        room = list(shape)
        if slices > 1:
            room[axis] = slices
        encoding = type_.encoding
        axes = encoding.axes if isinstance(encoding, EncodingAttr) else ()
        nesting = list(axes) or list(range(len(room)))
        inner = row_major([room[each] for each in nesting])
        strides = [0] * len(room)
        for each, stride in zip(nesting, inner, strict=True):
            strides[each] = stride * item
        size = item * prod(room)
        order = (self.next(),)
        buffer = Buffer(self.level(type_), size, self.nest, slices, order=order)
        region = Region.whole(room, strides)
        return Place(buffer, shape, tuple(strides), item, region=region)

    def bind(self, value: SSAValue, place: Place, storage: Storage) -> None:
        """Say where a tile is."""
        self.places[value] = place
        self.storages[value] = storage
        storage.values.append(value)

    def place(self, value: SSAValue) -> Place:
        """
        Return the place of a tile; a constant of one value becomes a filled tile now.
        """
        if value not in self.places and splat_of(value) is not None:
            self.bind(value, self.filled(tensor_type(value)), Storage())
        return self.places[value]

    def filled(self, type_: AnyTensor, is_neutral: bool = True) -> Place:
        """A new tile that is filled with a number."""
        place = self.allocate(type_)
        cost = self.costs.elementwise(prod(place.shape))
        self.compute(cost, (), place).fills = is_neutral
        return place

    def scratch(self, like: Place, size: int) -> Place:
        """A place for some bytes that are computed in between."""
        buffer = Buffer(like.buffer.level, size, self.nest, order=(self.next(),))
        return Place(buffer, (size,), (1,), 1)

    # Moves that are under way

    def reading(self, *values: SSAValue) -> None:
        """Wait for what is on its way to some tiles."""
        self.wait(reads=[self.storages[e] for e in values if e in self.storages])

    def wait(
        self, reads: Sequence[Storage] = (), writes: Sequence[Storage] = ()
    ) -> None:
        """Wait for the moves that stand against reading and writing some places."""
        self.finish(self.pending.against(reads, writes))

    def finish(self, moves: tuple[Step, ...]) -> None:
        """Wait for moves."""
        if moves:
            self.items.append(Step(Fixed(()), 0, finishes=moves))

    # Instructions

    def compute(self, cost: Cost, inputs: Sequence[Place], output: Place) -> Step:
        """An instruction of an engine."""
        return self.step(Fixed((cost,)), cost.queue, inputs, (output,))

    def step(
        self,
        price: Price,
        queue: int,
        inputs: Sequence[Place],
        outputs: Sequence[Place],
    ) -> Step:
        """An instruction."""
        reads = dict.fromkeys(each.access for each in inputs)
        writes = dict.fromkeys(each.access for each in outputs)
        step = Step(price, queue, tuple(reads), tuple(writes))
        self.items.append(step)
        return step

    def move(self, source: Side, destination: Side, box: tuple[int, ...]) -> Step:
        """A move between two levels."""
        levels = (source.place.buffer.level, destination.place.buffer.level)
        if levels not in self._neighbours:
            raise UnknownTimeError(
                self.function, f"expected moves between neighbours, got {levels}"
            )
        engine = dma_engine(*levels)
        price = MovePrice(self.costs, engine, source, destination, box)
        reads, writes = (self._access(each, box) for each in (source, destination))
        step = Step(price, self.costs.queues[engine], (reads,), (writes,))
        step.moves = (source.place.buffer, destination.place.buffer)
        self.items.append(step)
        return step

    def _access(self, side: Side, box: tuple[int, ...]) -> Access:
        """Return the access of a move to one of its sides."""
        access, nest = side.place.access, self.nest
        if nest is None or access.buffer.home is nest or side.place.window:
            return access
        return replace(access, turn=turn_of(nest, side.offsets, box))


def whole(place: Place) -> Side:
    """A side of a move that starts where a place does."""
    return Side(place, tuple(Linear() for _ in place.shape))
