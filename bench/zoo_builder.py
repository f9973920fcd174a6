"""Builder of functions on whole tensors, layer by layer, without a framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod, sqrt

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    ModuleOp,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.parameter_attribute import mark_parameters
from tlf.dialects.types import is_float

ELEMENTS: Mapping[str, Attribute] = {"f16": f16, "bf16": bf16, "f32": f32, "i8": i8}
"""Element types of workloads, by name."""

QUARTER = 4.6
"""Approximate root mean square of the input integers, drawn from -8 to 7."""


@dataclass(frozen=True)
class WorkloadSizes:
    """Sizes of a workload."""

    size: int
    """Rows of an image, words of a text, or operations of a random graph."""
    batch: int = 1
    element: str = "f16"
    divisor: int = 1
    """Divisor of channels and widths, for small programs."""
    stages: int = 100
    """Maximum number of stages of a network, or of levels."""
    repeats: int = 100
    """Maximum number of blocks of a stage."""
    layers: int = 1
    """Number of layers of a transformer."""
    seed: int = 0
    """Seed of random graphs."""

    def width(self, channels: int) -> int:
        """Return a number of channels after division, at least 1."""
        return max(1, channels // self.divisor)


@dataclass
class GraphBuilder:
    """
    Function under construction.

    Weights are arguments with the attribute `tlf.parameter`; their value range keeps
    activations near 1.

    With elements of i8, sums are in i32 and rescaled to i8 by a scale per channel, as
    in networks that are quantised per channel.
    """

    sizes: WorkloadSizes
    block: Block = field(default_factory=Block)
    _parameters: list[int] = field(default_factory=list[int])
    _ranges: dict[int, tuple[float, float]] = field(
        default_factory=dict[int, tuple[float, float]]
    )

    @property
    def element(self) -> Attribute:
        """Element type of activations and weights."""
        return ELEMENTS[self.sizes.element]

    @property
    def is_quantised(self) -> bool:
        """True if elements are integers."""
        return not is_float(self.element)

    def input(self, name: str, shape: Sequence[int]) -> SSAValue:
        """Return a new argument that changes from call to call."""
        return self._argument(name, shape, self.element)

    def weight(
        self,
        name: str,
        shape: Sequence[int],
        bounds: tuple[float, float] = (-1.0, 1.0),
        element: Attribute | None = None,
    ) -> SSAValue:
        """Return a new constant argument with random values within bounds."""
        position = len(self.block.args)
        self._parameters.append(position)
        if bounds != (-1.0, 1.0):
            self._ranges[position] = bounds
        return self._argument(name, shape, element or self.element)

    def _argument(
        self, name: str, shape: Sequence[int], element: Attribute
    ) -> SSAValue:
        position = len(self.block.args)
        value = self.block.insert_arg(TensorType(element, shape), position)
        value.name_hint = name
        return value

    def emit(self, op: Operation) -> SSAValue:
        """Append an operation, and return its first result."""
        self.block.add_op(op)
        return op.results[0]

    def scalar_constant(
        self, value: float, element: Attribute | None = None
    ) -> SSAValue:
        """Return a scalar; by default of the element type of activations."""
        type_ = TensorType(element or self.element, [])
        return self.emit(graph.ConstantOp.from_splat(value, type_))

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Return the value in an element type."""
        if element_type_of_value(value) == element:
            return value
        return self.emit(graph.CastOp(value, element))

    def clip(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """Return the value clipped to [low, high]."""
        element = element_type_of_value(value)
        raised = self.emit(graph.MaximumOp(value, self.scalar_constant(low, element)))
        return self.emit(graph.MinimumOp(raised, self.scalar_constant(high, element)))

    def relu(self, value: SSAValue) -> SSAValue:
        """Return the ReLU of the value."""
        return self.emit(graph.ReluOp(value))

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Return the sum; saturating if elements are integers."""
        if not self.is_quantised:
            return self.emit(graph.AddOp(lhs, rhs))
        total = self.emit(graph.AddOp(self.cast(lhs, i32), self.cast(rhs, i32)))
        return self.cast(self.clip(total, -128, 127), i8)

    def rescale(self, name: str, value: SSAValue, terms: int) -> SSAValue:
        """
        Rescale sums of `terms` products from i32 to i8, with a scale per index of axis
        1.
        """
        shape = _per_channel(value)
        largest = 8 / (QUARTER * QUARTER * sqrt(terms))
        scale = self.weight(f"{name}.scale", shape, (largest / 2, largest), f32)
        scaled = self.emit(graph.MulOp(self.cast(value, f32), scale))
        rounded = self.emit(graph.RoundOp(scaled))
        return self.cast(self.clip(rounded, -128, 127), i8)

    def conv(
        self,
        name: str,
        images: SSAValue,
        filters: int,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        bias: bool = False,
    ) -> SSAValue:
        """Return a convolution that preserves the image size, up to the stride."""
        channels = shape_of(images)[1] // groups
        terms = channels * kernel * kernel
        bound = 1.7 / sqrt(terms)
        shape = (filters, channels, kernel, kernel)
        weight = self.weight(f"{name}.weight", shape, (-bound, bound))
        half = kernel // 2
        op = graph.Conv2dOp(
            images,
            weight,
            strides=(stride, stride),
            padding=(half, half, half, half),
            groups=groups,
            element=i32 if self.is_quantised else None,
        )
        value = self.emit(op)
        if bias or self.is_quantised:
            value = self.add_bias(name, value)
        return self.rescale(name, value, terms) if self.is_quantised else value

    def add_bias(self, name: str, value: SSAValue) -> SSAValue:
        """Return the value with a bias added to each channel, axis 1."""
        element = element_type_of_value(value)
        bias = self.weight(f"{name}.bias", _per_channel(value), element=element)
        return self.emit(graph.AddOp(value, bias))

    def batch_norm(self, name: str, value: SSAValue, epsilon: float = 1e-5) -> SSAValue:
        """Return the batch norm; integers pass through, since quantising folds it."""
        if self.is_quantised:
            return value
        channels = shape_of(value)[1:2]
        mean = self.weight(f"{name}.mean", channels)
        variance = self.weight(f"{name}.variance", channels, (0.5, 1.5))
        weight = self.weight(f"{name}.gamma", channels)
        bias = self.weight(f"{name}.beta", channels)
        return self.emit(
            graph.BatchNormOp(value, mean, variance, weight, bias, epsilon)
        )

    def conv_batch_norm(
        self,
        name: str,
        images: SSAValue,
        filters: int,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        epsilon: float = 1e-5,
    ) -> SSAValue:
        """Return a convolution with batch norm."""
        value = self.conv(name, images, filters, kernel, stride, groups)
        return self.batch_norm(f"{name}.norm", value, epsilon)

    def linear(
        self, name: str, rows: SSAValue, outputs: int, bias: bool = True
    ) -> SSAValue:
        """
        Return the product of rows (last axis) with a weight, plus a bias per output.
        """
        inputs = shape_of(rows)[-1]
        bound = 1.7 / sqrt(inputs)
        weight = self.weight(f"{name}.weight", (inputs, outputs), (-bound, bound))
        value = self.emit(
            graph.MatmulOp(rows, weight, element=i32 if self.is_quantised else None)
        )
        if bias or self.is_quantised:
            shift = self.weight(
                f"{name}.bias", (outputs,), element=element_type_of_value(value)
            )
            value = self.emit(graph.AddOp(value, shift))
        return self.rescale(name, value, inputs) if self.is_quantised else value

    def spatial_mean(self, images: SSAValue) -> SSAValue:
        """Return the mean of each channel, N x C; integers are rounded half to even."""
        if not self.is_quantised:
            return self.emit(graph.MeanOp(images, [2, 3]))
        count = prod(shape_of(images)[2:])
        total = self.emit(
            graph.ReduceOp(images, graph.ReduceKind.SUM, [2, 3], element=i32)
        )
        scale = self.scalar_constant(1 / count, f32)
        mean = self.emit(graph.MulOp(self.cast(total, f32), scale))
        return self.cast(self.emit(graph.RoundOp(mean)), i8)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Return the value in another shape."""
        return self.emit(graph.ReshapeOp(value, shape))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Return the value with permuted axes."""
        return self.emit(graph.TransposeOp(value, permutation))

    def build_module(self, name: str, *results: SSAValue) -> ModuleOp:
        """Return a module with the function that returns `results`."""
        self.block.add_op(func.ReturnOp(*results))
        inputs = [each.type for each in self.block.args]
        outputs = [each.type for each in results]
        function = func.FuncOp(name, (inputs, outputs), Region(self.block))
        function.arg_attrs = ArrayAttr(
            [self._range(position) for position in range(len(inputs))]
        )
        mark_parameters(function, self._parameters)
        return ModuleOp([function])

    def _range(self, position: int) -> DictionaryAttr:
        if position not in self._ranges:
            return DictionaryAttr({})
        numbers = [FloatAttr(each, f64) for each in self._ranges[position]]
        return DictionaryAttr({"tlf.range": ArrayAttr(numbers)})


def _per_channel(value: SSAValue) -> tuple[int, ...]:
    """
    Return the shape of a value per channel: axis 1 of images, the last axis of rows.
    """
    shape = shape_of(value)
    if len(shape) < 4:
        return shape[-1:]
    return (shape[1], *(1,) * (len(shape) - 2))
