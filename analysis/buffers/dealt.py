"""How a loop says that it has one iteration for each core."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tlf.analysis.buffers.counters import counters_of

MAPPING = "mapping"
"""The attribute of a parallel loop that says what its iterations become."""

CORE = StringAttr("core")
LOOP = StringAttr("loop")


def is_for_cores(op: Operation) -> bool:
    """Whether iterations of a loop are for cores."""
    return isinstance(op, scf.ParallelOp) and op.attributes.get(MAPPING) == CORE


def is_dealt(op: scf.ParallelOp, cores: int) -> bool:
    """Whether a loop for cores has an iteration for each of so many."""
    bounds = [counter.numbers for counter in counters_of(op)]
    return is_for_cores(op) and bounds == [(0, cores, 1)]


def gain(trips: int, cores: int) -> float:
    """How many times less the busiest of some cores does than one alone would."""
    return trips / -(-trips // cores) if trips else 0
