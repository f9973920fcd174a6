"""
Linear access functions of `AffineMap`s: bounds, verification and strided views.

An access is linear in the dimensions of the iteration domain: `c + sum(k[i] * d[i])`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class Linear:
    """Linear expression of the dimensions of an iteration domain."""

    coefficients: tuple[int, ...]
    """One coefficient per dimension."""
    constant: int = 0

    @staticmethod
    def of(expression: AffineExpr, rank: int) -> "Linear":
        """
        Convert an affine expression over `rank` dimensions.

        Raises `VerifyException` if it is not linear (`mod`, `floordiv`, symbols).
        """
        match expression:
            case AffineConstantExpr():
                return Linear((0,) * rank, expression.value)
            case AffineDimExpr():
                unit = [0] * rank
                unit[expression.position] = 1
                return Linear(tuple(unit))
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
                lhs = Linear.of(expression.lhs, rank)
                return lhs.plus(Linear.of(expression.rhs, rank))
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul):
                lhs = Linear.of(expression.lhs, rank)
                rhs = Linear.of(expression.rhs, rank)
                if not any(rhs.coefficients):
                    return lhs.times(rhs.constant)
                if not any(lhs.coefficients):
                    return rhs.times(lhs.constant)
            case _:
                pass
        raise VerifyException(f"expected a linear expression, got {expression}")

    def plus(self, other: "Linear") -> "Linear":
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Linear(
            tuple(lhs + rhs for lhs, rhs in pairs), self.constant + other.constant
        )

    def times(self, factor: int) -> "Linear":
        return Linear(
            tuple(factor * value for value in self.coefficients), factor * self.constant
        )

    def bounds(self, domain: Sequence[int]) -> tuple[int, int]:
        """
        Return the minimum and the maximum value over a domain with extents `domain`.
        """
        low = high = self.constant
        for coefficient, extent in zip(self.coefficients, domain, strict=True):
            distance = coefficient * (extent - 1)
            low += min(distance, 0)
            high += max(distance, 0)
        return low, high

    @property
    def dimension(self) -> int | None:
        """Dimension that is equal to this expression, or None if there is none."""
        used = [i for i, value in enumerate(self.coefficients) if value]
        if len(used) == 1 and self.constant == 0 and self.coefficients[used[0]] == 1:
            return used[0]
        return None

    @property
    def is_zero(self) -> bool:
        return self.constant == 0 and not any(self.coefficients)


def access_functions(indexing: AffineMap) -> tuple[Linear, ...]:
    """
    Return one linear expression per dimension of an operand.
    """
    return tuple(Linear.of(result, indexing.num_dims) for result in indexing.results)


def is_projection(indexing: AffineMap, allow_zero: bool = False) -> bool:
    """
    Return `True` if every dimension of the operand is a different dimension of the
    domain.

    With `allow_zero` a dimension of the operand may also be the constant 0.
    """
    used: set[int] = set()
    for access in access_functions(indexing):
        if allow_zero and access.is_zero:
            continue
        dimension = access.dimension
        if dimension is None or dimension in used:
            return False
        used.add(dimension)
    return True


def is_identity(indexing: AffineMap) -> bool:
    """Return `True` if the operand has the dimensions of the domain, in order."""
    dimensions = [access.dimension for access in access_functions(indexing)]
    return dimensions == list(range(indexing.num_dims))


def verify_access(
    indexing: AffineMap, domain: Sequence[int], shape: Sequence[int], what: str
) -> None:
    """Check that all accesses to an operand of shape `shape` are in bounds."""
    if indexing.num_dims != len(domain) or indexing.num_symbols:
        raise VerifyException(
            f"{what}: expected a map of {len(domain)} dimensions without symbols, got "
            f"{indexing}"
        )
    if len(indexing.results) != len(shape):
        raise VerifyException(
            f"{what}: expected a map with {len(shape)} results, one per dimension of "
            f"the operand, got {indexing}"
        )
    for dimension, access in enumerate(access_functions(indexing)):
        low, high = access.bounds(domain)
        if low < 0 or high >= shape[dimension]:
            raise VerifyException(
                f"{what}: dimension {dimension} is accessed from {low} to {high}, "
                f"outside [0, {shape[dimension]})"
            )


def view_over_domain(
    array: NDArray[np.generic], indexing: AffineMap, domain: Sequence[int]
) -> NDArray[np.generic]:
    """
    Return a view of an operand, whose accesses are in bounds, with one element per
    point of the domain.
    """
    strides = [0] * len(domain)
    for access, stride in zip(access_functions(indexing), array.strides, strict=True):
        for dimension, coefficient in enumerate(access.coefficients):
            strides[dimension] += coefficient * stride
    start = array[
        tuple(slice(each.constant, None) for each in access_functions(indexing))
    ]
    return as_strided(start, tuple(domain), tuple(strides))


def view_over_used_dims(
    array: NDArray[np.generic], indexing: AffineMap, domain: Sequence[int]
) -> tuple[NDArray[np.generic], list[int]]:
    """
    Return a view of an operand over the dimensions that its map uses, and these
    dimensions.
    """
    used = sorted(indexing.used_dims())
    index = tuple(slice(None) if each in used else 0 for each in range(len(domain)))
    return view_over_domain(array, indexing, domain)[index], used
