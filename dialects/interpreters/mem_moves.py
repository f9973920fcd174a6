"""
Reference interpretation of buffers, moves and views of the `mem` dialect.

A buffer is an array, and a view of a buffer is a numpy view. Undefined elements are
poisoned: the initial contents of an allocation, the destination of a move in flight,
and elements outside of a source without a fill. A move takes effect at its `mem.wait`;
before the wait, it is an error to read its destination, or to write to its source or
destination.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects import memref
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects import mem
from tlf.dialects.global_elements import load_global_elements
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.affine_gather import (
    gather_box,
    gather_box_by_indices,
    scatter_box_by_indices,
)
from tlf.dialects.interpreters.in_flight_moves import InFlightMove, InFlightMoves
from tlf.dialects.interpreters.poison_values import (
    OUTSIDE,
    UNAWAITED,
    UNWRITTEN,
    PoisonTracker,
)
from tlf.dialects.interpreters.ring_windows import (
    MoveEnd,
    RingWindow,
    copy_padded_box,
    view_in_bounds_box,
)
from tlf.dialects.interpreters.tile import clip_box_to_slices, resolve_mixed_offsets
from tlf.dialects.types import dtype_of


@register_impls
class MemMoveFunctions(InterpreterFunctions):
    """
    Interpreter functions of buffer allocations, moves, waits and views at the mem
    level.
    """

    def __init__(
        self,
        poison: PoisonTracker | None = None,
        in_flight_moves: InFlightMoves | None = None,
    ) -> None:
        self._poison = poison or PoisonTracker()
        self._flight = in_flight_moves or InFlightMoves()

    @impl(mem.AllocOp)
    def run_alloc(
        self, interpreter: Interpreter, op: mem.AllocOp, args: PythonValues
    ) -> PythonValues:
        type_ = op.buffer_type
        tensor = TensorType(type_.element_type, type_.get_shape())
        return (self._poison.make_undefined_array(op, UNWRITTEN, tensor),)

    @impl(mem.DmaOp)
    def run_dma(
        self, interpreter: Interpreter, op: mem.DmaOp, args: PythonValues
    ) -> PythonValues:
        """
        Start an asynchronous copy of a box between buffers; return the move to wait
        for.
        """
        *values, source, destination = args
        dynamic = iter(values)
        source_offsets = resolve_mixed_offsets(op.mixed_source_offsets, dynamic)
        destination_offsets = resolve_mixed_offsets(
            op.mixed_destination_offsets, dynamic
        )
        return self._start_move(
            self._prepare_move(
                op, source, source_offsets, destination, destination_offsets
            )
        )

    def _start_move(self, move: InFlightMove) -> PythonValues:
        """Start a move; its destination is undefined until the move finishes."""
        self._flight.start_move(move)
        for each in move.destination:
            each[...] = self._poison.record_undefined_value(
                move.op, UNAWAITED, each.dtype
            )
        return (move,)

    def _prepare_move(
        self,
        op: mem.DmaOp,
        source: MoveEnd,
        source_offsets: Sequence[int],
        destination: MoveEnd,
        destination_offsets: Sequence[int],
    ) -> InFlightMove:
        """
        Return the move with views of the elements it reads and writes, and the values
        that will be written.
        """
        box: Sequence[int] = op.box_sizes
        if op.clipped is not None:
            region, valid = clip_box_to_slices(source_offsets, box, source.shape)
            box = [each.stop - each.start for each in region]
            source_offsets = [each.start for each in region]
            pairs = zip(destination_offsets, valid, strict=True)
            destination_offsets = [offset + each.start for offset, each in pairs]
        outside = op.fill_value
        if outside is None:
            outside = self._poison.record_undefined_value(op, OUTSIDE, source.dtype)
        values = copy_padded_box(source, source_offsets, box, outside)
        targets = view_in_bounds_box(destination, destination_offsets, box)
        return InFlightMove(
            op,
            [each for each, _ in view_in_bounds_box(source, source_offsets, box)],
            [each for each, _ in targets],
            [values[(*box, ...)] for _, box in targets],
        )

    @impl(mem.DmaGatherOp)
    def run_dma_gather(
        self, interpreter: Interpreter, op: mem.DmaGatherOp, args: PythonValues
    ) -> PythonValues:
        """
        Start an asynchronous gather of a box from the source at indexed positions;
        elements out of bounds get the fill value, by default 0.
        """
        indices, source, destination, *dynamic = args
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        outside = np.asarray(op.fill_value or 0).astype(source.dtype)
        maps, axis = (op.table_map, op.index_map), op.indexed_axis
        values = gather_box_by_indices(
            source, offsets, maps, axis, indices, op.box_sizes, outside
        )
        target = destination[(*(slice(size) for size in op.box_sizes), ...)]
        return self._start_move(InFlightMove(op, [source, indices], [target], [values]))

    @impl(mem.DmaScatterOp)
    def run_dma_scatter(
        self, interpreter: Interpreter, op: mem.DmaScatterOp, args: PythonValues
    ) -> PythonValues:
        """
        Start an asynchronous scatter of a box of the source to indexed positions of the
        destination, by replacement or addition.
        """
        indices, source, destination, *dynamic = args
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        maps, axis = (op.table_map, op.index_map), op.indexed_axis
        moved = source[(*(slice(size) for size in op.box_sizes), ...)]
        combine = np.add if op.is_scatter_add else None
        values = scatter_box_by_indices(
            destination, offsets, maps, axis, indices, moved, combine
        )
        read = [source, indices]
        return self._start_move(InFlightMove(op, read, [destination], [values]))

    @impl(mem.WaitOp)
    def run_wait(
        self, interpreter: Interpreter, op: mem.WaitOp, args: PythonValues
    ) -> PythonValues:
        for move in args:
            self._flight.finish_move(cast(InFlightMove, move))
        return ()

    @impl(mem.LoadOp)
    def run_load(
        self, interpreter: Interpreter, op: mem.LoadOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a tensor with a box of the source; other elements are the fill value or,
        without one, undefined.
        """
        source, *dynamic = args
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        region = ...
        if op.map is None:
            region, _ = clip_box_to_slices(offsets, op.box_sizes, source.shape)
        self._flight.check_no_conflict(op, [source[region]], [])
        result = self._poison.make_undefined_array(op, OUTSIDE, op.value_type)
        if op.fill_value is not None:
            result[...] = op.fill_value
        outside = result.reshape(-1)[0]
        box = (*(slice(size) for size in op.box_sizes), ...)
        if op.map is not None:
            result[box] = gather_box(
                source, offsets, op.map.data, op.box_sizes, outside
            )
            return (result,)
        result[box] = copy_padded_box(source, offsets, op.box_sizes, outside)
        return (result,)

    @impl(mem.GatherOp)
    def run_gather(
        self, interpreter: Interpreter, op: mem.GatherOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a tensor with the source elements at indexed positions; other elements
        are the fill value or, without one, undefined.
        """
        indices, source, *dynamic = args
        self._flight.check_no_conflict(op, [source], [])
        result = self._poison.make_undefined_array(op, OUTSIDE, op.value_type)
        if op.fill_value is not None:
            result[...] = op.fill_value
        result[(*(slice(size) for size in op.box_sizes), ...)] = gather_box_by_indices(
            source,
            resolve_mixed_offsets(op.mixed_offsets, iter(dynamic)),
            (op.table_map, op.index_map),
            op.indexed_axis,
            indices,
            op.box_sizes,
            result.reshape(-1)[0],
        )
        return (result,)

    @impl(mem.Im2colOp)
    def run_im2col(
        self, interpreter: Interpreter, op: mem.Im2colOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a tensor with windows of the source; other elements are the fill value
        or, without one, undefined.
        """
        source, *dynamic = args
        self._flight.check_no_conflict(op, [source], [])
        result = self._poison.make_undefined_array(op, OUTSIDE, op.value_type)
        if op.fill_value is not None:
            result[...] = op.fill_value
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        result[(*(slice(size) for size in op.box_sizes), ...)] = (
            op.delinearized_access.gather_elements(
                source, offsets, op.box_sizes, result.reshape(-1)[0]
            )
        )
        return (result,)

    @impl(mem.StoreOp)
    def run_store(
        self, interpreter: Interpreter, op: mem.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write the part of the value that is in bounds to the destination buffer."""
        value, destination, *dynamic = args
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        region, box = clip_box_to_slices(offsets, op.box, destination.shape)
        self._flight.check_no_conflict(op, [], [destination[region]])
        destination[region] = value[box]
        return ()

    @impl(mem.ScatterOp)
    def run_scatter(
        self, interpreter: Interpreter, op: mem.ScatterOp, args: PythonValues
    ) -> PythonValues:
        """Combine the value with elements of the buffer at indexed positions."""
        value, indices, destination, *dynamic = args
        self._flight.check_no_conflict(op, [], [destination])
        destination[...] = scatter_box_by_indices(
            destination,
            resolve_mixed_offsets(op.mixed_offsets, iter(dynamic)),
            (op.table_map, op.index_map),
            op.indexed_axis,
            indices,
            value,
            op.kind.data.function,
        )
        return ()

    @impl(memref.GetGlobalOp)
    def run_get_global(
        self, interpreter: Interpreter, op: memref.GetGlobalOp, args: PythonValues
    ) -> PythonValues:
        """Return the elements of the `memref.global` of that name in the module."""
        name = op.name_.string_value()
        for each in interpreter.module.walk():
            if isinstance(each, memref.GlobalOp) and each.sym_name.data == name:
                return (_load_global_array(each),)
        raise InterpretationError(f"expected a global @{name}")

    @impl(memref.SubviewOp)
    def run_subview(
        self, interpreter: Interpreter, op: memref.SubviewOp, args: PythonValues
    ) -> PythonValues:
        """Return a strided numpy view of the buffer, without the dropped dimensions."""
        source, *values = args
        dynamic = iter(values)
        offsets = resolve_mixed_offsets(
            mem.merge_offsets(op.static_offsets, op.offsets), dynamic
        )
        sizes = resolve_mixed_offsets(
            mem.merge_offsets(op.static_sizes, op.sizes), dynamic
        )
        steps = resolve_mixed_offsets(
            mem.merge_offsets(op.static_strides, op.strides), dynamic
        )
        slices = _slices_of_view(source, offsets, sizes, steps)
        shape = op.result.type.get_shape()
        kept_dims = mem.dimensions_in_subview_type(sizes, shape)
        index = tuple(slice(None) if n in kept_dims else 0 for n in range(len(sizes)))
        return (source[slices][(*index, ...)],)

    @impl(mem.WindowOp)
    def run_window(
        self, interpreter: Interpreter, op: mem.WindowOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a `RingWindow` of the buffer, with the start reduced modulo the ring
        size.
        """
        source, *dynamic = args
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        axis, sizes = op.ring_axis, list(op.box_sizes)
        start = offsets[axis] % op.ring_size
        offsets[axis], sizes[axis] = 0, op.ring_size
        slices = _slices_of_view(source, offsets, sizes)
        return (RingWindow(source[slices], axis, start, op.box_sizes[axis]),)

    @impl(mem.CollapseOp)
    def run_collapse(
        self, interpreter: Interpreter, op: mem.CollapseOp, args: PythonValues
    ) -> PythonValues:
        window = cast(RingWindow, args[0])
        return (window.collapse_axes(op.first_axis),)

    @impl(memref.ReinterpretCastOp)
    def run_reinterpret_cast(
        self, interpreter: Interpreter, op: memref.ReinterpretCastOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a numpy view of a contiguous buffer with a static offset, sizes and
        strides; raise `InterpretationError` for others.
        """
        source = cast(Array, args[0])
        if len(args) > 1 or not source.flags.c_contiguous:
            raise InterpretationError(
                "memref.reinterpret_cast: expected a contiguous buffer and static sizes"
            )
        (offset,) = op.static_offsets.get_values()
        strides = [each * source.itemsize for each in op.static_strides.get_values()]
        shape = tuple(op.static_sizes.get_values())
        return (as_strided(source.reshape(-1)[offset:], shape, strides),)


def _slices_of_view(
    source: Array,
    offsets: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int] | None = None,
) -> tuple[slice, ...]:
    """
    Return the slices of a view. Raises `InterpretationError` if it exceeds its buffer.
    """
    steps = [1] * len(sizes) if steps is None else steps
    boxes = list(zip(offsets, sizes, steps, strict=True))
    for (offset, size, step), extent in zip(boxes, source.shape, strict=True):
        if offset < 0 or offset + (size - 1) * step >= extent:
            raise InterpretationError(
                f"expected a view inside {source.shape}, got offsets {list(offsets)} "
                f"and sizes {list(sizes)}"
            )
    return tuple(
        slice(offset, offset + (size - 1) * step + 1, step)
        for offset, size, step in boxes
    )


def _load_global_array(op: memref.GlobalOp) -> Array:
    """
    Return the initial value of a `memref.global` in its shape, a splat repeated; raise
    `InterpretationError` if there is none.
    """
    if (value := load_global_elements(op)) is None:
        raise InterpretationError(f"expected an initial value of @{op.sym_name.data}")
    dtype = dtype_of(op.type.element_type)
    shape = op.type.get_shape()
    raw = np.frombuffer(value.data.data, np.uint8 if dtype.kind == "b" else dtype)
    array = np.not_equal(raw, 0) if dtype.kind == "b" else raw
    return np.full(shape, array[0]) if array.size == 1 else array.reshape(shape)
