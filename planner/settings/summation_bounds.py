"""Error bound of sums in f32, without IR: the longest sequence of additions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SummationBounds:
    """
    Bounds of the rounding error of a sum that one accumulator computes sequentially.

    Of n terms of one sign, the expected relative error grows with the square root of n.
    """

    max_sequential_additions: int = 4096
    """
    Maximum number of sequential f32 additions per accumulator. Random products of a
    depth of 8192 then have half the error of one accumulator, which is the error of
    cuBLAS: measured with `x.T @ y` of 2048x8192x4096 elements.
    """


SUMMATION = SummationBounds()
