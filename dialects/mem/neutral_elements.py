"""Neutral elements of the combiners of reductions."""

import math

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from tlf.dialects.types import dtype_of, is_float

_NEUTRAL_ELEMENTS = {
    "arith.addf": 0.0,
    "arith.addi": 0,
    "arith.maximumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.mulf": 1.0,
    "arith.muli": 1,
    "arith.ori": 0,
}


def neutral_element_of(combine: str, element: Attribute) -> float:
    """
    Return the neutral element of an operation of `COMBINERS` for an element type: an
    `int` for integers.
    """
    if (number := _NEUTRAL_ELEMENTS.get(combine)) is not None:
        return number
    if element == i1:
        return int(combine != "arith.maxsi")
    limits = np.iinfo(dtype_of(element).name)
    extremes = {"arith.andi": -1, "arith.maxsi": limits.min, "arith.minsi": limits.max}
    return int(extremes[combine])


def zero_of(element: Attribute) -> float:
    """Return the initial value of a sum of elements of a type."""
    return neutral_element_of(
        "arith.addf" if is_float(element) else "arith.addi", element
    )
