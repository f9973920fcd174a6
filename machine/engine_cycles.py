"""
Timing model: closed-form cycle counts of one instruction on its engine.

A systolic array without a pipeline follows the formulae of SCALE-Sim: each pass fills
the array, runs `T` steps through it and drains it.
"""

from math import ceil

from tlf.machine.machine_spec import Dataflow

TRANSCENDENTAL = frozenset(
    (
        "acos acosh asin asinh atan atan2 atanh cbrt cos cosh div erf exp exp2 expm1 "
        "log log10 log1p log2 pow rem rsqrt sin sinh sqrt tan tanh"
    ).split()
)
"""Elementwise operations that cost `transcendental` times an addition."""


def transfer_cycles(nbytes: int, bandwidth: float) -> int:
    """Return the cycles to move `nbytes` at `bandwidth` bytes per cycle."""
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
    dataflow: Dataflow = "os",
    pipelined: bool = True,
) -> int:
    """
    Return the cycles that `batch` products of `m x k` by `k x n` occupy an array of
    `rows` by `cols` whose steps take `cycles` each.

    The array spans m and n if outputs are stationary (`os`), k and n if weights are
    (`ws`), and k and m if inputs are (`is`); one pass computes one tile of these two
    dimensions. With a pipeline, passes follow each other without a gap: the next
    weights or inputs are loaded, one row per step, during the current pass.
    """
    down, across, steps = {"os": (m, n, k), "ws": (k, n, m), "is": (k, m, n)}[dataflow]
    if pipelined:
        length = steps if dataflow == "os" else max(steps, rows)
    else:
        fill = rows + cols - 2 if dataflow == "os" else 2 * rows + cols - 2
        length = fill + steps
    passes = batch * -(-down // rows) * -(-across // cols)
    return ceil(passes * length * cycles)


def vector_cycles(elements: int, *, lanes: int, factor: float = 1) -> int:
    """
    Return the cycles of an elementwise operation or a reduction of `elements` elements.
    """
    return ceil(-(-elements // lanes) * factor)
