"""
Lowering of accumulations to conditions of NPU instructions: accumulate on the result,
or overwrite it.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.dialects import mem
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.index_ranges import index_range_of


def build_accumulation_condition(
    op: mem.AccumulatingOp,
    index_builder: IndexBuilder,
    reduction_counters: Sequence[SSAValue],
) -> bool | SSAValue:
    """
    Return the accumulation condition of an instruction: a constant or a value.

    `reduction_counters` are the induction variables of the enclosing loops that
    accumulate into the same elements. All are 0 in the first iteration that writes
    these elements.
    """
    if op.overwrite is None:
        return True
    if op.unless is None:
        terms = list(reduction_counters)
    elif reduction_counters and index_range_of(op.unless)[0] < 0:
        # A negative value must not cancel a counter.
        magnitude = index_builder.build_max(
            op.unless, index_builder.build_sub(0, op.unless)
        )
        terms = [index_builder.to_ssa_value(magnitude), *reduction_counters]
    else:
        terms = [op.unless, *reduction_counters]
    total = index_builder.build_sum(terms)
    return total != 0 if isinstance(total, int) else total
