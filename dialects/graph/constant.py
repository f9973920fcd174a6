"""Operation `graph.constant`: a constant tensor, dense or in a side file."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    RankedStructure,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.side_file_arrays import read_side_file_array
from tlf.dialects.graph.tensor_types import (
    GraphTensorConstraint,
    element_type_of_value,
    format_shape,
    shape_of,
)
from tlf.dialects.interfaces import (
    Array,
    BottleneckKind,
    ConstantInterface,
    LoopDim,
    Scalar,
    parallel_dim,
)
from tlf.dialects.types import (
    AnyTensor,
    dtype_of,
    element_type_of,
    scalar_attribute,
    tensor_type,
)
from tlf.support.affine.index_access import Accesses, identity_accesses


@irdl_attr_definition
class SideFileAttr(ParametrizedAttribute):
    """
    Reference to an array in a side file, which the IR does not contain.

    `path` is the path of an `.npz` archive or a `.safetensors` file, relative to the
    current directory, `key` is the name of the array in the file, and `sha256` is the
    digest of the array's bytes in row-major order, or empty if unknown.

    ```mlir
    #graph.file<"weights.npz" key "w0" sha256 "9f86d081884c7d65">
    ```
    """

    name = "graph.file"

    path: StringAttr
    key: StringAttr
    sha256: StringAttr

    def __init__(self, path: str, key: str, sha256: str = ""):
        super().__init__(StringAttr(path), StringAttr(key), StringAttr(sha256))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_body(printer)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.parse_body(parser)

    def print_body(self, printer: Printer) -> None:
        """Print the path, the key, and the digest if known, without angle brackets."""
        printer.print_attribute(self.path)
        printer.print_string(" key ")
        printer.print_attribute(self.key)
        if self.sha256.data:
            printer.print_string(" sha256 ")
            printer.print_attribute(self.sha256)

    @staticmethod
    def parse_body(parser: AttrParser) -> tuple[StringAttr, StringAttr, StringAttr]:
        """
        Parse the path, the key, and the digest (empty if absent), without angle
        brackets.
        """
        path = parser.parse_str_literal()
        parser.parse_keyword("key")
        key = parser.parse_str_literal()
        digest = ""
        if parser.parse_optional_keyword("sha256") is not None:
            digest = parser.parse_str_literal()
        return StringAttr(path), StringAttr(key), StringAttr(digest)


Elements: TypeAlias = DenseIntOrFPElementsAttr[AnyFloat | IntegerType]
"""Dense elements of a tensor."""


def to_dense_attribute(array: Array, type_: AnyTensor) -> Elements:
    """Convert an array to a dense attribute of a tensor type."""
    data = np.ascontiguousarray(array, dtype_of(type_.element_type)).tobytes()
    ranked = cast(RankedStructure[AnyFloat | IntegerType], type_)
    return DenseIntOrFPElementsAttr(ranked, BytesAttr(data))


def dense_elements_of(attribute: Attribute) -> Elements | None:
    """Return an attribute as dense elements; `None` if it is not dense."""
    return (
        cast(Elements, attribute)
        if isinstance(attribute, DenseIntOrFPElementsAttr)
        else None
    )


@irdl_op_definition
class ConstantOp(IRDLOperation, ConstantInterface):
    """
    Constant tensor, dense or in a side file. Infinities are written as their bits:
    minus infinity is `0xFF800000` in f32, `0xFC00` in f16 and `0xFF80` in bf16.

    ```mlir
    %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %w = graph.constant file "block.safetensors" key "0.weight" : tensor<16x12xf32>
    ```
    """

    name = "graph.constant"

    value = prop_def(Attribute)
    result = result_def(GraphTensorConstraint())

    traits = traits_def(Pure())

    def __init__(
        self,
        value: Array | Elements | SideFileAttr,
        type_: Attribute | None = None,
    ):
        match value:
            case SideFileAttr():
                if type_ is None:
                    raise VerifyException("expected the type of an array in a file")
            case DenseIntOrFPElementsAttr():
                type_ = value.type if type_ is None else type_
            case _:
                if type_ is None:
                    type_ = TensorType(element_type_of(value.dtype), value.shape)
                value = to_dense_attribute(value, cast(AnyTensor, type_))
        super().__init__(result_types=[type_], properties={"value": value})

    @staticmethod
    def from_splat(value: Scalar, type_: Attribute) -> ConstantOp:
        """Return a constant whose elements all equal `value`."""
        tensor = cast(AnyTensor, type_)
        dtype = dtype_of(tensor.element_type)
        return ConstantOp(np.full(tensor.get_shape(), value, dtype), tensor)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_keyword("file") is not None:
            value: Attribute = SideFileAttr.new(SideFileAttr.parse_body(parser))
            attributes = parser.parse_optional_attr_dict()
            parser.parse_punctuation(":")
            type_: Attribute = parser.parse_type()
        else:
            attributes = parser.parse_optional_attr_dict()
            position = parser.pos
            value = parser.parse_attribute()
            if (dense := dense_elements_of(value)) is None:
                parser.raise_error(
                    f"expected dense elements or a file, got {value}", position
                )
            type_ = dense.type
            if parser.parse_optional_punctuation("->") is not None:
                type_ = parser.parse_type()
        return cls.create(
            result_types=[type_], properties={"value": value}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        if isinstance(self.value, SideFileAttr):
            printer.print_string(" file ")
            self.value.print_body(printer)
            printer.print_op_attributes(self.attributes)
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)
            return
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)
        dense = dense_elements_of(self.value)
        if dense is not None and dense.type != self.result.type:
            printer.print_string(" -> ")
            printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if isinstance(self.value, SideFileAttr):
            return
        if (dense := dense_elements_of(self.value)) is None:
            raise VerifyException(
                f"expected dense elements or a file, got {self.value}"
            )
        type_ = cast(AnyTensor, dense.type)
        wanted = tensor_type(self.result)
        if (type_.get_shape(), type_.element_type) != (
            wanted.get_shape(),
            wanted.element_type,
        ):
            raise VerifyException(f"expected elements of {wanted}, got {type_}")
        if len(dense) != prod(wanted.get_shape()):
            raise VerifyException(
                f"expected {prod(wanted.get_shape())} elements, got {len(dense)}"
            )

    def to_array(self) -> Array:
        """
        Return the elements as a numpy array, read from the side file if they are in
        one.

        Raise a `DiagnosticException` if the side file cannot be read or lacks the
        array, and a `VerifyException` if the array has another shape or dtype.
        """
        shape, dtype = (
            shape_of(self.result),
            dtype_of(element_type_of_value(self.result)),
        )
        if not isinstance(self.value, SideFileAttr):
            dense = cast(Elements, self.value)
            return np.frombuffer(dense.data.data, dtype).reshape(shape)
        path, key = self.value.path.data, self.value.key.data
        array = read_side_file_array(path, key, self.value.sha256.data)
        if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
            array = array.view(dtype)
        if array.shape != shape or array.dtype != dtype:
            raise VerifyException(
                f"expected {dtype} of shape {format_shape(shape)} in `{path}` under "
                f"`{key}`, got {array.dtype} of shape {format_shape(array.shape)}"
            )
        return array

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        return (self.to_array(),)

    def splat_attribute(self) -> FloatAttr[AnyFloat] | IntegerAttr[IntegerType] | None:
        """
        Return the scalar that all elements equal bitwise; `None` if they differ, or if
        they are in a side file.
        """
        if isinstance(self.value, SideFileAttr):
            return None
        bits = self.to_array().reshape(-1)
        raw = bits.view(f"u{bits.dtype.itemsize}")
        if (raw != raw[0]).any():
            return None
        value = bits[0].item() if bits.dtype.kind in "fib" else float(bits[0])
        return scalar_attribute(value, element_type_of_value(self.result))

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(parallel_dim(extent) for extent in shape_of(self.result))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return ()

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(len(shape_of(self.result))),)

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> ConstantOp:
        (type_,) = result_types
        if type_ == self.result.type:
            return ConstantOp.create(
                result_types=[type_], properties={"value": self.value}
            )
        first = self.to_array().reshape(-1)[:1]
        tensor = cast(AnyTensor, type_)
        return ConstantOp(np.full(tensor.get_shape(), first[0]), tensor)

    @property
    def bottleneck_kind(self) -> BottleneckKind:
        return BottleneckKind.MOVEMENT

    def untileable_dims(self) -> dict[int, str]:
        """Return all axes, with the reason, unless all elements are equal."""
        if self.splat_attribute() is not None:
            return {}
        reason = "the elements of the constant differ: slice its value"
        return {axis: reason for axis in range(len(shape_of(self.result)))}
