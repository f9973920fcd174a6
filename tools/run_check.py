"""How far results are from the reference, and how far they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tlf.dialects.interfaces import Array

TOLERANCES: Mapping[np.dtype[np.generic], float] = {
    np.dtype(np.float64): 1e-12,
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float16): 2e-3,
    np.dtype(ml_dtypes.bfloat16): 1e-2,
}
"""The largest relative error ||d|| / ||reference||, by dtype; others must be equal."""

LARGEST = 30.0
"""The largest error of one element, as a multiple of the tolerance of the scale."""


@dataclass(frozen=True)
class Comparison:
    """
    The error of one result: ||d|| / ||reference||, and the largest |d|. Both are
    infinite where one side has a NaN or an infinity that the other has not.
    """

    name: str
    relative: float
    largest: float
    tolerance: float
    scale: float
    """The largest magnitude in the reference."""

    @property
    def agrees(self) -> bool:
        """Whether the result is as near as its dtype allows."""
        bound = LARGEST * self.tolerance * self.scale
        return self.relative <= self.tolerance and self.largest <= bound

    def row(self) -> tuple[str, str]:
        """The comparison as a row of a table."""
        verdict = "ok" if self.agrees else "WRONG"
        return (
            f"error of {self.name}",
            f"{self.relative:.1e} relative (at most {self.tolerance:g}), "
            f"{self.largest:.1e} at most in one element: {verdict}",
        )


def compare(name: str, result: Array, reference: Array) -> Comparison:
    """Compare a result with its reference, of the same shape."""
    tolerance = TOLERANCES.get(result.dtype, 0.0)
    left, right = result.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(right)
    scale = float(np.abs(right[finite]).max(initial=0.0))
    same = np.array_equal(left[~finite], right[~finite], equal_nan=True)
    if not same or not np.isfinite(left[finite]).all():
        return Comparison(name, float("inf"), float("inf"), tolerance, scale)
    difference = left[finite] - right[finite]
    norm = float(np.linalg.norm(right[finite]))
    distance = float(np.linalg.norm(difference))
    relative = distance / norm if norm else float(distance > 0)
    largest = float(np.abs(difference).max(initial=0.0))
    return Comparison(name, relative, largest, tolerance, scale)
