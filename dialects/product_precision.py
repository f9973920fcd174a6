"""
Precisions of f32 matrix products and convolutions: the bits of the factors that are
multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class FactorSplit:
    """
    A factor of f32 as the sum of numbers of fewer bits. The products of the smallest
    parts are dropped.
    """

    element: str
    """Type of the parts, that of the matrix instructions."""
    parts: int
    """Number of parts of a factor."""
    products: int
    """Number of products of parts, one matrix instruction each."""
    part_bytes: int
    """Bytes of a part in memory."""


FACTOR_SPLITS: Mapping[str, FactorSplit] = {
    "bf16x6": FactorSplit("bf16", parts=3, products=6, part_bytes=2),
    "tf32x3": FactorSplit("tf32", parts=2, products=3, part_bytes=4),
}
"""Precisions whose factors are sums, by name."""

IEEE = "ieee"
"""Precision of products of whole factors."""

FULL = "bf16x6"
"""Precision of products of factors with all bits, in parts or whole."""

PRECISIONS = (IEEE, *FACTOR_SPLITS, "tf32")
"""Names of all precisions, from the most to the fewest bits."""


def verify_precision(precision: str) -> None:
    """
    Check that a precision is one of `PRECISIONS`. Raises `VerifyException` otherwise.
    """
    if precision not in PRECISIONS:
        listed = ", ".join(PRECISIONS)
        raise VerifyException(f"expected a precision among {listed}, got {precision}")
