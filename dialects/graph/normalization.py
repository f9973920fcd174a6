"""Layer normalization, and batch normalization with given statistics."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import prod
from typing import ClassVar, Self

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.access import Accesses
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.elementwise import AddOp, MulOp
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensors import (
    FLOATS,
    GraphTensor,
    element_of,
    rounded,
    shape_of,
    shape_text,
    verify_element,
    verify_shape,
    widened,
)
from tlf.dialects.graph.whole_axes import WholeAxesOperation
from tlf.dialects.interfaces import Array


class NormalizationOperation(WholeAxesOperation):
    """
    A composite that shifts and scales its first operand, `x`, by parameters along some
    of its axes, in f32. Parameters may be f32 beside an `x` of a 16-bit float.

    In its text, every operand but the first follows its name.
    """

    PARAMETERS: ClassVar[tuple[str, ...]]
    """The operands after the first, in order; optional ones may be absent."""

    epsilon = prop_def(FloatAttr[AnyFloat])

    @property
    @abc.abstractmethod
    def parameter_axes(self) -> tuple[int, ...]:
        """The axes of `x` that the axes of every parameter are."""

    @property
    def parameters(self) -> dict[str, SSAValue]:
        """The parameters that are present, by name."""
        named = {name: getattr(self, name) for name in self.PARAMETERS}
        return {name: value for name, value in named.items() if value is not None}

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the properties but epsilon, which follow the operands."""
        return {}

    def print_options(self, printer: Printer) -> None:
        """Print the properties but epsilon, a space before each."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        operands = [parser.parse_unresolved_operand()]
        present: list[int] = []
        for name in cls.PARAMETERS:
            found = parser.parse_optional_keyword(name) is not None
            present.append(int(found))
            if found:
                operands.append(parser.parse_unresolved_operand())
        options = cls.parse_options(parser)
        parser.parse_keyword("epsilon")
        options["epsilon"] = FloatAttr(float(parser.parse_number()), f64)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        options["operandSegmentSizes"] = _segments((1, *present))
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
        printer.print_operation_type(self)

    def verify_(self) -> None:
        x, result = self.operands[0], self.results[0]
        if self.epsilon.value.data < 0:
            raise VerifyException(
                f"expected an epsilon of at least 0, got {self.epsilon.value.data}"
            )
        verify_shape(result, shape_of(x))
        verify_element(result, element_of(x))
        shape = tuple(shape_of(x)[axis] for axis in self.parameter_axes)
        for name, value in self.parameters.items():
            if shape_of(value) != shape:
                raise VerifyException(
                    f"expected a {name} of shape {shape_text(shape)}, "
                    f"got {shape_text(shape_of(value))}"
                )
            if element_of(value) not in (element_of(x), f32):
                either = " or ".join(dict.fromkeys((str(element_of(x)), "f32")))
                raise VerifyException(
                    f"expected a {name} of {either}, got {element_of(value)}"
                )

    def operand_accesses(self) -> tuple[Accesses, ...]:
        along = self.accesses_along(self.parameter_axes)
        return (*self.result_accesses(), *(along for _ in self.parameters))

    def named(self, operands: Sequence[Array]) -> dict[str, Array]:
        """The operands in f32, the first as `x`, shaped to broadcast to it."""
        first = self.parameter_axes[0]
        rank = len(shape_of(self.operands[0]))
        tail = (1,) * (rank - first - len(self.parameter_axes))
        wide = [widened(operand) for operand in operands]
        shaped = (each.reshape(*each.shape, *tail) for each in wide[1:])
        return {"x": wide[0], **dict(zip(self.parameters, shaped, strict=True))}


def _segments(sizes: Sequence[int]) -> Attribute:
    return DenseArrayBase.from_list(i32, list(sizes))


def _scaled(value: Array, named: dict[str, Array]) -> Array:
    """Apply the weight and the bias, where they are."""
    if "weight" in named:
        value = np.multiply(value, named["weight"])
    return np.add(value, named["bias"]) if "bias" in named else value


@irdl_op_definition
class LayerNormOp(NormalizationOperation):
    """
    `(x - mean) / sqrt(variance + epsilon) * weight + bias`, mean and variance (the mean
    square of `x - mean`) taken over the last axes, one unless `last` says how many.
    Weight and bias have the shape of these axes; either may be absent. Computed in f32.

    ```mlir
    %y = graph.layer_norm %x weight %w bias %b epsilon 1.0e-05
        : (tensor<4x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ```
    """

    name = "graph.layer_norm"
    PARAMETERS: ClassVar = ("weight", "bias")

    operand = operand_def(GraphTensor(FLOATS))
    weight = opt_operand_def(GraphTensor(FLOATS))
    bias = opt_operand_def(GraphTensor(FLOATS))

    last = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))

    result = result_def(GraphTensor(FLOATS))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        operand: SSAValue | Operation,
        weight: SSAValue | Operation | None = None,
        bias: SSAValue | Operation | None = None,
        last: int = 1,
        epsilon: float = 1e-5,
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value, weight, bias],
            properties={
                "last": IntegerAttr(last, i64),
                "epsilon": FloatAttr(epsilon, f64),
            },
            result_types=[value.type],
        )

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        if parser.parse_optional_keyword("last") is None:
            return {}
        return {"last": IntegerAttr(parser.parse_integer(), i64)}

    def print_options(self, printer: Printer) -> None:
        if self.last.value.data != 1:
            printer.print_string(f" last {self.last.value.data}")

    @property
    def whole_axes(self) -> tuple[int, ...]:
        rank = len(shape_of(self.operand))
        return tuple(range(rank - self.last.value.data, rank))

    @property
    def parameter_axes(self) -> tuple[int, ...]:
        return self.whole_axes

    @property
    def count(self) -> int:
        """How many elements are normalized together."""
        return prod(shape_of(self.operand)[axis] for axis in self.whole_axes)

    def verify_(self) -> None:
        last, rank = self.last.value.data, len(shape_of(self.operand))
        if not 1 <= last <= rank:
            raise VerifyException(f"expected 1 to {rank} last axes, got {last}")
        super().verify_()

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        named = self.named(operands)
        axes, count = self.whole_axes, np.float32(self.count)
        with np.errstate(all="ignore"):
            mean = np.divide(np.sum(named["x"], axis=axes, keepdims=True), count)
            centred = np.subtract(named["x"], mean)
            squares = np.sum(np.square(centred), axis=axes, keepdims=True)
            deviation = np.sqrt(
                np.add(np.divide(squares, count), np.float32(self.epsilon.value.data))
            )
            value = _scaled(np.divide(centred, deviation), named)
        return (rounded(value, element_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorProgram.of(builder, self.operand)
        wide, axes = program.widened(self.operand), self.whole_axes
        count = program.number(self.count)
        total = program.reduce(wide, ReduceKind.SUM, axes, keepdims=True)
        centred = program.sub(wide, program.div(total, count))
        square = program.mul(centred, centred)
        squares = program.reduce(square, ReduceKind.SUM, axes, keepdims=True)
        variance = program.div(squares, count)
        epsilon = program.number(self.epsilon.value.data)
        scale = program.rsqrt(program.add(variance, epsilon))
        steps: list[tuple[type[AddOp | MulOp], SSAValue]] = [(MulOp, scale)]
        if self.weight is not None:
            steps.append((MulOp, program.widened(self.weight)))
        if self.bias is not None:
            steps.append((AddOp, program.widened(self.bias)))
        return [_apply(program, centred, steps, self.result.type)]

    def flops(self) -> int:
        elements = prod(shape_of(self.operand))
        rows = elements // self.count
        return (5 + len(self.parameters)) * elements + 4 * rows


def _apply(
    program: TensorProgram,
    value: SSAValue,
    steps: Sequence[tuple[type[AddOp | MulOp], SSAValue]],
    type_: Attribute,
) -> SSAValue:
    """Combine `value` with one operand after the other, the last of type `type_`."""
    *first, (kind, operand) = steps
    for each, other in first:
        value = program.insert(each(value, other))
    return program.finish(kind, [value, operand], type_)


@irdl_op_definition
class BatchNormOp(NormalizationOperation):
    """
    `(x - mean) / sqrt(variance + epsilon) * weight + bias`, with one mean, variance,
    weight and bias for each index of axis 1, the channel. Weight and bias may be
    absent. Computed in f32.

    ```mlir
    %y = graph.batch_norm %x mean %m variance %v weight %w bias %b epsilon 1.0e-05
        : (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
           tensor<8xf32>) -> tensor<2x8x4x4xf32>
    ```
    """

    name = "graph.batch_norm"
    PARAMETERS: ClassVar = ("mean", "variance", "weight", "bias")

    operand = operand_def(GraphTensor(FLOATS))
    mean = operand_def(GraphTensor(FLOATS))
    variance = operand_def(GraphTensor(FLOATS))
    weight = opt_operand_def(GraphTensor(FLOATS))
    bias = opt_operand_def(GraphTensor(FLOATS))

    result = result_def(GraphTensor(FLOATS))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        operand: SSAValue | Operation,
        mean: SSAValue | Operation,
        variance: SSAValue | Operation,
        weight: SSAValue | Operation | None = None,
        bias: SSAValue | Operation | None = None,
        epsilon: float = 1e-5,
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value, mean, variance, weight, bias],
            properties={"epsilon": FloatAttr(epsilon, f64)},
            result_types=[value.type],
        )

    @property
    def whole_axes(self) -> tuple[int, ...]:
        return ()

    @property
    def parameter_axes(self) -> tuple[int, ...]:
        return (1,)

    def verify_(self) -> None:
        if len(shape_of(self.operand)) < 2:
            raise VerifyException(
                "expected an operand of rank 2 or more, "
                f"got {shape_text(shape_of(self.operand))}"
            )
        super().verify_()

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        named = self.named(operands)
        with np.errstate(all="ignore"):
            centred = np.subtract(named["x"], named["mean"])
            deviation = np.sqrt(
                np.add(named["variance"], np.float32(self.epsilon.value.data))
            )
            value = _scaled(np.divide(centred, deviation), named)
        return (rounded(value, element_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = TensorProgram.of(builder, self.operand)
        wide = {name: program.widened(value) for name, value in self.parameters.items()}
        epsilon = program.number(self.epsilon.value.data)
        scale = program.rsqrt(program.add(wide["variance"], epsilon))
        if "weight" in wide:
            scale = program.mul(scale, wide["weight"])
        columns = self._columns(program, wide["mean"])
        centred = program.sub(program.widened(self.operand), columns)
        steps: list[tuple[type[AddOp | MulOp], SSAValue]]
        steps = [(MulOp, self._columns(program, scale))]
        if "bias" in wide:
            steps.append((AddOp, self._columns(program, wide["bias"])))
        return [_apply(program, centred, steps, self.result.type)]

    def _columns(self, program: TensorProgram, value: SSAValue) -> SSAValue:
        """A parameter as a tensor that broadcasts to the operand."""
        tail = len(shape_of(self.operand)) - 2
        if not tail:
            return value
        return program.reshape(value, (*shape_of(value), *(1,) * tail))

    def flops(self) -> int:
        elements, channels = prod(shape_of(self.operand)), shape_of(self.operand)[1]
        biased = self.bias is not None
        weighted = self.weight is not None
        return (2 + biased) * elements + (2 + weighted) * channels
