"""IR utility of the dialects: strides and views of buffers of static layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.types import memref_type

VIEW_OPERATIONS = memref.ReinterpretCastOp | memref.SubviewOp
"""View operations whose result type gives the offset in the allocated buffer."""


def has_static_offset(buffer: SSAValue) -> bool:
    """Return `True` if the offset in the allocated buffer is static."""
    type_ = memref_type(buffer)
    if not isinstance(type_.layout, StridedLayoutAttr):
        return isinstance(type_.layout, NoneAttr)
    return type_.layout.get_offset() is not None


def static_offset_and_strides(buffer: SSAValue) -> tuple[int, tuple[int, ...]]:
    """Return the offset in the allocated buffer and the strides, in elements."""
    type_ = memref_type(buffer)
    offset = (
        type_.layout.get_offset() if isinstance(type_.layout, StridedLayoutAttr) else 0
    )
    strides = type_.get_strides()
    if offset is None or strides is None or None in strides:
        raise DiagnosticException(f"expected a buffer of static layout, got {type_}")
    return offset, tuple(cast(Sequence[int], strides))


def build_view_of_allocation(
    builder: Builder,
    source: SSAValue,
    shape: Sequence[int],
    offset: int,
    strides: Sequence[int],
) -> SSAValue:
    """Build a view of the allocated buffer that `source` is a view of."""
    while isinstance(owner := source.owner, VIEW_OPERATIONS):
        source = owner.source
    type_ = memref_type(source)
    is_whole = offset == 0 and tuple(strides) == row_major_strides(shape)
    layout = NoneAttr() if is_whole else StridedLayoutAttr(list(strides), offset)
    view = memref.ReinterpretCastOp.from_dynamic(
        source,
        [offset],
        list(shape),
        list(strides),
        MemRefType(type_.element_type, shape, layout, type_.memory_space),
    )
    return builder.insert(view).result
