"""
Linear access functions of `AffineMap`s, without IR operations: bounds and strided
views.

An access is linear in the dimensions of the iteration domain: `c + sum(k[i] * d[i])`.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineExpr,
    AffineMap,
)
from xdsl.utils.exceptions import VerifyException

from tlf.support.affine.affine_expressions import evaluate_expression
from tlf.support.affine.index_access import (
    Accesses,
    AffineSum,
    IndexAccess,
    combine_affine_sums,
)

CACHE_SIZE = 4096
"""Maximum number of cached maps."""


@lru_cache(CACHE_SIZE)
def linear_accesses_of_map(indexing: AffineMap) -> Accesses:
    """
    Return the linear access of each result of an affine map: one per operand dimension
    (cached, because operations share most maps).

    Raises `VerifyException` for maps that are not linear (`mod`, `floordiv`, symbols).
    """
    if indexing.num_symbols:
        raise VerifyException(f"expected a linear expression, got {indexing}")
    return tuple(
        _linear_access_of_expression(each, indexing.num_dims)
        for each in indexing.results
    )


def _linear_access_of_expression(expression: AffineExpr, rank: int) -> IndexAccess:
    """
    Return an affine expression in `rank` dimensions as a linear access; raise
    `VerifyException` if it is not linear.
    """
    dims = [AffineSum.of_symbol(dimension) for dimension in range(rank)]
    total = evaluate_expression(expression, dims, (), AffineSum, _combine_linear_terms)
    factors = ((dimension, total.factor_of(dimension)) for dimension in range(rank))
    terms = tuple((dimension, factor) for dimension, factor in factors if factor)
    return IndexAccess(terms, total.constant)


def _combine_linear_terms(
    expression: AffineBinaryOpExpr, lhs: AffineSum, rhs: AffineSum
) -> AffineSum:
    """
    Return a sum, or a product with a constant, of two affine sums; raise
    `VerifyException` for other expressions.
    """
    if expression.kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
        total = combine_affine_sums(expression, lhs, rhs)
        if total is not None:
            return total
    raise VerifyException(f"expected a linear expression, got {expression}")


def is_projection(indexing: AffineMap, allow_zero: bool = False) -> bool:
    """
    Return `True` if every dimension of the operand is a different dimension of the
    domain.

    With `allow_zero` a dimension of the operand may also be the constant 0.
    """
    used: set[int] = set()
    for access in linear_accesses_of_map(indexing):
        if allow_zero and access == IndexAccess():
            continue
        dimension = access.loop_dim
        if dimension is None or dimension in used:
            return False
        used.add(dimension)
    return True


def is_identity(indexing: AffineMap) -> bool:
    """Return `True` if the operand has the dimensions of the domain, in order."""
    dimensions = [access.loop_dim for access in linear_accesses_of_map(indexing)]
    return dimensions == list(range(indexing.num_dims))


def verify_access_in_bounds(
    indexing: AffineMap, domain: Sequence[int], shape: Sequence[int], operand_name: str
) -> None:
    """Check that all accesses to an operand of shape `shape` are in bounds."""
    if indexing.num_dims != len(domain) or indexing.num_symbols:
        raise VerifyException(
            f"{operand_name}: expected a map of {len(domain)} dimensions without "
            "symbols, got "
            f"{indexing}"
        )
    if len(indexing.results) != len(shape):
        raise VerifyException(
            f"{operand_name}: expected a map with {len(shape)} results, one per "
            "dimension of "
            f"the operand, got {indexing}"
        )
    for dimension, access in enumerate(linear_accesses_of_map(indexing)):
        low, high = access.index_bounds(domain)
        if low < 0 or high >= shape[dimension]:
            raise VerifyException(
                f"{operand_name}: dimension {dimension} is accessed from {low} to "
                f"{high}, "
                f"outside [0, {shape[dimension]})"
            )


def view_over_domain(
    array: NDArray[np.generic], indexing: AffineMap, domain: Sequence[int]
) -> NDArray[np.generic]:
    """
    Return a view of an operand, whose accesses are in bounds, with one element per
    point of the domain.
    """
    start = array[
        tuple(slice(each.offset, None) for each in linear_accesses_of_map(indexing))
    ]
    strides = strides_over_domain(indexing, array.strides)
    return as_strided(start, tuple(domain), strides)


def strides_over_domain(indexing: AffineMap, strides: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of an operand along each dimension of the domain."""
    total = [0] * indexing.num_dims
    for access, stride in zip(linear_accesses_of_map(indexing), strides, strict=True):
        for dimension, coefficient in access.terms:
            total[dimension] += coefficient * stride
    return tuple(total)


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
