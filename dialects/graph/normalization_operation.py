"""
Operation base of the `graph` dialect: normalizations, with assembly format, parameters,
scale and shift.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    f32,
    f64,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.elementwise import AddOp, MulOp
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    format_shape,
    promote_to_f32,
    shape_of,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.graph.untiled_axes_operation import UntiledAxesOperation
from tlf.dialects.interfaces import Array
from tlf.support.affine.index_access import Accesses


class NormalizationOperation(UntiledAxesOperation):
    """
    Base of composites that shift and scale their first operand, `x`, by parameters
    along some of its axes, in f32 if `x` is narrower. Parameters have the element type
    of `x`, or f32.

    In the assembly format, every operand but the first follows its name.
    """

    PARAMETER_NAMES: ClassVar[tuple[str, ...]]
    """Names of the operands after the first, in order; optional ones may be absent."""

    epsilon = prop_def(FloatAttr[AnyFloat])

    @property
    @abc.abstractmethod
    def parameter_axes(self) -> tuple[int, ...]:
        """Axes of `x` that the axes of every parameter correspond to."""

    @property
    def parameters(self) -> dict[str, SSAValue]:
        """Parameters that are present, by name."""
        named = {name: getattr(self, name) for name in self.PARAMETER_NAMES}
        return {name: value for name, value in named.items() if value is not None}

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the properties other than epsilon, which follow the operands."""
        return {}

    def print_options(self, printer: Printer) -> None:
        """Print the properties other than epsilon, each with a leading space."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = [parser.parse_unresolved_operand()]
        present: list[int] = []
        for name in cls.PARAMETER_NAMES:
            is_present = parser.parse_optional_keyword(name) is not None
            present.append(int(is_present))
            if is_present:
                operands.append(parser.parse_unresolved_operand())
        options = cls.parse_options(parser)
        parser.parse_keyword("epsilon")
        options["epsilon"] = FloatAttr(float(parser.parse_number()), f64)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        options["operandSegmentSizes"] = _to_segment_sizes_attribute((1, *present))
        return cls.create(
            operands=parser.resolve_operands(operands, types.inputs.data, position),
            result_types=types.outputs.data,
            properties=options,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        for name, value in self.parameters.items():
            printer.print_string(f" {name} ")
            printer.print_ssa_value(value)
        self.print_options(printer)
        printer.print_string(" epsilon ")
        printer.print_float(self.epsilon.value.data, f64)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    def verify_(self) -> None:
        x, result = self.operands[0], self.results[0]
        if self.epsilon.value.data < 0:
            raise VerifyException(
                f"expected an epsilon of at least 0, got {self.epsilon.value.data}"
            )
        verify_shape(result, shape_of(x))
        verify_element_type(result, element_type_of_value(x))
        shape = tuple(shape_of(x)[axis] for axis in self.parameter_axes)
        for name, value in self.parameters.items():
            if shape_of(value) != shape:
                raise VerifyException(
                    f"expected a {name} of shape {format_shape(shape)}, "
                    f"got {format_shape(shape_of(value))}"
                )
            if element_type_of_value(value) not in (element_type_of_value(x), f32):
                either = " or ".join(
                    dict.fromkeys((str(element_type_of_value(x)), "f32"))
                )
                raise VerifyException(
                    f"expected a {name} of {either}, got {element_type_of_value(value)}"
                )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        along = self.accesses_to_axes(self.parameter_axes)
        return (*self.result_indexing_maps(), *(along for _ in self.parameters))

    def broadcastable_arrays_by_name(
        self, operand_arrays: Sequence[Array]
    ) -> dict[str, Array]:
        """Return the operands in f32 by name, shaped to broadcast to `x`."""
        first = self.parameter_axes[0]
        rank = len(shape_of(self.operands[0]))
        tail = (1,) * (rank - first - len(self.parameter_axes))
        wide = [promote_to_f32(operand) for operand in operand_arrays]
        shaped = (each.reshape(*each.shape, *tail) for each in wide[1:])
        return {"x": wide[0], **dict(zip(self.parameters, shaped, strict=True))}


def _to_segment_sizes_attribute(sizes: Sequence[int]) -> Attribute:
    return DenseArrayBase.from_list(i32, list(sizes))


def apply_weight_and_bias(value: Array, arrays_by_name: dict[str, Array]) -> Array:
    """Apply the weight and the bias, if present."""
    if "weight" in arrays_by_name:
        value = np.multiply(value, arrays_by_name["weight"])
    return np.add(value, arrays_by_name["bias"]) if "bias" in arrays_by_name else value


def build_binary_operation_chain(
    tensor_builder: TensorBuilder,
    value: SSAValue,
    steps: Sequence[tuple[type[AddOp | MulOp], SSAValue]],
    result_type: Attribute,
) -> SSAValue:
    """
    Build a chain of binary operations, the last with a result of type `result_type`.
    """
    *first, (kind, operand) = steps
    for each, other in first:
        value = tensor_builder.insert(each(value, other))
    return tensor_builder.build_with_result_type(kind, [value, operand], result_type)
