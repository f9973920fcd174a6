"""Arithmetic for formulas of composites: on tensors, on scalars, or on arrays."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.functions import error_function
from tlf.dialects.interfaces import Array
from tlf.dialects.types import scalar_attribute

Value = TypeVar("Value")


class Arithmetic(Protocol[Value]):
    """Arithmetic in which formulas are written."""

    def number(self, value: float, /) -> Value: ...
    def add(self, lhs: Value, rhs: Value, /) -> Value: ...
    def mul(self, lhs: Value, rhs: Value, /) -> Value: ...
    def div(self, lhs: Value, rhs: Value, /) -> Value: ...
    def exp(self, value: Value, /) -> Value: ...
    def erf(self, value: Value, /) -> Value: ...


class ScalarProgram:
    """Builds operations on scalars of one floating-point type."""

    def __init__(self, builder: Builder, element: Attribute) -> None:
        self.builder = builder
        self.element = element

    def insert(self, op: Operation) -> SSAValue:
        """The result of an operation, put into the program."""
        return self.builder.insert(op).results[0]

    def number(self, value: float) -> SSAValue:
        """A constant."""
        return self.insert(arith.ConstantOp(scalar_attribute(value, self.element)))

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The sum."""
        return self.insert(arith.AddfOp(lhs, rhs))

    def mul(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The product."""
        return self.insert(arith.MulfOp(lhs, rhs))

    def div(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The quotient."""
        return self.insert(arith.DivfOp(lhs, rhs))

    def exp(self, value: SSAValue) -> SSAValue:
        """The exponential."""
        return self.insert(math.ExpOp(value))

    def erf(self, value: SSAValue) -> SSAValue:
        """The error function."""
        return self.insert(math.ErfOp(value))


class ArrayArithmetic:
    """Computes on numpy arrays of one floating-point type."""

    def __init__(self, dtype: np.dtype[np.generic]) -> None:
        self.dtype = dtype

    def number(self, value: float) -> Array:
        """A scalar."""
        return np.asarray(value, self.dtype)

    def add(self, lhs: Array, rhs: Array) -> Array:
        """The sum."""
        return np.add(lhs, rhs)

    def mul(self, lhs: Array, rhs: Array) -> Array:
        """The product."""
        return np.multiply(lhs, rhs)

    def div(self, lhs: Array, rhs: Array) -> Array:
        """The quotient."""
        return np.divide(lhs, rhs)

    def exp(self, value: Array) -> Array:
        """The exponential."""
        return np.exp(value)

    def erf(self, value: Array) -> Array:
        """The error function."""
        return error_function(value).astype(self.dtype)
