"""Analysis of loops distributed over cores, one iteration per core."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tlf.analysis.buffers.normalized_loops import loop_ranges_of

MAPPING = "mapping"
"""Attribute of a parallel loop that defines the mapping of its iterations."""

CORE = StringAttr("core")
LOOP = StringAttr("loop")


def is_core_loop(op: Operation) -> bool:
    """Return `True` if the iterations of a loop are mapped to cores."""
    return isinstance(op, scf.ParallelOp) and op.attributes.get(MAPPING) == CORE


def is_distributed_over_cores(op: scf.ParallelOp, cores: int) -> bool:
    """
    Return `True` if a loop is mapped to cores with exactly one iteration for each of
    `cores`.
    """
    bounds = [counter.constant_bounds for counter in loop_ranges_of(op)]
    return is_core_loop(op) and bounds == [(0, cores, 1)]


def parallel_speedup(trips: int, cores: int) -> float:
    """
    Return the parallel speed-up: the work of all iterations over that of the busiest
    core.
    """
    return trips / -(-trips // cores) if trips else 0
