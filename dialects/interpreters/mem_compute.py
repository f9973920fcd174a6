"""Reference interpretation of structured compute of the `mem` dialect."""

from collections.abc import Sequence
from string import ascii_letters
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from tlf.dialects import mem
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.in_flight_moves import InFlightMoves
from tlf.dialects.interpreters.scalar_functions import (
    FUNCTIONS,
    evaluate_all_values_of_body,
    evaluate_body_results,
)
from tlf.dialects.interpreters.tile import resolve_mixed_offsets
from tlf.dialects.types import dtype_of
from tlf.support.affine.linear_access import view_over_domain, view_over_used_dims

NumericArray: TypeAlias = NDArray[np.float64] | NDArray[np.int64]


def _to_scalar_array(value: float, type_: Attribute) -> Array:
    return np.asarray(value).astype(dtype_of(type_))


@register_impls
class MemComputeFunctions(InterpreterFunctions):
    """
    Interpreter functions of structured compute, fills and masks of the `mem` dialect.
    """

    def __init__(self, in_flight_moves: InFlightMoves | None = None) -> None:
        self._flight = in_flight_moves or InFlightMoves()

    @impl(mem.MapOp)
    def run_map(
        self, interpreter: Interpreter, op: mem.MapOp, args: PythonValues
    ) -> PythonValues:
        """
        Evaluate the scalar body on all points of the domain at once, and write the
        results into the output buffers, or return them.
        """
        self._flight.check_operands(op, args)
        inputs, outputs = args[: len(op.inputs)], args[len(op.inputs) :]
        elements = [
            view_over_domain(array, indexing, op.domain_extents)
            for array, indexing in zip(inputs, op.input_maps, strict=True)
        ]
        values = [
            np.broadcast_to(value, op.domain_extents).copy()
            for value in evaluate_body_results(op.body.block, elements)
        ]
        if not op.is_on_buffers:
            return tuple(values)
        for output, value in zip(outputs, values, strict=True):
            output[...] = value
        return ()

    @impl(mem.ReduceOp)
    def run_reduce(
        self, interpreter: Interpreter, op: mem.ReduceOp, args: PythonValues
    ) -> PythonValues:
        """
        Reduce the values of the body along the dimensions that an output omits, and
        combine them with its initial contents; floats are computed in double.
        """
        self._flight.check_operands(op, args)
        outputs = _initial_output_arrays(op, args)
        elements = [
            view_over_domain(array, indexing, op.domain_extents)
            for array, indexing in zip(
                (*args[: len(op.inputs)], *outputs), op.maps, strict=True
            )
        ]
        values = evaluate_all_values_of_body(op.body.block, elements)
        results: list[Array] = []
        for number, combine in enumerate(op.combiners):
            out = outputs[number]
            accumulator = op.body.block.args[len(op.inputs) + number]
            (element,) = (v for v in combine.operands if v is not accumulator)
            function = cast(np.ufunc, FUNCTIONS[type(combine)])
            reduced = _reduce_omitted_dimensions(
                function, values[element], op.output_maps[number], op.domain_extents
            )
            wide = reduced if out.dtype.kind in "bi" else reduced.astype(np.float64)
            results.append(function(out.astype(wide.dtype), wide).astype(out.dtype))
        return _write_results(op, _output_arrays_of(op, args), results)

    @impl(mem.ScanOp)
    def run_scan(
        self, interpreter: Interpreter, op: mem.ScanOp, args: PythonValues
    ) -> PythonValues:
        """Combine elements along the dimension; floats are computed in double."""
        element = view_over_domain(args[0], op.input_maps[0], op.domain_extents)
        element = np.broadcast_to(element, op.domain_extents)
        wide = element if element.dtype.kind in "bi" else element.astype(np.float64)
        function = cast(np.ufunc, FUNCTIONS[type(op.combiner)])
        wide = np.flip(wide, op.scan_dim) if op.is_reversed else wide
        result = function.accumulate(wide, axis=op.scan_dim, dtype=wide.dtype)
        result = np.flip(result, op.scan_dim) if op.is_reversed else result
        return (result.astype(element.dtype),)

    @impl(mem.ArgsortOp)
    def run_argsort(
        self, interpreter: Interpreter, op: mem.ArgsortOp, args: PythonValues
    ) -> PythonValues:
        return (op.compute_indices(args[0]),)

    @impl(mem.ContractOp)
    def run_contract(
        self, interpreter: Interpreter, op: mem.ContractOp, args: PythonValues
    ) -> PythonValues:
        """
        Add the einsum of both factors, computed in double or int64, to the accumulator.
        """
        self._flight.check_operands(op, args)
        lhs, rhs, *_ = args
        (acc,) = _initial_output_arrays(op, args)
        factors: list[NumericArray] = []
        used_dims: list[list[int]] = []
        for array, indexing in zip((lhs, rhs), op.input_maps, strict=True):
            factor, dimensions = view_over_used_dims(array, indexing, op.domain_extents)
            factors.append(_round_factor_to_precision(factor, op.precision))
            used_dims.append(dimensions)
        output_dims = _domain_dims_of_output_axes(op.output_maps[0])
        products = _contract_by_einsum(
            factors, used_dims, output_dims, op.domain_extents
        )
        total = np.add(acc.astype(products.dtype), products)
        return _write_results(
            op, _output_arrays_of(op, args), [total.astype(acc.dtype)]
        )

    @impl(mem.FillOp)
    def run_fill(
        self, interpreter: Interpreter, op: mem.FillOp, args: PythonValues
    ) -> PythonValues:
        """
        Set all elements of the buffer to the fill value, or return a tensor of it.
        """
        self._flight.check_operands(op, args)
        value = _to_scalar_array(op.fill_value, op.shaped_type.element_type)
        if args:
            args[0][...] = value
            return ()
        return (np.full(op.shaped_type.get_shape(), value),)

    @impl(mem.MaskOp)
    def run_mask(
        self, interpreter: Interpreter, op: mem.MaskOp, args: PythonValues
    ) -> PythonValues:
        """
        Replace the elements outside of the bounds or the valid extents by the fill
        value, in the buffer or in a new tensor.
        """
        self._flight.check_operands(op, args)
        source, *dynamic = args
        offsets = resolve_mixed_offsets(op.mixed_offsets, iter(dynamic))
        inside = np.ones(source.shape, np.bool_)
        for dimension, (offset, limit) in enumerate(
            zip(offsets, op.upper_bounds, strict=True)
        ):
            extent, valid = source.shape[dimension], op.valid_box_extents[dimension]
            position = np.arange(offset, offset + extent, dtype=np.int64)
            shape = [extent if n == dimension else 1 for n in range(source.ndim)]
            bound = min(limit, offset + valid)
            within = np.logical_and(position >= 0, position < bound)
            inside = np.logical_and(inside, within.reshape(shape))
        value = _to_scalar_array(op.fill_value, op.source_type.element_type)
        result = np.where(inside, source, value)
        return _write_results(op, [source], [result])

    @impl_terminator(mem.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: mem.YieldOp, args: PythonValues
    ) -> tuple[ReturnedValues, PythonValues]:
        return ReturnedValues(args), ()


