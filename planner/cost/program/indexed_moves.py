"""
Cost model of gathers and scatters of a schedule: moves whose addresses come from
indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir.affine import AffineMap

from tlf.dialects import tile
from tlf.dialects.npu import dma_engine
from tlf.machine.instruction_costs import Cost, Indices, InstructionCosts, TransferEnd
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import (
    AxisRange,
    BurstPhase,
    Instruction,
    Values,
    evaluate_index,
)
from tlf.planner.cost.program.level_copies import writable_view
from tlf.planner.cost.program.move_cost import MoveSide
from tlf.planner.cost.program.schedule_reader import ScheduleReader
from tlf.planner.cost.program.tile_reader import make_view
from tlf.support.affine.linear_access import access_functions, strides_over_domain


@dataclass(eq=False)
class IndexedMoveCost:
    """Cost of a move whose offsets along an axis of a table come from indices."""

    costs: InstructionCosts
    engine: str
    table: MoveSide
    indices: BufferView
    moved: BufferView
    axis: int
    maps: tuple[AffineMap, AffineMap]
    box: tuple[int, ...]
    scatter: bool = False
    """True if the table is written, False if it is read."""
    accumulate: bool = False
    axis_ranges: tuple[AxisRange, ...] = field(init=False)
    phases: tuple[BurstPhase, ...] = field(init=False)

    def __post_init__(self) -> None:
        levels = self.costs.machine.levels
        self._offsets = [
            offset + access.offset
            for offset, access in zip(
                self.table.offsets, access_functions(self.maps[0]), strict=True
            )
        ]
        base = self.table.place.base
        for offset, stride in zip(self._offsets, self.table.place.strides, strict=True):
            base += offset * stride
        self._base = base
        self._named = self.indices.base + sum(
            access.offset * stride
            for access, stride in zip(
                access_functions(self.maps[1]), self.indices.strides, strict=True
            )
        )
        ends = (
            (base, self.table.place.buffer.level),
            (self._named, self.indices.buffer.level),
            (self.moved.base, self.moved.buffer.level),
        )
        self.phases = tuple(
            BurstPhase(start, levels[level].burst)
            for start, level in ends
            if start.terms and levels[level].burst > 1
        )
        self.axis_ranges = tuple(
            AxisRange(self._offsets[axis], self.box[dimension], bound)
            for axis, dimension, bound in self._clipped_axes
            if self._offsets[axis].terms
        )

    @property
    def _clipped_axes(self) -> list[tuple[int, int, int]]:
        """
        Axes of the table that may clip the box, with their dimensions and extents.
        """
        axes = list[tuple[int, int, int]]()
        shape = self.table.place.shape
        for axis, access in enumerate(access_functions(self.maps[0])):
            if axis != self.axis and access.loop_dim is not None:
                axes.append((axis, access.loop_dim, shape[axis]))
        return axes

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """Return the cost of the instruction."""
        read, start = list(self.box), evaluate_index(self._base, values)
        index_start = evaluate_index(self._named, values)
        table_strides = strides_over_domain(self.maps[0], self.table.place.strides)
        index_strides = strides_over_domain(self.maps[1], self.indices.strides)
        for axis, dimension, bound in self._clipped_axes:
            first = evaluate_index(self._offsets[axis], values)
            low = max(0, -first)
            read[dimension] = max(0, min(self.box[dimension], bound - first) - low)
            start += low * table_strides[dimension]
            index_start += low * index_strides[dimension]
        shape = tuple(read)
        table = TransferEnd(start, shape, table_strides)
        written = shape if self.scatter else self.box
        moved = TransferEnd(
            evaluate_index(self.moved.base, values), written, self.moved.strides
        )
        ends = (moved, table) if self.scatter else (table, moved)
        cost = self.costs.cost_of_move(
            self.engine,
            *ends,
            self.moved.item,
            Indices(
                TransferEnd(index_start, shape, index_strides),
                self.indices.item,
                self.indices.buffer.level,
                self.table.place.strides[self.axis],
                self.scatter,
                self.accumulate,
            ),
        )
        return (cost,)


def read_gather(reader: ScheduleReader, op: tile.GatherOp) -> None:
    """Add a move that gathers elements by indices."""
    source, indices = reader.view_of(op.source), reader.view_of(op.indices)
    offsets = reader.indices.to_affine_all(op.mixed_offsets)
    reader.wait_for_reads(op.source, op.indices)
    view, storage = make_view(reader, op.result)
    table = MoveSide(source, offsets)
    cost = _make_cost(reader, op, (source, view), table, indices, view)
    step = _add_indexed_move(reader, cost, source, view)
    # The source is in use until the move is complete.
    enclosing = reader.storages[op.source].outermost
    reader.pending.read.setdefault(enclosing, []).append(step)
    reader.bind_view(op.result, view, storage)
    reader.pending.add_move(step, reader.storages[op.indices], storage)


def read_scatter(reader: ScheduleReader, op: tile.ScatterOp) -> None:
    """Add a move that scatters elements by indices, in place of the updated tile."""
    view, storage = writable_view(reader, op, op.destination)
    source, indices = reader.view_of(op.source), reader.view_of(op.indices)
    offsets = reader.indices.to_affine_all(op.mixed_offsets)
    reader.wait_for_reads(op.source, op.indices)
    reader.wait_for_conflicts(writes=[storage])
    table = MoveSide(view, offsets)
    cost = _make_cost(reader, op, (source, view), table, indices, source)
    step = _add_indexed_move(reader, cost, source, view)
    for value in (op.source, op.indices):
        reader.pending.add_move(step, reader.storages[value], storage)
    reader.bind_view(op.result, view, storage)


def _make_cost(
    reader: ScheduleReader,
    op: tile.GatherOp | tile.ScatterOp,
    ends: tuple[BufferView, BufferView],
    table: MoveSide,
    indices: BufferView,
    moved: BufferView,
) -> IndexedMoveCost:
    """Return the cost of a move between `ends`, one of which is the table."""
    if any(view.window is not None for view in (indices, moved)):
        raise UnpredictableTimeError(
            op, "expected indices and elements outside of ring buffers"
        )
    source, destination = (each.buffer.level for each in ends)
    return IndexedMoveCost(
        reader.costs,
        dma_engine(source, destination),
        table,
        indices,
        moved,
        op.indexed_axis,
        (op.table_map, op.index_map),
        op.extents,
        scatter=isinstance(op, tile.ScatterOp),
        accumulate=isinstance(op, tile.ScatterOp) and op.is_scatter_add,
    )


def _add_indexed_move(
    reader: ScheduleReader,
    price: IndexedMoveCost,
    source: BufferView,
    destination: BufferView,
) -> Instruction:
    queue = reader.costs.queues[price.engine]
    step = reader.add_instruction(price, queue, (source, price.indices), (destination,))
    step.moves, step.indexed = (source.buffer, destination.buffer), True
    return step
