"""
Import of ATen reductions and cumulative operations from PyTorch: converters of FX
calls, which build operations of `graph`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.frontend.torch.emitter import Emitter, Number
from tlf.frontend.torch.registry import Converter, register_as_converter

Axes = Sequence[int] | int | None

_BOOL_REDUCTIONS = {"sum": "max", "prod": "min"}
"""Reductions of truth values that are equivalent to those of 0 and 1."""


def normalize_axes(value: SSAValue, axes: Axes) -> list[int]:
    """Return unique, sorted, non-negative axes; all axes if `axes` is None or empty."""
    rank = len(shape_of(value))
    if isinstance(axes, int):
        axes = [axes]
    chosen = range(rank) if not axes else axes
    return sorted({axis % rank for axis in chosen}) if rank else []


def emit_wide_reduction(
    emitter: Emitter, value: SSAValue, kind: str, axes: Axes, keepdims: bool
) -> SSAValue:
    """
    Emit a reduction in the wide element type, not rounded to that of the result; for
    Boolean results, a reduction of truth values.
    """
    reduced_axes = normalize_axes(value, axes)
    if emitter.result_element == i1:
        return _emit_bool_reduction(
            emitter, value, _BOOL_REDUCTIONS[kind], reduced_axes, keepdims
        )
    return emitter.reduce(
        emitter.cast(value, emitter.wide_element), kind, reduced_axes, keepdims
    )


def _emit_bool_reduction(
    emitter: Emitter, value: SSAValue, kind: str, axes: Sequence[int], keepdims: bool
) -> SSAValue:
    """Emit the maximum or minimum of the truth values of elements."""
    truths = emitter.cast(emitter.to_bool(value), i8)
    return emitter.to_bool(emitter.reduce(truths, kind, axes, keepdims))


def _make_reduction_converter(kind: str) -> Converter:
    """Return a converter to reduction `kind`, computed in the wide type."""

    def convert(
        emitter: Emitter,
        x: SSAValue,
        axes: Axes = None,
        keepdim: bool = False,
        *,
        dtype: object = None,
    ) -> SSAValue:
        return emitter.to_result(emit_wide_reduction(emitter, x, kind, axes, keepdim))

    return convert


for _name, _kind in (
    ("sum.default", "sum"),
    ("sum.dim_IntList", "sum"),
    ("prod.default", "prod"),
    ("prod.dim_int", "prod"),
):
    register_as_converter(_name)(_make_reduction_converter(_kind))


@register_as_converter("mean.default", "mean.dim")
def _convert_mean(
    emitter: Emitter,
    x: SSAValue,
    axes: Axes = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
) -> SSAValue:
    """Emit a `MeanOp` in the type of the result; a scalar is only cast."""
    reduced_axes = normalize_axes(x, axes)
    value = emitter.cast(x, emitter.result_element)
    return (
        emitter.emit(graph.MeanOp(value, reduced_axes, keepdim))
        if reduced_axes
        else value
    )


def _make_extreme_converter(kind: str) -> Converter:
    """
    Return a converter to the maximum or minimum over any axes; booleans pass as `i8`.
    """

    def convert(
        emitter: Emitter, x: SSAValue, axes: Axes = None, keepdim: bool = False
    ) -> SSAValue:
        value = emitter.cast(x, i8) if emitter.result_element == i1 else x
        reduced = emitter.reduce(value, kind, normalize_axes(x, axes), keepdim)
        return emitter.cast(reduced, emitter.result_element)

    return convert


for _kind in ("max", "min"):
    register_as_converter(f"{_kind}.default")(_make_extreme_converter(_kind))
    register_as_converter(f"a{_kind}.default")(_make_extreme_converter(_kind))


def _make_extreme_with_index_converter(kind: str) -> Converter:
    """Return a converter to an extreme along one axis, with its index."""

    def convert(
        emitter: Emitter, x: SSAValue, axis: int, keepdim: bool = False
    ) -> tuple[SSAValue, SSAValue]:
        if not shape_of(x):
            return x, emitter.emit_scalar(0, i64)
        (at_axis,) = normalize_axes(x, axis)
        value = emitter.cast(x, i8) if emitter.result_element == i1 else x
        values = emitter.cast(
            emitter.reduce(value, kind, [at_axis], keepdim), emitter.result_element
        )
        return values, emitter.emit(graph.ArgReduceOp(value, kind, at_axis, keepdim))

    return convert


def _make_arg_reduction_converter(kind: str) -> Converter:
    """
    Return a converter to the index of an extreme, in the flat tensor if without axis.
    """

    def convert(
        emitter: Emitter, x: SSAValue, axis: int | None = None, keepdim: bool = False
    ) -> SSAValue:
        shape = shape_of(x)
        if not shape:
            return emitter.emit_scalar(0, emitter.result_element)
        if axis is not None:
            return emitter.emit(graph.ArgReduceOp(x, kind, axis % len(shape), keepdim))
        flat = emitter.reshape(x, [math.prod(shape)])
        return emitter.reshape(
            emitter.emit(graph.ArgReduceOp(flat, kind, 0, False)), emitter.result_shape
        )

    return convert


for _kind in ("max", "min"):
    register_as_converter(f"{_kind}.dim")(_make_extreme_with_index_converter(_kind))
    register_as_converter(f"arg{_kind}.default")(_make_arg_reduction_converter(_kind))


def _make_bool_reduction_converter(kind: str) -> Converter:
    """Return a converter to `kind`, `max` for any or `min` for all, of truth values."""

    def convert(
        emitter: Emitter, x: SSAValue, axes: Axes = None, keepdim: bool = False
    ) -> SSAValue:
        return _emit_bool_reduction(emitter, x, kind, normalize_axes(x, axes), keepdim)

    return convert


for _name, _kind in (("any", "max"), ("all", "min")):
    for _form in ("default", "dim", "dims"):
        register_as_converter(f"{_name}.{_form}")(_make_bool_reduction_converter(_kind))


def emit_variance_and_mean(
    emitter: Emitter, x: SSAValue, axes: Axes, correction: Number | None, keepdim: bool
) -> tuple[SSAValue, SSAValue]:
    """Emit the variance and the mean, in the type that the result is computed in."""
    if not shape_of(x):
        row = emit_variance_and_mean(
            emitter, emitter.reshape(x, (1,)), 0, correction, False
        )
        return row[0], row[1]
    reduced_axes, wide = normalize_axes(x, axes), emitter.wide_element
    value = emitter.cast(x, wide)
    count = math.prod(shape_of(x)[axis] for axis in reduced_axes)
    mean = emitter.emit(graph.MeanOp(value, reduced_axes, True))
    centred = emitter.sub(value, mean, wide)
    total = emitter.reduce(
        emitter.mul(centred, centred, wide), "sum", reduced_axes, keepdim
    )
    degrees_of_freedom = count - (1 if correction is None else correction)
    variance = emitter.div(total, max(degrees_of_freedom, 0), wide)
    return variance, mean if keepdim else emitter.reshape(mean, shape_of(variance))


@register_as_converter("var.correction")
def _convert_var(
    emitter: Emitter,
    x: SSAValue,
    axes: Axes = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
) -> SSAValue:
    return emitter.to_result(
        emit_variance_and_mean(emitter, x, axes, correction, keepdim)[0]
    )


@register_as_converter("var_mean.correction")
def _convert_var_mean(
    emitter: Emitter,
    x: SSAValue,
    axes: Axes = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
) -> tuple[SSAValue, ...]:
    results = emit_variance_and_mean(emitter, x, axes, correction, keepdim)
    return tuple(emitter.cast(each, emitter.result_element) for each in results)


def _make_cumulation_converter(kind: str) -> Converter:
    """Return a converter to a `CumulateOp`, a running sum or product along an axis."""

    def convert(
        emitter: Emitter, x: SSAValue, axis: int, *, dtype: object = None
    ) -> SSAValue:
        value = emitter.cast(x, emitter.result_element)
        if not shape_of(x):
            return value
        return emitter.emit(graph.CumulateOp(value, kind, axis % len(shape_of(x))))

    return convert


register_as_converter("cumsum.default")(_make_cumulation_converter("sum"))
register_as_converter("cumprod.default")(_make_cumulation_converter("prod"))
