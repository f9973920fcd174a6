"""Import of ATen sorting and top-k as graph operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import converts


@converts("sort.default")
def _sort(
    at: Emitter, x: SSAValue, axis: int = -1, descending: bool = False
) -> Sequence[SSAValue]:
    return _emit_sort(at, x, axis, descending, None)


@converts("sort.stable")
def _sort_stable(
    at: Emitter,
    x: SSAValue,
    *,
    stable: bool | None = None,
    dim: int = -1,
    descending: bool = False,
) -> Sequence[SSAValue]:
    return _emit_sort(at, x, dim, descending, None)


@converts("topk.default")
def _topk(
    at: Emitter,
    x: SSAValue,
    count: int,
    axis: int = -1,
    largest: bool = True,
    sort: bool = True,
) -> Sequence[SSAValue]:
    return _emit_sort(at, x, axis, largest, count)


def _emit_sort(
    at: Emitter, x: SSAValue, axis: int, descending: bool, count: int | None
) -> Sequence[SSAValue]:
    """Emit a sort; Booleans are sorted as integers."""
    if not shape_of(x):
        return x, at.scalar(0, i64)
    element = element_of(x)
    value = at.cast(x, i8) if element == i1 else x
    op = graph.SortOp(value, axis % len(shape_of(x)), descending, count)
    values, indices = at.emit_all(op)
    return at.cast(values, element), indices
