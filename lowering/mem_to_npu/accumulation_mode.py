"""Accumulation mode of an instruction: add to its destination, or overwrite it."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.dialects import mem
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.integer_ranges import range_of


def build_accumulation_condition(
    op: mem.AccumulatingOp, index: IndexBuilder, counters: Sequence[SSAValue]
) -> bool | SSAValue:
    """
    Return the accumulation condition of an instruction: a constant or a value.

    `counters` are those of the loops around the instruction that combine into the same
    elements. They start from 0, where the operation comes to these elements first.
    """
    if op.overwrite is None:
        return True
    if op.unless is None:
        terms = list(counters)
    elif counters and range_of(op.unless)[0] < 0:
        # A negative value must not cancel a counter.
        size = index.max(op.unless, index.sub(0, op.unless))
        terms = [index.to_value(size), *counters]
    else:
        terms = [op.unless, *counters]
    total = index.sum(terms)
    return total != 0 if isinstance(total, int) else total
