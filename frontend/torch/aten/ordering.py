"""
Import of ATen sorting and top-k from PyTorch: converters of FX calls, which build
operations of `graph`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("sort.default")
def _convert_sort(
    emitter: Emitter, x: SSAValue, axis: int = -1, descending: bool = False
) -> Sequence[SSAValue]:
    return _emit_sort_of_axis(emitter, x, axis, descending, None)


@register_as_converter("sort.stable")
def _convert_sort_stable(
    emitter: Emitter,
    x: SSAValue,
    *,
    stable: bool | None = None,
    dim: int = -1,
    descending: bool = False,
) -> Sequence[SSAValue]:
    return _emit_sort_of_axis(emitter, x, dim, descending, None)


@register_as_converter("topk.default")
def _convert_topk(
    emitter: Emitter,
    x: SSAValue,
    count: int,
    axis: int = -1,
    largest: bool = True,
    sort: bool = True,
) -> Sequence[SSAValue]:
    return _emit_sort_of_axis(emitter, x, axis, largest, count)


def _emit_sort_of_axis(
    emitter: Emitter,
    x: SSAValue,
    axis: int,
    descending: bool,
    result_extent: int | None,
) -> Sequence[SSAValue]:
    """
    Emit a sort along `axis`, and return the values and their indices in `x`; Booleans
    are sorted as integers.
    """
    if not shape_of(x):
        return x, emitter.emit_scalar(0, i64)
    element = element_type_of_value(x)
    value = emitter.cast(x, i8) if element == i1 else x
    op = graph.SortOp(value, axis % len(shape_of(x)), descending, result_extent)
    values, indices = emitter.emit_all(op)
    return emitter.cast(values, element), indices
