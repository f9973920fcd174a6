"""
IR utility of the dialects: read the elements of `memref.global` constants, inline or in
a side file.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import TensorType

from tlf.dialects.graph.constant import (
    ConstantOp,
    Elements,
    SideFileAttr,
    dense_elements_of,
    to_dense_attribute,
)
from tlf.dialects.types import tensor_type

SIDE_FILE = "tlf.file"
"""Attribute of a global that names the side file with its elements."""


def load_global_elements(op: memref.GlobalOp) -> Elements | None:
    """
    Return the elements of a global, read from its side file if it has one; `None` if it
    has no initial value.

    Raises `DiagnosticException` if the file does not contain the elements.
    """
    file = op.attributes.get(SIDE_FILE)
    if not isinstance(file, SideFileAttr):
        return dense_elements_of(op.initial_value)
    type_ = TensorType(op.type.get_element_type(), op.type.get_shape())
    constant = ConstantOp(file, type_)
    return to_dense_attribute(constant.to_array(), tensor_type(constant.result))
