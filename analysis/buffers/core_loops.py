"""Loops distributed over cores, one iteration for each."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tlf.analysis.buffers.normalized_loops import loop_ranges_of

MAPPING = "mapping"
"""The attribute of a parallel loop that says what its iterations become."""

CORE = StringAttr("core")
LOOP = StringAttr("loop")


def is_core_loop(op: Operation) -> bool:
    """Return `True` if the iterations of a loop are mapped to cores."""
    return isinstance(op, scf.ParallelOp) and op.attributes.get(MAPPING) == CORE


def is_distributed(op: scf.ParallelOp, cores: int) -> bool:
    """
    Return `True` if a loop for cores has exactly one iteration for each of `cores`.
    """
    bounds = [counter.constant_bounds for counter in loop_ranges_of(op)]
    return is_core_loop(op) and bounds == [(0, cores, 1)]


def parallel_speedup(trips: int, cores: int) -> float:
    """
    Return the parallel speed-up: the work of one core alone over that of the busiest of
    `cores`.
    """
    return trips / -(-trips // cores) if trips else 0
