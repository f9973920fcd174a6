"""Pass `mem-schedule-moves`: hoists loads and stores among the values of a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import affine, func, scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from tlf.dialects import mem
from tlf.dialects.types import tensor_type
from tlf.support.affine.linear_access import is_projection

SMALL_DIVISOR = 16
"""
Divisor of the largest value's element count: values of at most so many elements are
loaded early.
"""


@dataclass(frozen=True)
class MemScheduleMovesPass(ModulePass):
    """
    Store values as soon as they are computed, before others are computed of them, which
    then need not be held as well. Load small values, such as rows that are added to
    tiles, before what is computed behind a loop begins: all are on their way together.
    Load what an iteration of a loop gathers, element by element, before its first
    product begins, which takes as long; whole rows are on their way iterations before.
    No load passes a store, and no store a load.
    """

    name = "mem-schedule-moves"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _schedule_function(function)


def _schedule_function(function: func.FuncOp) -> None:
    operations = list(function.walk())
    largest = max((_max_result_elements(op) for op in operations), default=0)
    for op in operations:
        if (
            isinstance(op, mem.LoadOp)
            and SMALL_DIVISOR * _max_result_elements(op) <= largest
        ):
            _hoist_operation(op, passes_loads=True)
        elif _is_gather_load(op) and isinstance(op.parent_op(), scf.ForOp):
            _hoist_load_above_product(op)
        if isinstance(op, mem.StoreOp):
            for each in [*_private_producers_of(op), op]:
                _hoist_operation(each)


def _is_gather_load(op: Operation) -> bool:
    """Return `True` if an operation loads elements that need not be contiguous."""
    if isinstance(op, mem.GatherOp):
        return True
    return isinstance(op, mem.LoadOp) and not is_projection(op.source_map, True)


def _hoist_load_above_product(load: Operation) -> None:
    """
    Hoist a load, with the computation of its address, above the first contraction of
    its block.
    """
    if (block := load.parent) is None:
        return
    behind = list(_operations_since_product(load))
    if not behind or not all(map(_can_hoist_past_in_loop, behind)):
        return
    needed: set[Operation] = {load}
    for op in reversed(behind):
        if any(result in each.operands for each in needed for result in op.results):
            needed.add(op)
    if not all(isinstance(op, ADDRESS_OPS) for op in needed):
        return
    for op in (*behind, load):
        if op in needed:
            op.detach()
            block.insert_op_before(op, behind[0])


LOAD_OPS = mem.LoadOp | mem.GatherOp

ADDRESS_OPS = LOAD_OPS | mem.MapOp | affine.ApplyOp
"""Operations that compute a load, and the indices that it loads by."""


def _operations_since_product(load: Operation) -> Iterator[Operation]:
    """
    Yield the operations from the first contraction of a block to a load behind it.
    """
    block = load.parent
    assert block is not None
    found = False
    for op in block.ops:
        if op is load:
            return
        found = found or isinstance(op, mem.ContractOp)
        if found:
            yield op


def _can_hoist_past_in_loop(op: Operation) -> bool:
    """
    Return `True` if a load may move up past an operation, products and other loads
    among them.
    """
    return isinstance(op, LOAD_OPS | mem.ContractOp) or _can_hoist_past(op)


def _max_result_elements(op: Operation) -> int:
    """The elements of the largest value that an operation computes."""
    values = (each for each in op.results if isinstance(each.type, TensorType))
    return max((tensor_type(each).element_count() for each in values), default=0)


def _private_producers_of(store: mem.StoreOp) -> Iterator[Operation]:
    """Yield the operations that compute for a store alone, in order."""
    for operand in store.operands:
        owner = operand.owner
        if not isinstance(owner, Operation) or owner.parent is not store.parent:
            continue
        if is_side_effect_free(owner) and len(list(operand.uses)) == 1:
            yield owner


def _hoist_operation(op: Operation, passes_loads: bool = False) -> None:
    """
    Hoist an operation above those that neither compute for it nor have effects; of a
    row of loads in between, only as far as something computed is passed, too.
    """
    read = {operand.owner for operand in op.operands}
    first, before = op, op.prev_op
    while before is not None and before not in read:
        is_load = passes_loads and isinstance(before, mem.LoadOp)
        if not is_load and not _can_hoist_past(before):
            break
        first, before = (first if is_load else before), before.prev_op
    if first is not op and (block := op.parent) is not None:
        op.detach()
        block.insert_op_before(op, first)


def _can_hoist_past(op: Operation) -> bool:
    """Return `True` if an operation is free of side effects and no loop."""
    is_loop = bool(op.regions) and not isinstance(op, mem.MapOp | mem.ReduceOp)
    return is_side_effect_free(op) and not is_loop
