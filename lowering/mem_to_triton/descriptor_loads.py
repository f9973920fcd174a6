"""
Emission of Triton code for loads by tensor descriptors, which are parameters of the
kernel.
"""

from dataclasses import dataclass

from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access_writer import AccessWriter
from tlf.lowering.mem_to_triton.descriptor_selection import box_of_load
from tlf.lowering.mem_to_triton.element_types import (
    element_type_of,
    plan_type_name,
    shape_of,
)
from tlf.lowering.mem_to_triton.index_expressions import IndexExpr
from tlf.lowering.mem_to_triton.tile_broadcasting import reshape_tile


@dataclass(frozen=True)
class DescriptorParameter:
    """
    Tensor descriptor that a kernel takes: a view of the buffer of another parameter,
    and the box that is loaded. Extents, strides and the offset are in elements.
    """

    argument: str
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]


class DescriptorTable:
    """Names of the descriptors that a kernel takes, in order."""

    def __init__(self) -> None:
        self.names: dict[DescriptorParameter, str] = {}

    def name_of(self, descriptor: DescriptorParameter) -> str:
        """Return the name of a descriptor, which may be new."""
        return self.names.setdefault(descriptor, f"d{len(self.names)}")


def descriptor_load_expression(
    access: AccessWriter, table: DescriptorTable, op: mem.LoadOp
) -> str:
    """
    Return the expression of a load of a box by a descriptor, with the shape of its
    tile. Raises `DiagnosticException` if the load is not one of a box.
    """
    view, box = access.views[op.source], box_of_load(op)
    if box is None or view.offset.constant is None:
        raise DiagnosticException(
            "mem.load: expected a box at a constant offset for a tensor descriptor"
        )
    dtype = plan_type_name(element_type_of(op.value))
    descriptor = DescriptorParameter(
        view.pointer, dtype, view.offset.constant, view.shape, view.strides, box
    )
    starts = [
        _coordinate_text(offset + IndexExpr.of_constant(each.offset), access.wide)
        for offset, each in zip(
            access.index_expressions_of(op.mixed_offsets),
            mem.linear_accesses_of_map(op.source_map),
            strict=True,
        )
    ]
    text = f"{table.name_of(descriptor)}.load([{', '.join(starts)}])"
    return reshape_tile(text, box, shape_of(op.value))


def _coordinate_text(index: IndexExpr, is_wide: bool) -> str:
    """Return a coordinate of a box, which has 32 bits."""
    if is_wide and index.constant is None:
        return f"({index.text}).to(tl.int32)"
    return index.text
