"""
Reference interpretation of the `tile` dialect on numpy arrays.

Elements that the dialect leaves undefined are poisoned. Iterations of a parallel nest
that write the same element are an error.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from xdsl.dialects import affine
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)

from tlf.dialects import tile
from tlf.dialects.interpreters.affine_gather import (
    gather_box,
    gather_box_by_indices,
    scatter_box_by_indices,
)
from tlf.dialects.interpreters.parallel_writes import ParallelWriteChecker
from tlf.dialects.interpreters.poison_values import OUTSIDE, UNTILED, PoisonTracker
from tlf.dialects.mixed_offsets import Index
from tlf.dialects.types import scalar_value


def clip_box_to_slices(
    offsets: Sequence[int], sizes: Sequence[int], bounds: Sequence[int]
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """
    Return the part of a box at `offsets` that is within `bounds`, as slices of the
    bounded array and as slices of the box.
    """
    region: list[slice] = []
    box: list[slice] = []
    for offset, size, bound in zip(offsets, sizes, bounds, strict=True):
        first, last = max(0, offset), max(0, min(bound, offset + size))
        last = max(first, last)
        region.append(slice(first, last))
        box.append(slice(first - offset, last - offset))
    return tuple(region), tuple(box)


def resolve_mixed_offsets(
    mixed_offsets: Sequence[Index], operand_values: Iterator[int]
) -> list[int]:
    """
    Return offsets as numbers; each SSA value takes the next number of `operand_values`.
    """
    return [
        each if isinstance(each, int) else int(next(operand_values))
        for each in mixed_offsets
    ]


@register_impls
class TileFunctions(InterpreterFunctions):
    """Interpreter functions of the `tile` dialect."""

    def __init__(self, poison: PoisonTracker | None = None) -> None:
        self._poison = poison or PoisonTracker()
        self._writes = ParallelWriteChecker()

    @impl(tile.SliceOp)
    def run_slice(
        self, interpreter: Interpreter, op: tile.SliceOp, args: PythonValues
    ) -> PythonValues:
        """
        Return the tile copied from the source; elements out of bounds are the fill
        value or, without one, undefined.
        """
        source, *dynamic = args
        result = self._poison.make_undefined_array(op, OUTSIDE, op.result.type)
        if op.fill is not None:
            result[...] = scalar_value(op.fill)
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        if op.map is not None:
            outside = result.reshape(-1)[0]
            valid = tuple(slice(extent) for extent in op.valid_box_extents)
            result[valid] = gather_box(
                source, offsets, op.map.data, op.valid_box_extents, outside
            )
            return (result,)
        region, box = clip_box_to_slices(offsets, op.valid_box_extents, source.shape)
        result[box] = source[region]
        return (result,)

    @impl(tile.GatherOp)
    def run_gather(
        self, interpreter: Interpreter, op: tile.GatherOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a tile of the source elements at indexed positions; other elements are
        the fill value or, without one, undefined.
        """
        source, indices, *dynamic = args
        result = self._poison.make_undefined_array(op, OUTSIDE, op.result.type)
        if op.fill is not None:
            result[...] = scalar_value(op.fill)
        result[tuple(slice(extent) for extent in op.valid_box_extents)] = (
            gather_box_by_indices(
                source,
                resolve_mixed_offsets(op.mixed_offsets, iter(dynamic)),
                (op.table_map, op.index_map),
                op.indexed_axis,
                indices,
                op.valid_box_extents,
                result.reshape(-1)[0],
            )
        )
        return (result,)

    @impl(tile.Im2colOp)
    def run_im2col(
        self, interpreter: Interpreter, op: tile.Im2colOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a tile of windows of the source; other elements are the fill value or,
        without one, undefined.
        """
        source, *dynamic = args
        result = self._poison.make_undefined_array(op, OUTSIDE, op.result.type)
        if op.fill is not None:
            result[...] = scalar_value(op.fill)
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        sizes = op.valid_box_extents
        result[tuple(slice(extent) for extent in sizes)] = (
            op.delinearized_access.gather_elements(
                source, offsets, sizes, result.reshape(-1)[0]
            )
        )
        return (result,)

    @impl(tile.ScatterOp)
    def run_scatter(
        self, interpreter: Interpreter, op: tile.ScatterOp, args: PythonValues
    ) -> PythonValues:
        """
        Return the destination after a write, addition or combination of the tile at
        indexed positions.
        """
        source, destination, indices, *dynamic = args
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        maps = (op.table_map, op.index_map)
        combine = np.add if op.is_scatter_add else None
        if op.combining_kind is not None:
            combine = op.combining_kind.function
        return (
            scatter_box_by_indices(
                destination,
                offsets,
                maps,
                op.indexed_axis,
                indices,
                source,
                combine,
            ),
        )

    @impl(tile.DesliceOp)
    def run_deslice(
        self, interpreter: Interpreter, op: tile.DesliceOp, args: PythonValues
    ) -> PythonValues:
        """
        Return a copy of the destination with the in-bounds part of the tile inserted;
        check that no other parallel iteration writes these elements.
        """
        source, destination, *dynamic = args
        result = destination.copy()
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        region, box = clip_box_to_slices(
            offsets, op.valid_box_extents, destination.shape
        )
        self._writes.record_tile_write(op, region)
        result[region] = source[box]
        return (result,)

    @impl(tile.MaskOp)
    def run_mask(
        self, interpreter: Interpreter, op: tile.MaskOp, args: PythonValues
    ) -> PythonValues:
        return op.compute_reference(*args)

    @impl(tile.ArgsortOp)
    def run_argsort(
        self, interpreter: Interpreter, op: tile.ArgsortOp, args: PythonValues
    ) -> PythonValues:
        return (op.compute_indices(args[0]),)

    @impl(tile.RollOp)
    def run_roll(
        self, interpreter: Interpreter, op: tile.RollOp, args: PythonValues
    ) -> PythonValues:
        """
        Drop leading slices of the window along the axis, as many as `following` has,
        and append `following`.
        """
        window, following = args
        axis = op.axis.value.data
        count = following.shape[axis]
        remaining = np.split(window, [count], axis=axis)[1]
        return (np.concatenate([remaining, following], axis=axis),)

    @impl(tile.EmptyOp)
    def run_empty(
        self, interpreter: Interpreter, op: tile.EmptyOp, args: PythonValues
    ) -> PythonValues:
        return (self._poison.make_undefined_array(op, UNTILED, op.result.type),)

    @impl(tile.FillOp)
    def run_fill(
        self, interpreter: Interpreter, op: tile.FillOp, args: PythonValues
    ) -> PythonValues:
        return op.compute_reference(*args)

    @impl(tile.WhileOp)
    def run_while(
        self, interpreter: Interpreter, op: tile.WhileOp, args: PythonValues
    ) -> PythonValues:
        """
        Run the body at every point of the nest, last point first if it is parallel;
        return the carried values.
        """
        values = iter(args)
        bounds = [
            [bound if isinstance(bound, int) else int(next(values)) for bound in mixed]
            for mixed in (op.mixed_lower_bounds, op.mixed_upper_bounds)
        ]
        carried = tuple(values)
        loops = [
            range(lower, upper, step)
            for lower, upper, step in zip(*bounds, op.step_values, strict=True)
        ]
        if op.is_parallel:
            # Iterations are independent: reverse order exposes overlapping writes.
            loops = [each[::-1] for each in loops]
        self._writes.begin_nest(op)
        for point in product(*loops):
            self._writes.begin_iteration(op, point)
            carried = interpreter.run_ssacfg_region(op.body, (*point, *carried))
        return carried

    @impl_terminator(tile.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: tile.YieldOp, args: PythonValues
    ) -> tuple[ReturnedValues, PythonValues]:
        return ReturnedValues(args), ()

    @impl(affine.MinOp)
    def run_min(
        self, interpreter: Interpreter, op: affine.MinOp, args: PythonValues
    ) -> PythonValues:
        return (min(op.map.data.eval(args, ())),)
