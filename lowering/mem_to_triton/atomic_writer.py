"""
Emission of Triton code for `mem.scatter`: atomic operations on the elements of a buffer
at indices.
"""

from collections.abc import Mapping

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access_writer import AccessWriter, ValidExtents
from tlf.lowering.mem_to_triton.element_types import element_type_of, shape_of
from tlf.lowering.mem_to_triton.gather_loads import indexed_address_and_condition


def write_combination(
    access: AccessWriter, op: mem.ScatterOp, names: Mapping[SSAValue, str]
) -> None:
    """
    Write the atomic operation of `op`, without an order among those of other threads.
    Out-of-bounds indices are masked. `names` are the variables of values.
    """
    value, indices = names[op.value], names[op.indices]
    view, shape = access.views[op.destination], shape_of(op.value)
    address, condition = indexed_address_and_condition(
        access, op, view, ValidExtents(shape, view.shape), indices
    )
    kind = op.kind.data
    if element_type_of(op.value) == f32 and kind is not mem.CombiningKind.ADD:
        access.source.add_line(f"atomic_{kind}_f32({address}, {value}, {condition})")
        return
    access.source.add_line(
        f'tl.atomic_{kind}({address}, {value}, mask={condition}, sem="relaxed")'
    )
