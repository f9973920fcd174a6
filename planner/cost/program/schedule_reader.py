"""
Cost model of NPU tile programs: a tile function of the IR read as a schedule of moves,
computation and buffers.

Tiles get buffers as in `convert-tile-to-mem`: elementwise results may reuse the buffer
of an operand without later uses, ring buffers retain overlapping elements, and tiles
that are already stored are views.
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

from tlf.analysis.buffers.box_disjointness import (
    MAX_ITERATIONS,
    is_disjoint_across_iterations,
)
from tlf.analysis.buffers.destination_origin import empty_origin_of
from tlf.analysis.buffers.in_place_subviews import find_in_place_subviews
from tlf.analysis.buffers.ring_buffers import RingBuffer, find_ring_buffers
from tlf.analysis.buffers.subview_disjointness import BufferRegion
from tlf.analysis.buffers.tile_liveness import SharedStorage, TileLiveness
from tlf.dialects import tile
from tlf.dialects.interfaces import splat_attribute_of
from tlf.dialects.npu import dma_engine_name
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.dialects.tile import EncodingAttr, level_of
from tlf.dialects.types import AnyTensor, dtype_of, scalar_value, tensor_type
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.planner.cost.program.affine_indices import (
    AffineIndices,
    UnpredictableTimeError,
)
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    DisjointBox,
    FixedCost,
    Instruction,
    InstructionCost,
    Item,
    Nest,
    counter_values,
    evaluate_index,
)
from tlf.planner.cost.program.move_cost import MoveCost, MoveSide
from tlf.planner.cost.program.pending_moves import PendingMoves
from tlf.support.affine.index_access import AffineSum

ReadOperation: TypeAlias = "Callable[[ScheduleReader, Operation], None]"
"""Adds the items of an operation to a schedule."""


class ScheduleReader:
    """State of the conversion of a function: views of all tiles, and items so far."""

    def __init__(
        self, function: func.FuncOp, target: TargetSpec, read_operation: ReadOperation
    ) -> None:
        self.function = function
        self.operation = read_operation
        self.target = target
        self.costs = InstructionCosts(build_npu_machine(target))
        self.indices = AffineIndices()
        self.liveness = TileLiveness(function)
        self.rings = find_ring_buffers(function, target, self.liveness)
        self.parts = find_in_place_subviews(function, target, self.liveness)
        self.made: set[tile.DesliceOp] = set()
        """`tile.DesliceOp`s whose tiles were computed in place."""
        self.buffers: dict[RingBuffer, BufferView] = {}
        """View of each whole ring."""
        self.following: dict[RingBuffer, BufferView] = {}
        self.firsts: dict[RingBuffer, BufferView] = {}
        self.places: dict[SSAValue, BufferView] = {}
        self.storages: dict[SSAValue, SharedStorage] = {}
        self.destinations: dict[SSAValue, BufferView] = {}
        self.pending = PendingMoves()
        self.nest: Nest | None = None
        self._count = 0
        self.items: list[Item] = []
        names = list(target.levels)
        self._neighbours = set(pairwise(names)) | set(pairwise(names[::-1]))
        self.nearest = names[0]

    def read_function(self) -> list[Item]:
        """Build the schedule of the function, with a wait for pending moves last."""
        block = self.function.body.block
        for argument in block.args:
            if isinstance(argument.type, TensorType):
                view = self.allocate_view(tensor_type(argument))
                self.bind_view(argument, view, SharedStorage(is_writable=False))
        returned = block.last_op
        assert isinstance(returned, func.ReturnOp)
        for value in returned.arguments:
            self._allocate_returned_buffer(value)
        self.read_block(block)
        self.wait_for_moves(self.pending.take_all_moves())
        return self.items

    def next_program_position(self) -> int:
        """Return a number greater than all previous ones."""
        self._count += 1
        return self._count

    def _allocate_returned_buffer(self, value: SSAValue) -> None:
        """Allocate a buffer for a returned value that tiles are inserted into."""
        if (origin := empty_origin_of(value)) is None:
            raise UnpredictableTimeError(
                self.function, "expected results that tiles were put into"
            )
        self.destinations[origin] = self.allocate_view(tensor_type(origin))

    def read_block(self, block: Block) -> None:
        """Append the items of a block, except the terminator's, to the schedule."""
        for op in block.ops:
            if op is block.last_op:
                return
            if isinstance(op, ApplyOp):
                self.indices.record_affine_apply(op)
            else:
                self.operation(self, op)

    def read_loop_block(self, block: Block) -> None:
        """Read the body of a loop; its moves are complete at the end of the body."""
        pending, self.pending = self.pending, PendingMoves()
        self.read_block(block)
        self.wait_for_moves(self.pending.take_all_moves())
        self.pending = pending

    # Tiles and their views

    def level_of(self, type_: Attribute) -> str:
        """Return the memory level of a tile."""
        return level_of(type_) or self.target.outermost_level.name

    def allocate_view(
        self, type_: AnyTensor, slice_count: int = 1, axis: int = 0
    ) -> BufferView:
        """
        Return a new buffer for a tile, or a ring of `slice_count` slices along an axis.
        """
        item = dtype_of(type_.element_type).itemsize
        shape = type_.get_shape()
        extents = list(shape)
        if slice_count > 1:
            extents[axis] = slice_count
        encoding = type_.encoding
        axes = encoding.axis_order if isinstance(encoding, EncodingAttr) else ()
        axis_order = list(axes) or list(range(len(extents)))
        inner = row_major_strides([extents[each] for each in axis_order])
        strides = [0] * len(extents)
        for each, stride in zip(axis_order, inner, strict=True):
            strides[each] = stride * item
        size = item * prod(extents)
        order = (self.next_program_position(),)
        buffer = Buffer(
            self.level_of(type_), size, self.nest, slice_count, level_position=order
        )
        region = BufferRegion.whole_buffer(extents, strides)
        return BufferView(buffer, shape, tuple(strides), item, region=region)

    def bind_view(
        self, value: SSAValue, view: BufferView, storage: SharedStorage
    ) -> None:
        """Bind a tile to its view and storage."""
        self.places[value] = view
        self.storages[value] = storage
        storage.values.append(value)

    def view_of(self, value: SSAValue) -> BufferView:
        """Return the view of a tile; a splat constant is filled on its first use."""
        splat = splat_attribute_of(value)
        if value not in self.places and splat is not None:
            view = self.make_filled_view(tensor_type(value), scalar_value(splat))
            self.bind_view(value, view, SharedStorage())
        return self.places[value]

    def make_filled_view(self, type_: AnyTensor, value: float) -> BufferView:
        """
        Return a view of a new buffer, and append the instruction that fills it with a
        number.
        """
        view = self.allocate_view(type_)
        cost = self.costs.cost_of_elementwise(prod(view.shape))
        self.add_compute(cost, (), view).fill_value = value
        return view

    def make_scratch_view(
        self, example_view: BufferView, byte_count: int
    ) -> BufferView:
        """Return a view of a new temporary buffer in the level of the example."""
        buffer = Buffer(
            example_view.buffer.level,
            byte_count,
            self.nest,
            level_position=(self.next_program_position(),),
        )
        return BufferView(buffer, (byte_count,), (1,), 1)

    # Moves in flight

    def wait_for_pending_writes(self, *values: SSAValue) -> None:
        """Wait for pending writes of some tiles."""
        self.wait_for_conflicts(
            reads=[self.storages[e] for e in values if e in self.storages]
        )

    def wait_for_conflicts(
        self, reads: Sequence[SharedStorage] = (), writes: Sequence[SharedStorage] = ()
    ) -> None:
        """Wait for moves that conflict with reading and writing some storages."""
        self.wait_for_moves(self.pending.take_conflicting_moves(reads, writes))

    def wait_for_moves(self, moves: tuple[Instruction, ...]) -> None:
        """Add a wait for moves."""
        if moves:
            self.items.append(Instruction(FixedCost(()), 0, completed_moves=moves))

    # Instructions

    def add_compute(
        self, cost: Cost, inputs: Sequence[BufferView], output: BufferView
    ) -> Instruction:
        """Add a compute instruction."""
        return self.add_instruction(FixedCost((cost,)), cost.queue, inputs, (output,))

    def add_instruction(
        self,
        instruction_cost: InstructionCost,
        queue: int,
        inputs: Sequence[BufferView],
        outputs: Sequence[BufferView],
    ) -> Instruction:
        """Append a new instruction to the schedule and return it."""
        reads = dict.fromkeys(each.access for each in inputs)
        writes = dict.fromkeys(each.access for each in outputs)
        step = Instruction(instruction_cost, queue, tuple(reads), tuple(writes))
        self.items.append(step)
        return step

    def add_move(
        self, source: MoveSide, destination: MoveSide, box: tuple[int, ...]
    ) -> Instruction:
        """Append and return a new move of a box between two adjacent levels."""
        levels = (source.view.buffer.level, destination.view.buffer.level)
        if levels not in self._neighbours:
            raise UnpredictableTimeError(
                self.function, f"expected moves between adjacent levels, got {levels}"
            )
        engine = dma_engine_name(*levels)
        cost = MoveCost(self.costs, engine, source, destination, box)
        reads, writes = (
            self._access_to_move_side(each, box) for each in (source, destination)
        )
        step = Instruction(cost, self.costs.queues[engine], (reads,), (writes,))
        step.move_endpoints = (source.view.buffer, destination.view.buffer)
        self.items.append(step)
        return step

    def _access_to_move_side(
        self, side: MoveSide, box_shape: tuple[int, ...]
    ) -> BufferAccess:
        """Return the access of a move to one side, with its disjoint box if known."""
        access, nest = side.view.access, self.nest
        if (
            nest is None
            or access.buffer.allocation_nest is nest
            or side.view.ring_window
        ):
            return access
        return replace(
            access, disjoint_box=_find_disjoint_box(nest, side.offsets, box_shape)
        )


def move_side_at_origin(view: BufferView) -> MoveSide:
    """Return the side of a move that starts at the origin of a view."""
    return MoveSide(view, tuple(AffineSum() for _ in view.shape))


def _find_disjoint_box(
    nest: Nest, offsets: tuple[AffineSum, ...], box_shape: tuple[int, ...]
) -> DisjointBox | None:
    """Return the box of an iteration if boxes of any two iterations are disjoint."""
    if not 1 < nest.trip_count <= MAX_ITERATIONS:
        return None
    variables = set(nest.counters)
    columns = [
        [evaluate_index(offset, values) for values in counter_values(nest.counters)]
        if all(symbol in variables for symbol, _ in offset.terms)
        else None
        for offset in offsets
    ]
    return (
        DisjointBox(nest, offsets, box_shape)
        if is_disjoint_across_iterations(columns, box_shape)
        else None
    )
