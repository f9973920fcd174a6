"""
Closed-form cycle counts of one instruction on its engine.

Those of the array without a pipeline are the formulae of SCALE-Sim: per pass, the array
is filled, `T` steps run through it, and it is drained.
"""

from math import ceil

from tlf.machine.machine_spec import Dataflow

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
    dataflow: Dataflow = "os",
    pipelined: bool = True,
) -> int:
    """
    Cycles that `batch` products of `m x k` by `k x n` occupy an array of `rows` by
    `cols` whose steps take `cycles` each.

    The array is over m and n where outputs stay (`os`), over k and n where weights do
    (`ws`), over k and m where inputs do (`is`), and passes over tiles of these. With
    a pipeline, passes follow each other without a gap: the next weights or inputs come
    in, a row per step, while the last ones are at work.
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
    """Cycles of an elementwise operation or a reduction of `elements` elements."""
    return ceil(-(-elements // lanes) * factor)
