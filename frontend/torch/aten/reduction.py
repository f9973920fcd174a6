"""Import of ATen reductions and cumulative operations as graph operations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.frontend.torch.emitter import Emitter, Number
from tlf.frontend.torch.registry import Converter, converts

Axes = Sequence[int] | int | None

_BOOL_REDUCTIONS = {"sum": "max", "prod": "min"}
"""Reductions of truth values that are equivalent to those of 0 and 1."""


def axes_of(value: SSAValue, axes: Axes) -> list[int]:
    """Return sorted non-negative axes; all axes if none are given."""
    rank = len(shape_of(value))
    if isinstance(axes, int):
        axes = [axes]
    chosen = range(rank) if not axes else axes
    return sorted({axis % rank for axis in chosen}) if rank else []


def reduce_wide(
    at: Emitter, value: SSAValue, kind: str, axes: Axes, keepdims: bool
) -> SSAValue:
    """Emit a reduction in the type that the result is computed in."""
    reduced_axes = axes_of(value, axes)
    if at.element == i1:
        return _reduce_bools(at, value, _BOOL_REDUCTIONS[kind], reduced_axes, keepdims)
    return at.reduce(at.cast(value, at.wide), kind, reduced_axes, keepdims)


def _reduce_bools(
    at: Emitter, value: SSAValue, kind: str, axes: Sequence[int], keepdims: bool
) -> SSAValue:
    """Emit the maximum or minimum of the truth values of elements."""
    truths = at.cast(at.to_bool(value), i8)
    return at.to_bool(at.reduce(truths, kind, axes, keepdims))


def _make_reduction(kind: str) -> Converter:
    def convert(
        at: Emitter,
        x: SSAValue,
        axes: Axes = None,
        keepdim: bool = False,
        *,
        dtype: object = None,
    ) -> SSAValue:
        return at.to_result(reduce_wide(at, x, kind, axes, keepdim))

    return convert


for _name, _kind in (
    ("sum.default", "sum"),
    ("sum.dim_IntList", "sum"),
    ("prod.default", "prod"),
    ("prod.dim_int", "prod"),
):
    converts(_name)(_make_reduction(_kind))


@converts("mean.default", "mean.dim")
def _mean(
    at: Emitter,
    x: SSAValue,
    axes: Axes = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
) -> SSAValue:
    reduced_axes = axes_of(x, axes)
    value = at.cast(x, at.element)
    return (
        at.emit(graph.MeanOp(value, reduced_axes, keepdim)) if reduced_axes else value
    )


def _make_extreme(kind: str) -> Converter:
    def convert(
        at: Emitter, x: SSAValue, axes: Axes = None, keepdim: bool = False
    ) -> SSAValue:
        value = at.cast(x, i8) if at.element == i1 else x
        reduced = at.reduce(value, kind, axes_of(x, axes), keepdim)
        return at.cast(reduced, at.element)

    return convert


for _kind in ("max", "min"):
    converts(f"{_kind}.default")(_make_extreme(_kind))
    converts(f"a{_kind}.default")(_make_extreme(_kind))


def _make_extreme_with_index(kind: str) -> Converter:
    def convert(
        at: Emitter, x: SSAValue, axis: int, keepdim: bool = False
    ) -> tuple[SSAValue, SSAValue]:
        if not shape_of(x):
            return x, at.scalar(0, i64)
        (at_axis,) = axes_of(x, axis)
        value = at.cast(x, i8) if at.element == i1 else x
        values = at.cast(at.reduce(value, kind, [at_axis], keepdim), at.element)
        return values, at.emit(graph.ArgReduceOp(value, kind, at_axis, keepdim))

    return convert


def _make_arg_reduction(kind: str) -> Converter:
    def convert(
        at: Emitter, x: SSAValue, axis: int | None = None, keepdim: bool = False
    ) -> SSAValue:
        shape = shape_of(x)
        if not shape:
            return at.scalar(0, at.element)
        if axis is not None:
            return at.emit(graph.ArgReduceOp(x, kind, axis % len(shape), keepdim))
        flat = at.reshape(x, [math.prod(shape)])
        return at.reshape(at.emit(graph.ArgReduceOp(flat, kind, 0, False)), at.shape)

    return convert


for _kind in ("max", "min"):
    converts(f"{_kind}.dim")(_make_extreme_with_index(_kind))
    converts(f"arg{_kind}.default")(_make_arg_reduction(_kind))


def _make_bool_reduction(kind: str) -> Converter:
    def convert(
        at: Emitter, x: SSAValue, axes: Axes = None, keepdim: bool = False
    ) -> SSAValue:
        return _reduce_bools(at, x, kind, axes_of(x, axes), keepdim)

    return convert


for _name, _kind in (("any", "max"), ("all", "min")):
    for _form in ("default", "dim", "dims"):
        converts(f"{_name}.{_form}")(_make_bool_reduction(_kind))


def variance_and_mean(
    at: Emitter, x: SSAValue, axes: Axes, correction: Number | None, keepdim: bool
) -> tuple[SSAValue, SSAValue]:
    """Emit the variance and the mean, in the type that the result is computed in."""
    if not shape_of(x):
        row = variance_and_mean(at, at.reshape(x, (1,)), 0, correction, False)
        return row[0], row[1]
    reduced_axes, wide = axes_of(x, axes), at.wide
    value = at.cast(x, wide)
    count = math.prod(shape_of(x)[axis] for axis in reduced_axes)
    mean = at.emit(graph.MeanOp(value, reduced_axes, True))
    centred = at.sub(value, mean, wide)
    total = at.reduce(at.mul(centred, centred, wide), "sum", reduced_axes, keepdim)
    degrees_of_freedom = count - (1 if correction is None else correction)
    variance = at.div(total, max(degrees_of_freedom, 0), wide)
    return variance, mean if keepdim else at.reshape(mean, shape_of(variance))


@converts("var.correction")
def _var(
    at: Emitter,
    x: SSAValue,
    axes: Axes = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
) -> SSAValue:
    return at.to_result(variance_and_mean(at, x, axes, correction, keepdim)[0])


@converts("var_mean.correction")
def _var_mean(
    at: Emitter,
    x: SSAValue,
    axes: Axes = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
) -> tuple[SSAValue, ...]:
    results = variance_and_mean(at, x, axes, correction, keepdim)
    return tuple(at.cast(each, at.element) for each in results)


def _make_cumulation(kind: str) -> Converter:
    def convert(
        at: Emitter, x: SSAValue, axis: int, *, dtype: object = None
    ) -> SSAValue:
        value = at.cast(x, at.element)
        if not shape_of(x):
            return value
        return at.emit(graph.CumulateOp(value, kind, axis % len(shape_of(x))))

    return convert


converts("cumsum.default")(_make_cumulation("sum"))
converts("cumprod.default")(_make_cumulation("prod"))