def _write_results(
    op: mem.StructuredOp | mem.MaskOp, buffers: Sequence[Array], results: list[Array]
) -> PythonValues:
    """Return the results in value form, or write them into the buffers."""
    if op.results:
        return tuple(results)
    for buffer, result in zip(buffers, results, strict=True):
        buffer[...] = result
    return ()


def _output_arrays_of(op: mem.AccumulatingOp, args: PythonValues) -> list[Array]:
    inputs, outputs = len(op.input_operands), len(op.output_operands)
    return list(args[inputs : inputs + outputs])


def _initial_output_arrays(op: mem.AccumulatingOp, args: PythonValues) -> list[Array]:
    """Return the initial values of the outputs: their contents, or neutral elements."""
    outputs = _output_arrays_of(op, args)
    if op.overwrite is None or (op.unless is not None and args[-1] != 0):
        return outputs
    return [
        np.full_like(output, _to_scalar_array(neutral, shaped.element_type))
        for output, neutral, shaped in zip(
            outputs, op.neutral_elements, op.output_types, strict=True
        )
    ]


def _reduce_omitted_dimensions(
    ufunc: np.ufunc, element: Array, output_map: AffineMap, domain: Sequence[int]
) -> Array:
    """Reduce elements along the dimensions that the output map omits."""
    element = np.broadcast_to(element, tuple(domain))
    if element.dtype.kind not in "bi":
        element = element.astype(np.float64)
    output_dims = _domain_dims_of_output_axes(output_map)
    axes = tuple(d for d in range(len(domain)) if d not in output_dims)
    dtype = element.dtype
    reduced = ufunc.reduce(element, axis=axes, dtype=dtype) if axes else element
    order = sorted(dimension for dimension in output_dims if dimension is not None)
    transposed = np.transpose(
        reduced, [order.index(d) for d in output_dims if d is not None]
    )
    return transposed.reshape([1 if d is None else domain[d] for d in output_dims])


def _domain_dims_of_output_axes(output_map: AffineMap) -> list[int | None]:
    """Return the domain dimension of each output axis; None for an axis of extent 1."""
    return [access.loop_dim for access in mem.linear_accesses_of_map(output_map)]


def _round_factor_to_precision(array: Array, precision: str) -> NumericArray:
    """
    Convert a factor to int64 or double; f32 elements are rounded to tf32 first if
    `precision` is `tf32`.
    """
    if array.dtype.kind in "bi":
        return array.astype(np.int64)
    if precision == "tf32" and array.dtype == np.float32:
        bits = np.ascontiguousarray(array).view(np.uint32)
        bits = (bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)
        array = np.where(np.isfinite(array), bits.view(np.float32), array)
    return array.astype(np.float64)


def _contract_by_einsum(
    factors: Sequence[NumericArray],
    factor_dims: Sequence[list[int]],
    output_dims: Sequence[int | None],
    domain: Sequence[int],
) -> NumericArray:
    """
    Contract by einsum. The result is broadcast along output dimensions that no factor
    has, and scaled by the extents of reduced dimensions that no factor has.
    """
    present = [
        d for d in output_dims if d is not None and d in factor_dims[0] + factor_dims[1]
    ]
    inputs = ",".join(_to_einsum_subscript(dimensions) for dimensions in factor_dims)
    subscripts = f"{inputs}->{_to_einsum_subscript(present)}"
    result = np.einsum(subscripts, *factors, optimize=True)
    for dimension, extent in enumerate(domain):
        if dimension not in {*factor_dims[0], *factor_dims[1], *output_dims}:
            result = result * extent
    shape = [1 if d is None or d not in present else domain[d] for d in output_dims]
    full_shape = [1 if d is None else domain[d] for d in output_dims]
    return np.broadcast_to(result.reshape(shape), full_shape)


def _to_einsum_subscript(dimensions: Sequence[int]) -> str:
    return "".join(ascii_letters[dimension] for dimension in dimensions)
