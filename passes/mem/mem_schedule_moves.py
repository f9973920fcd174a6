"""The pass `mem-schedule-moves`: when values are loaded and stored."""

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
from tlf.support.affine.linear_map import is_projection

SMALL = 16
"""A value with this part of the elements of the largest one is held at little cost."""


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
                _schedule(function)


def _schedule(function: func.FuncOp) -> None:
    operations = list(function.walk())
    largest = max((_elements(op) for op in operations), default=0)
    for op in operations:
        if isinstance(op, mem.LoadOp) and SMALL * _elements(op) <= largest:
            _move_up(op, passes_loads=True)
        elif _gathers(op) and isinstance(op.parent_op(), scf.ForOp):
            _load_before_product(op)
        if isinstance(op, mem.StoreOp):
            for each in [*_made_for(op), op]:
                _move_up(each)


def _gathers(op: Operation) -> bool:
    """Return `True` if an operation loads elements that need not be contiguous."""
    if isinstance(op, mem.GatherOp):
        return True
    return isinstance(op, mem.LoadOp) and not is_projection(op.source_map, True)


def _load_before_product(load: Operation) -> None:
    """
    Move a load, with what its place is computed of, in front of the first product of
    its block.
    """
    if (block := load.parent) is None:
        return
    behind = list(_since_product(load))
    if not behind or not all(map(_is_passed_in_loop, behind)):
        return
    needed: set[Operation] = {load}
    for op in reversed(behind):
        if any(result in each.operands for each in needed for result in op.results):
            needed.add(op)
    if not all(isinstance(op, PLACES) for op in needed):
        return
    for op in (*behind, load):
        if op in needed:
            op.detach()
            block.insert_op_before(op, behind[0])


LOADS = mem.LoadOp | mem.GatherOp

PLACES = LOADS | mem.MapOp | affine.ApplyOp
"""Operations that compute a load, and the indices that it loads by."""


def _since_product(load: Operation) -> Iterator[Operation]:
    """The operations from the first product of a block to a load, if it is behind."""
    block = load.parent
    assert block is not None
    found = False
    for op in block.ops:
        if op is load:
            return
        found = found or isinstance(op, mem.ContractOp)
        if found:
            yield op


def _is_passed_in_loop(op: Operation) -> bool:
    """
    Return `True` if a load may move up past an operation, products and other loads
    among them.
    """
    return isinstance(op, LOADS | mem.ContractOp) or _is_passed(op)


def _elements(op: Operation) -> int:
    """The elements of the largest value that an operation computes."""
    values = (each for each in op.results if isinstance(each.type, TensorType))
    return max((tensor_type(each).element_count() for each in values), default=0)


def _made_for(store: mem.StoreOp) -> Iterator[Operation]:
    """Yield the operations that are computed for a store alone, in order."""
    for operand in store.operands:
        owner = operand.owner
        if not isinstance(owner, Operation) or owner.parent is not store.parent:
            continue
        if is_side_effect_free(owner) and len(list(operand.uses)) == 1:
            yield owner


def _move_up(op: Operation, passes_loads: bool = False) -> None:
    """
    Move an operation in front of what neither computes for it nor has effects; of a row
    of loads in between, only as far as something computed is passed, too.
    """
    read = {operand.owner for operand in op.operands}
    first, before = op, op.prev_op
    while before is not None and before not in read:
        is_load = passes_loads and isinstance(before, mem.LoadOp)
        if not is_load and not _is_passed(before):
            break
        first, before = (first if is_load else before), before.prev_op
    if first is not op and (block := op.parent) is not None:
        op.detach()
        block.insert_op_before(op, first)


def _is_passed(op: Operation) -> bool:
    """Return `True` if an operation computes a value, and is not a loop."""
    is_loop = bool(op.regions) and not isinstance(op, mem.MapOp | mem.ReduceOp)
    return is_side_effect_free(op) and not is_loop
