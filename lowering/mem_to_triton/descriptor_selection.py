"""
Selection of the loads that a kernel makes by tensor descriptors: a unit of the GPU
copies the box into shared memory, and threads compute no addresses.

The loads of both factors of a matrix product in a loop are selected if matrix
instructions read the factors from shared memory, and if the boxes are within the limits
of the target.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import StridedLayoutAttr, UnitAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tlf.analysis.buffers.memory_effects import (
    root_buffer_of,
    root_buffers_written_in,
)
from tlf.analysis.buffers.normalized_loops import loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.target.gpu_schema import BoxCopies
from tlf.dialects.types import is_16_bit_float, itemsize_of, memref_type
from tlf.lowering.mem_to_triton.access_writer import static_strides_and_offset
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles
from tlf.lowering.mem_to_triton.dot_shapes import is_contraction_lowered_to_dot
from tlf.lowering.mem_to_triton.element_types import element_type_of, shape_of
from tlf.lowering.mem_to_triton.tile_broadcasting import domain_dims_of

DESCRIPTOR = "triton.descriptor"
"""Unit attribute of a `mem.load` that a kernel makes by a tensor descriptor."""


def select_descriptor_loads(kernel: func.FuncOp, limits: BoxCopies) -> None:
    """Mark the loads of a kernel that are made by tensor descriptors."""
    selector = _LoadSelector(kernel, limits)
    for load in [*selector.selected_loads()]:
        load.attributes[DESCRIPTOR] = UnitAttr()


def box_of_load(load: mem.LoadOp) -> tuple[int, ...] | None:
    """
    Return the extents of the box that a load reads, one per dim of the buffer; `None`
    if its elements are not those of a box, in the order of the buffer.
    """
    tile = shape_of(load.value)
    box: list[int] = []
    dims: list[int] = []
    for access in mem.linear_accesses_of_map(load.source_map):
        terms = [term for term in access.terms if tile[term[0]] > 1]
        if not terms:
            box.append(1)
            continue
        ((dim, factor), *others) = terms
        if others or factor != 1:
            return None
        dims.append(dim)
        box.append(tile[dim])
    is_in_order = dims == [dim for dim, extent in enumerate(tile) if extent > 1]
    return tuple(box) if is_in_order and box[-1:] != [1] else None


@dataclass(frozen=True)
class _LoadSelector:
    kernel: func.FuncOp
    limits: BoxCopies

    def selected_loads(self) -> Iterator[mem.LoadOp]:
        """Yield the loads of both factors of products in loops, if both are legal."""
        written = root_buffers_written_in(self.kernel)
        for op in self.kernel.walk():
            if not isinstance(op, mem.ContractOp) or not _reads_shared_factors(op):
                continue
            loads = [value.owner for value in op.input_operands]
            if all(
                isinstance(load, mem.LoadOp)
                and load.parent is op.parent
                and root_buffer_of(load.source) not in written
                and self._is_legal(load)
                for load in loads
            ):
                yield from cast(list[mem.LoadOp], loads)

    def _is_legal(self, load: mem.LoadOp) -> bool:
        """Return `True` if a load can be made by a descriptor."""
        box = box_of_load(load)
        if box is None or load.fill_value not in (None, 0):
            return False
        if load.box_sizes != shape_of(load.value):
            return False
        if not all(map(is_contraction_lowered_to_dot, _users_of(load.value))):
            return False
        return self._is_box_within_limits(load, box) and self._is_aligned(load)

    def _is_box_within_limits(self, load: mem.LoadOp, box: tuple[int, ...]) -> bool:
        row = box[-1] * itemsize_of(load.value)
        return (
            len(box) <= self.limits.rank
            and max(box) <= self.limits.extent
            and row % self.limits.alignment == 0
        )

    def _is_aligned(self, load: mem.LoadOp) -> bool:
        """
        Return `True` if the buffer, its rows and the rows of the box start at multiples
        of the alignment, provided that the kernel's argument does.
        """
        if _has_dynamic_layout(load.source):
            return False
        strides, offset = static_strides_and_offset(memref_type(load.source))
        unit = self.limits.alignment // itemsize_of(load.value)
        *outer, last = strides
        starts = [offset, *outer]
        return (
            last == 1
            and all(start % unit == 0 for start in starts)
            and _is_multiple_of(load.mixed_offsets[-1], unit)
        )


def _reads_shared_factors(op: mem.ContractOp) -> bool:
    """
    Return `True` for a product in a loop, of matrix instructions that read the factors
    from shared memory.
    """
    if not is_contraction_lowered_to_dot(op):
        return False
    if not isinstance(op.parent_op(), scf.ForOp):
        return False
    return all(_is_shared_factor(op, position) for position in range(2))


def _is_shared_factor(op: mem.ContractOp, position: int) -> bool:
    """
    Return `True` if matrix instructions read a factor from shared memory as it is in
    the buffer: 16-bit floats, and tf32 with consecutive elements along the depth.
    """
    value = op.input_operands[position]
    if is_16_bit_float(element_type_of(value)):
        return True
    dims = domain_dims_of(op.input_maps[position], op.domain_extents)
    depth = ContractionRoles.classify_dims(op).depth
    return op.precision == "tf32" and dims[-1] in depth


def _users_of(value: SSAValue) -> list[Operation]:
    return [use.operation for use in value.uses]


def _has_dynamic_layout(buffer: SSAValue) -> bool:
    """Return `True` if the offset or a stride of a view is not constant."""
    layout = memref_type(buffer).layout
    return isinstance(layout, StridedLayoutAttr) and None in (
        layout.get_offset(),
        *layout.get_strides(),
    )


def _is_multiple_of(index: SSAValue | int, divisor: int) -> bool:
    """
    Return `True` if an index is a constant or an induction variable whose values are
    multiples of a number.
    """
    if (constant := constant_value_of(index)) is not None:
        return constant % divisor == 0
    if not isinstance(index, BlockArgument) or not (loop := index.block.parent_op()):
        return False
    return any(
        each.variable is index
        and _is_multiple_of(each.lower, divisor)
        and _is_multiple_of(each.step, divisor)
        for each in loop_ranges_of(loop)
    )
