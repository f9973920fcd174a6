"""
Arithmetic of the formulas of composite `graph` operations: evaluation on numpy arrays,
and building of scalar operations.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.unary_functions import error_function
from tlf.dialects.interfaces import Array
from tlf.dialects.types import scalar_attribute

Value = TypeVar("Value")


class FormulaArithmetic(Protocol[Value]):
    """
    Protocol of the scalar operations that formulas of composites use, implemented by
    builders of IR and by numpy.
    """

    def constant(self, value: float, /) -> Value: ...
    def add(self, lhs: Value, rhs: Value, /) -> Value: ...
    def mul(self, lhs: Value, rhs: Value, /) -> Value: ...
    def div(self, lhs: Value, rhs: Value, /) -> Value: ...
    def exp(self, value: Value, /) -> Value: ...
    def erf(self, value: Value, /) -> Value: ...


class ScalarBuilder:
    """
    Builder of `arith` and `math` operations on scalars of one floating-point type.
    """

    def __init__(self, builder: Builder, element: Attribute) -> None:
        self.builder = builder
        self.element = element

    def insert(self, op: Operation) -> SSAValue:
        """Insert an operation, and return its result."""
        return self.builder.insert(op).results[0]

    def constant(self, value: float) -> SSAValue:
        """Build a constant."""
        return self.insert(arith.ConstantOp(scalar_attribute(value, self.element)))

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build the sum."""
        return self.insert(arith.AddfOp(lhs, rhs))

    def mul(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build the product."""
        return self.insert(arith.MulfOp(lhs, rhs))

    def div(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build the quotient."""
        return self.insert(arith.DivfOp(lhs, rhs))

    def exp(self, value: SSAValue) -> SSAValue:
        """Build the exponential."""
        return self.insert(math.ExpOp(value))

    def erf(self, value: SSAValue) -> SSAValue:
        """Build the error function."""
        return self.insert(math.ErfOp(value))


class ArrayArithmetic:
    """
    Numpy implementation of `FormulaArithmetic` on arrays of one floating-point dtype.
    """

    def __init__(self, dtype: np.dtype[np.generic]) -> None:
        self.dtype = dtype

    def constant(self, value: float) -> Array:
        """Return a scalar array."""
        return np.asarray(value, self.dtype)

    def add(self, lhs: Array, rhs: Array) -> Array:
        """Return the sum."""
        return np.add(lhs, rhs)

    def mul(self, lhs: Array, rhs: Array) -> Array:
        """Return the product."""
        return np.multiply(lhs, rhs)

    def div(self, lhs: Array, rhs: Array) -> Array:
        """Return the quotient."""
        return np.divide(lhs, rhs)

    def exp(self, value: Array) -> Array:
        """Return the exponential."""
        return np.exp(value)

    def erf(self, value: Array) -> Array:
        """Return the error function."""
        return error_function(value).astype(self.dtype)
