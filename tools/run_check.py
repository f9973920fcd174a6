"""
Command `tlf-run`: comparison of results with the reference, within tolerances by dtype,
without IR.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tlf.dialects.interfaces import Array

TOLERANCES: Mapping[np.dtype[np.generic], float] = {
    np.dtype(np.float64): 1e-12,
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float16): 2e-3,
    np.dtype(ml_dtypes.bfloat16): 1e-2,
}
"""Maximum relative error ||d|| / ||reference||, by dtype; others must be equal."""

MAX_ELEMENT_RATIO = 8.0
"""Maximum relative error of one element, as a multiple of the tolerance."""


@dataclass(frozen=True)
class Comparison:
    """
    Error of one result. It is infinite if shapes or dtypes differ, or if only one of
    both arrays has a NaN or an infinity at some element.
    """

    name: str
    relative_error: float
    """||d|| / ||reference||; without a tolerance, the fraction that differs."""
    largest_error: float
    """
    Largest |d| of an element, relative to its magnitude or, for small ones, to the root
    mean square of the reference.
    """
    tolerance: float
    note: str = ""
    """Further remark on the comparison, empty if there is none."""

    @property
    def is_within_tolerance(self) -> bool:
        """True if the result is within the tolerance of its dtype."""
        bound = MAX_ELEMENT_RATIO * self.tolerance
        return self.relative_error <= self.tolerance and self.largest_error <= bound

    def to_row(self) -> tuple[str, str]:
        """
        Return a table row of title and text: both errors, the note, and `ok` or
        `WRONG`.
        """
        errors = (
            f"{self.relative_error:.1e} relative (at most {self.tolerance:g}), "
            f"{self.largest_error:.1e} at most in one element"
        )
        verdict = "ok" if self.is_within_tolerance else "WRONG"
        note = f", {self.note}" if self.note else ""
        return f"error of {self.name}", f"{errors}{note}: {verdict}"


def compare_result(name: str, result: Array, reference: Array) -> Comparison:
    """
    Return the error of `result` relative to `reference`; infinite if shapes or dtypes
    differ.
    """
    tolerance = TOLERANCES.get(reference.dtype)
    expected, actual = _describe_array(reference), _describe_array(result)
    if actual != expected:
        note = f"expected {expected}, got {actual}"
        return Comparison(name, inf, inf, tolerance or 0.0, note)
    if tolerance is None:
        return _compare_exactly(name, result, reference)
    left, right = result.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(right)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    if mismatches := np.count_nonzero(~np.where(finite, np.isfinite(left), same)):
        note = f"{mismatches} of {left.size} NaN or infinite on one side only"
        return Comparison(name, inf, inf, tolerance, note)
    special = left.size - np.count_nonzero(finite)
    note = f"{special} of {left.size} NaN or infinite on both sides" if special else ""
    zero, one = np.zeros((), reference.dtype), np.ones((), reference.dtype)
    step = float(np.nextafter(zero, one))
    relative, largest = _relative_errors(left[finite], right[finite], step)
    return Comparison(name, relative, largest, tolerance, note)


def _compare_exactly(name: str, result: Array, reference: Array) -> Comparison:
    """Return the fraction of differing elements as the error, with tolerance 0."""
    differing = np.count_nonzero(result != reference)
    share = differing / max(1, reference.size)
    note = f"{differing} of {reference.size} elements differ" if differing else ""
    return Comparison(name, share, share, 0.0, note)


def _relative_errors(
    result: NDArray[np.float64], reference: NDArray[np.float64], ignored_error: float
) -> tuple[float, float]:
    """
    Return the relative error of all elements, and of the worst one, for finite arrays.
    An error of `ignored_error`, the distance between the smallest numbers, is ignored.
    """
    with np.errstate(over="ignore"):
        difference = np.maximum(np.abs(result - reference) - ignored_error, 0.0)
    magnitude = np.abs(reference)
    if not difference.any():
        return 0.0, 0.0
    if (scale := float(magnitude.max())) == 0:
        return inf, inf
    # Scale by the largest magnitude, so that squares neither overflow nor underflow.
    difference, magnitude = difference / scale, magnitude / scale
    mean = float(np.sqrt(np.mean(magnitude**2)))
    relative = np.linalg.norm(difference) / np.linalg.norm(magnitude)
    worst = difference / np.maximum(magnitude, mean)
    return float(relative), float(worst.max())


def _describe_array(array: Array) -> str:
    return f"{array.dtype} of shape {'x'.join(map(str, array.shape)) or '()'}"
