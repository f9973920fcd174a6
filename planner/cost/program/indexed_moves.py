"""
Cost model of gathers and scatters: operations of a tile program read as moves whose
addresses come from indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir.affine import AffineMap

from tlf.dialects import tile
from tlf.dialects.npu import dma_engine_name
from tlf.machine.instruction_costs import (
    Cost,
    InstructionCosts,
    RowIndices,
    TransferEnd,
)
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import (
    AxisRange,
    BurstPhase,
    Instruction,
    Values,
    evaluate_index,
)
from tlf.planner.cost.program.level_copies import writable_view_of_operand
from tlf.planner.cost.program.move_cost import MoveSide
from tlf.planner.cost.program.schedule_reader import ScheduleReader
from tlf.planner.cost.program.tile_reader import make_tile_view
from tlf.support.affine.linear_access import linear_accesses_of_map, strides_over_domain


@dataclass(eq=False)
class IndexedMoveCost:
    """Cost of a move whose offsets along an axis of a table come from indices."""

    costs: InstructionCosts
    engine: str
    table: MoveSide
    index_view: BufferView
    moved_view: BufferView
    indexed_axis: int
    indexing_maps: tuple[AffineMap, AffineMap]
    box_shape: tuple[int, ...]
    is_scatter: bool = False
    """True if the table is written, False if it is read."""
    is_accumulating: bool = False
    axis_ranges: tuple[AxisRange, ...] = field(init=False)
    phases: tuple[BurstPhase, ...] = field(init=False)

    def __post_init__(self) -> None:
        levels = self.costs.machine.levels
        self._offsets = [
            offset + access.offset
            for offset, access in zip(
                self.table.offsets,
                linear_accesses_of_map(self.indexing_maps[0]),
                strict=True,
            )
        ]
        base = self.table.view.byte_offset
        for offset, stride in zip(self._offsets, self.table.view.strides, strict=True):
            base += offset * stride
        self._base = base
        self._named = self.index_view.byte_offset + sum(
            access.offset * stride
            for access, stride in zip(
                linear_accesses_of_map(self.indexing_maps[1]),
                self.index_view.strides,
                strict=True,
            )
        )
        ends = (
            (base, self.table.view.buffer.level),
            (self._named, self.index_view.buffer.level),
            (self.moved_view.byte_offset, self.moved_view.buffer.level),
        )
        self.phases = tuple(
            BurstPhase(start, levels[level].burst)
            for start, level in ends
            if start.terms and levels[level].burst > 1
        )
        self.axis_ranges = tuple(
            AxisRange(self._offsets[axis], self.box_shape[dimension], bound)
            for axis, dimension, bound in self._clipped_axes
            if self._offsets[axis].terms
        )

    @property
    def _clipped_axes(self) -> list[tuple[int, int, int]]:
        """
        Axes of the table that may clip the box, with their dimensions and extents.
        """
        axes = list[tuple[int, int, int]]()
        shape = self.table.view.shape
        for axis, access in enumerate(linear_accesses_of_map(self.indexing_maps[0])):
            if axis != self.indexed_axis and access.loop_dim is not None:
                axes.append((axis, access.loop_dim, shape[axis]))
        return axes

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """Return the cost of the move in one iteration, in a tuple of one."""
        read, start = list(self.box_shape), evaluate_index(self._base, values)
        index_start = evaluate_index(self._named, values)
        table_strides = strides_over_domain(
            self.indexing_maps[0], self.table.view.strides
        )
        index_strides = strides_over_domain(
            self.indexing_maps[1], self.index_view.strides
        )
        for axis, dimension, bound in self._clipped_axes:
            first = evaluate_index(self._offsets[axis], values)
            low = max(0, -first)
            read[dimension] = max(
                0, min(self.box_shape[dimension], bound - first) - low
            )
            start += low * table_strides[dimension]
            index_start += low * index_strides[dimension]
        shape = tuple(read)
        table = TransferEnd(start, shape, table_strides)
        written = shape if self.is_scatter else self.box_shape
        moved = TransferEnd(
            evaluate_index(self.moved_view.byte_offset, values),
            written,
            self.moved_view.strides,
        )
        ends = (moved, table) if self.is_scatter else (table, moved)
        cost = self.costs.cost_of_move(
            self.engine,
            *ends,
            self.moved_view.item_bytes,
            self._make_row_indices(TransferEnd(index_start, shape, index_strides)),
        )
        return (cost,)

    def _make_row_indices(self, index_array: TransferEnd) -> RowIndices:
        """Return the row indices of the move, given the array of indices."""
        return RowIndices(
            index_array,
            self.index_view.item_bytes,
            self.index_view.buffer.level,
            self.table.view.strides[self.indexed_axis],
            self.is_scatter,
            self.is_accumulating,
        )


def read_gather(reader: ScheduleReader, op: tile.GatherOp) -> None:
    """Append an indexed move for a gather to the schedule, and bind its result."""
    source, indices = reader.view_of(op.source), reader.view_of(op.indices)
    offsets = reader.indices.to_affine_sums(op.mixed_offsets)
    reader.wait_for_pending_writes(op.source, op.indices)
    view, storage = make_tile_view(reader, op.result)
    table = MoveSide(source, offsets)
    cost = _make_indexed_move_cost(reader, op, (source, view), table, indices, view)
    step = _add_indexed_move(reader, cost, source, view)
    # The source is in use until the move is complete.
    enclosing = reader.storages[op.source].outermost
    reader.pending.moves_by_source.setdefault(enclosing, []).append(step)
    reader.bind_view(op.result, view, storage)
    reader.pending.add_move(step, reader.storages[op.indices], storage)


def read_scatter(reader: ScheduleReader, op: tile.ScatterOp) -> None:
    """Add a move that scatters elements by indices, in place of the updated tile."""
    view, storage = writable_view_of_operand(reader, op, op.destination)
    source, indices = reader.view_of(op.source), reader.view_of(op.indices)
    offsets = reader.indices.to_affine_sums(op.mixed_offsets)
    reader.wait_for_pending_writes(op.source, op.indices)
    reader.wait_for_conflicts(writes=[storage])
    table = MoveSide(view, offsets)
    cost = _make_indexed_move_cost(reader, op, (source, view), table, indices, source)
    step = _add_indexed_move(reader, cost, source, view)
    for value in (op.source, op.indices):
        reader.pending.add_move(step, reader.storages[value], storage)
    reader.bind_view(op.result, view, storage)


def _make_indexed_move_cost(
    reader: ScheduleReader,
    op: tile.GatherOp | tile.ScatterOp,
    source_and_destination: tuple[BufferView, BufferView],
    table_side: MoveSide,
    index_view: BufferView,
    moved_view: BufferView,
) -> IndexedMoveCost:
    """
    Return the cost of a move between `source_and_destination`, one of which is the
    table.
    """
    if any(view.ring_window is not None for view in (index_view, moved_view)):
        raise UnpredictableTimeError(
            op, "expected indices and elements outside of ring buffers"
        )
    source, destination = (each.buffer.level for each in source_and_destination)
    return IndexedMoveCost(
        reader.costs,
        dma_engine_name(source, destination),
        table_side,
        index_view,
        moved_view,
        op.indexed_axis,
        (op.table_map, op.index_map),
        op.valid_box_extents,
        is_scatter=isinstance(op, tile.ScatterOp),
        is_accumulating=isinstance(op, tile.ScatterOp) and op.is_scatter_add,
    )


def _add_indexed_move(
    reader: ScheduleReader,
    move_cost: IndexedMoveCost,
    source: BufferView,
    destination: BufferView,
) -> Instruction:
    """
    Add a gather or scatter between two views to the schedule, in the queue of its DMA
    engine, and return it.
    """
    queue = reader.costs.queues[move_cost.engine]
    step = reader.add_instruction(
        move_cost, queue, (source, move_cost.index_view), (destination,)
    )
    step.move_endpoints, step.is_indexed = (source.buffer, destination.buffer), True
    return step
