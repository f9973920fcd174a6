"""
Closed forms for the cycles of one instruction: pure arithmetic on cycles and bytes.
"""

from math import ceil

TRANSCENDENTAL = frozenset(
    (
        "acos acosh asin asinh atan atan2 atanh cbrt cos cosh div erf exp exp2 expm1 "
        "log log10 log1p log2 pow rem rsqrt sin sinh sqrt tan tanh"
    ).split()
)
"""The elementwise operations that cost `transcendental` times an addition."""


def transfer_cycles(nbytes: int, bandwidth: float) -> int:
    """Cycles to move `nbytes` at `bandwidth` bytes per cycle."""
    return int(-(-nbytes // bandwidth))


def matmul_cycles(
    batch: int,
    m: int,
    n: int,
    k: int,
    *,
    rows: int,
    cols: int,
    cycles: float,
    startup: int,
) -> int:
    """Cycles of a product on an array of `rows` by `cols`, one `k` per `cycles`."""
    return ceil(batch * -(-m // rows) * -(-n // cols) * k * cycles) + startup


def vector_cycles(elements: int, *, lanes: int, factor: float, startup: int) -> int:
    """Cycles of an elementwise operation or a reduction of `elements` elements."""
    return ceil(-(-elements // lanes) * factor) + startup
