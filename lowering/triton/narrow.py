"""Functions of 16-bit numbers that take less than those of f32."""

from __future__ import annotations

from collections.abc import Mapping

NARROW_CALLS: Mapping[str, str] = {"math.tanh": "tanh16({})"}
"""What computes a scalar operation in f32 as exactly as 16 bits can tell."""

NAN = "propagate_nan=tl.PropagateNan.ALL"

FUNCTIONS: Mapping[str, str] = {
    "tanh16": f"""\
@triton.jit
def tanh16(x):
    x = tl.minimum(tl.maximum(x, -4.97, {NAN}), 4.97, {NAN})
    s = x * x
    above = x * (135135.0 + s * (17325.0 + s * (378.0 + s)))
    root = tl.rsqrt(135135.0 + s * (62370.0 + s * (3150.0 + s * 28.0)))
    return above * root * root
""",
}
"""
The source of functions by name. The hyperbolic tangent is a convergent of its continued
fraction (J. H. Lambert, 1768), off by 1e-4 at most where it is not told from 1, with a
reciprocal square root instead of a quotient.
"""


def functions_in(text: str) -> list[str]:
    """The sources of the functions that a kernel calls."""
    return [source for name, source in FUNCTIONS.items() if f"{name}(" in text]
