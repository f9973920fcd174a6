"""
Programs of `examples/` as functions of their sizes and element type.

Each has the equivalent computation in torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from graph_program import Program, Step, Value
from torch import Tensor
from torch.nn import functional

Reference = Callable[[Mapping[str, Tensor]], Tensor]


@dataclass(frozen=True)
class Variant:
    """Program, its reference in torch, and the extents of its tiled axes."""

    program: Program
    reference: Reference
    """Function from arguments by name, in f64, to the result."""
    tiled: tuple[int, ...] = ()
    """Extents of the tiled axes."""

    @property
    def name(self) -> str:
        """
        Name of the variant in tests: the program, its result, and its element type.
        """
        return f"{self.program.name}-{self.program.results[0].type[7:-1]}"


class Maker:
    """Builder of arguments and operations of one element type."""

    def __init__(self, element: str) -> None:
        self.element = element
        self.arguments: list[Value] = []
        self.steps: list[Step] = []

    def argument(
        self,
        name: str,
        *shape: int,
        low: float = -1.0,
        high: float = 1.0,
        parameter: bool = False,
    ) -> Value:
        """Add an argument with elements between `low` and `high`."""
        value = Value(name, shape, self.element, low, high, parameter=parameter)
        self.arguments.append(value)
        return value

    def weight(self, name: str, *shape: int, fan: int) -> Value:
        """Add a weight scaled so that sums over `fan` elements are of order 1."""
        bound = round(1 / math.sqrt(fan), 3)
        return self.argument(name, *shape, low=-bound, high=bound, parameter=True)

    def step(
        self, name: str, pattern: str, shape: Sequence[int], *operands: Value
    ) -> Value:
        """Add an operation."""
        value = Value(name, tuple(shape), self.element)
        self.steps.append(Step(value, f"graph.{pattern}", operands))
        return value

    def program(self, name: str, result: Value) -> Program:
        """Return the function with all arguments and operations."""
        return Program(tuple(self.arguments), tuple(self.steps), (result,), name)


def gelu(rows: int, columns: int, element: str = "f32") -> Variant:
    """Return GELU by its tanh approximation."""
    maker = Maker(element)
    x = maker.argument("x", rows, columns)
    y = maker.step("y", "gelu {} <tanh>", x.shape, x)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        return functional.gelu(given["x"], approximate="tanh")

    return Variant(maker.program("gelu", y), reference, (rows, columns))


def softmax(rows: int, columns: int, element: str = "f32") -> Variant:
    """Return a softmax along rows."""
    maker = Maker(element)
    x = maker.argument("x", rows, columns)
    y = maker.step("y", "softmax {} axis 1", x.shape, x)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        return functional.softmax(given["x"], 1)

    return Variant(maker.program("softmax", y), reference, (rows,))


def layer_norm(rows: int, columns: int, element: str = "f32") -> Variant:
    """Return a layer normalisation of rows."""
    maker = Maker(element)
    x = maker.argument("x", rows, columns)
    weight = maker.argument("weight", columns)
    bias = maker.argument("bias", columns)
    text = "layer_norm {} weight {} bias {} epsilon 1.0e-05"
    y = maker.step("y", text, x.shape, x, weight, bias)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        return functional.layer_norm(
            given["x"], (columns,), given["weight"], given["bias"], 1e-5
        )

    return Variant(maker.program("layer_norm", y), reference, (rows,))


def matmul_bias_relu(
    rows: int, columns: int, depth: int, element: str = "f32"
) -> Variant:
    """Return a matrix product with bias and activation."""
    maker = Maker(element)
    x = maker.argument("x", rows, depth)
    w = maker.argument("w", depth, columns)
    bias = maker.argument("bias", columns)
    shape = (rows, columns)
    product = maker.step("0", "matmul {}, {}", shape, x, w)
    total = maker.step("1", "add {}, {}", shape, product, bias)
    y = maker.step("y", "relu {}", shape, total)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        weight = torch.t(given["w"])
        return functional.relu(functional.linear(given["x"], weight, given["bias"]))

    program = maker.program("matmul_bias_relu", y)
    return Variant(program, reference, (rows, columns, depth))


def weighted_sum(rows: int, columns: int, element: str = "f32") -> Variant:
    """Return the weighted sum of every row."""
    maker = Maker(element)
    x = maker.argument("x", rows, columns)
    weights = maker.argument("weights", columns)
    product = maker.step("0", "mul {}, {}", x.shape, x, weights)
    y = maker.step("y", "reduce {} <sum> axes [1]", (rows,), product)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        return torch.mv(given["x"], given["weights"])

    return Variant(maker.program("weighted_sum", y), reference, (rows, columns))
