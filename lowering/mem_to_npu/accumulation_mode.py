"""
Accumulation condition of an instruction in the NPU code generator: accumulate on its
result, or overwrite it.
"""

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

    `counters` are the induction variables of the enclosing loops that accumulate into
    the same elements. All are 0 in the first iteration that writes these elements.
    """
    if op.overwrite is None:
        return True
    if op.unless is None:
        terms = list(counters)
    elif counters and range_of(op.unless)[0] < 0:
        # A negative value must not cancel a counter.
        magnitude = index.max(op.unless, index.sub(0, op.unless))
        terms = [index.to_value(magnitude), *counters]
    else:
        terms = [op.unless, *counters]
    total = index.sum(terms)
    return total != 0 if isinstance(total, int) else total
