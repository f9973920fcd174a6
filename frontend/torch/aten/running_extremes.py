"""
Import of ATen running maxima and minima from PyTorch: converters of FX calls, which
build operations of `graph`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i8, i32, i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import Converter, register_as_converter


def _make_running_extreme_converter(kind: str) -> Converter:
    """
    Return a converter to the running maxima or minima along an axis and their indices.
    """

    def convert(emitter: Emitter, x: SSAValue, axis: int) -> Sequence[SSAValue]:
        shape, element = shape_of(x), element_type_of_value(x)
        if not shape:
            return x, emitter.emit_scalar(0, i64)
        value = emitter.cast(x, i8) if element == i1 else x
        values = emitter.emit(graph.CumulateOp(value, kind, axis % len(shape)))
        indices = _emit_last_indices(emitter, value, values, axis % len(shape))
        return emitter.cast(values, element), emitter.cast(indices, i64)

    return convert


def _emit_last_indices(
    emitter: Emitter, value: SSAValue, extremes: SSAValue, axis: int
) -> SSAValue:
    """
    Emit the index of the last element so far that equals the running extreme or is NaN.
    """
    element, shape = element_type_of_value(value), shape_of(value)
    mask = emitter.compare(value, extremes, "eq", element)
    if is_float(element):
        unordered = emitter.compare(value, value, "ne", element)
        mask = emitter.emit(graph.OrOp(mask, unordered))
    trailing = [1] * (len(shape) - axis - 1)
    iota = emitter.emit_iota(shape[axis], i32)
    positions = emitter.reshape(iota, [shape[axis], *trailing])
    candidates = emitter.select(mask, positions, 0, i32)
    return emitter.emit(graph.CumulateOp(candidates, "max", axis))


register_as_converter("cummax.default")(_make_running_extreme_converter("max"))
register_as_converter("cummin.default")(_make_running_extreme_converter("min"))
