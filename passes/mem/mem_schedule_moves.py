"""Pass `mem-schedule-moves`: hoists loads and stores within a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import affine, func, scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from tlf.dialects import mem
from tlf.dialects.function_calls import (
    called_names_in,
    functions_of,
    reachable_functions_of,
)
from tlf.dialects.types import tensor_type
from tlf.support.affine.linear_access import is_projection

SMALL_DIVISOR = 16
"""
Divisor of the largest value's element count: values of at most this many elements are
loaded early.
"""


@dataclass(frozen=True)
class MemScheduleMovesPass(ModulePass):
    """
    Hoist loads and stores within their blocks.

    Stores are hoisted to directly after the computation of their values, which shortens
    live ranges. Loads of small values, such as rows added to tiles, are hoisted above
    computations, so that they are in flight in parallel. Gathers of single elements in
    a loop are hoisted above the first contraction of the iteration, which hides their
    latency; contiguous rows are prefetched iterations earlier anyway. Loads and stores
    are not reordered with each other.
    """

    name = "mem-schedule-moves"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        called = called_names_in(op)
        for name, function in functions.items():
            if name not in called:
                _hoist_moves_of_functions(reachable_functions_of(function, functions))


def _hoist_moves_of_functions(functions: Iterable[func.FuncOp]) -> None:
    """
    Hoist small loads, gathers in loops, and stores with their producers, in a function
    and in those that it calls.
    """
    operations = [op for function in functions for op in function.walk()]
    largest = max((_max_result_element_count(op) for op in operations), default=0)
    for op in operations:
        if (
            isinstance(op, mem.LoadOp)
            and SMALL_DIVISOR * _max_result_element_count(op) <= largest
        ):
            _hoist_operation(op, allows_passing_loads=True)
        elif _is_gather_load(op) and isinstance(op.parent_op(), scf.ForOp):
            _hoist_load_above_first_contraction(op)
        if isinstance(op, mem.StoreOp):
            for each in [*_single_use_producers_of(op), op]:
                _hoist_operation(each)


def _is_gather_load(op: Operation) -> bool:
    """Return `True` if an operation loads elements that may not be contiguous."""
    if isinstance(op, mem.GatherOp):
        return True
    return isinstance(op, mem.LoadOp) and not is_projection(op.source_map, True)


def _hoist_load_above_first_contraction(load: Operation) -> None:
    """
    Hoist a load, with the computation of its address, above the first contraction of
    its block.
    """
    if (block := load.parent) is None:
        return
    passed = list(_operations_from_first_contraction(load))
    if not passed or not all(map(_can_hoist_load_past_in_loop, passed)):
        return
    needed: set[Operation] = {load}
    for op in reversed(passed):
        if any(result in each.operands for each in needed for result in op.results):
            needed.add(op)
    if not all(isinstance(op, ADDRESS_OPS) for op in needed):
        return
    for op in (*passed, load):
        if op in needed:
            op.detach()
            block.insert_op_before(op, passed[0])


LOAD_OPS = mem.LoadOp | mem.GatherOp | mem.Im2colOp

ADDRESS_OPS = LOAD_OPS | mem.MapOp | affine.ApplyOp
"""Loads, and operations that compute their indices."""


def _operations_from_first_contraction(load: Operation) -> Iterator[Operation]:
    """
    Yield the operations from the first contraction of a block up to a load after it.
    """
    block = load.parent
    assert block is not None
    has_started = False
    for op in block.ops:
        if op is load:
            return
        has_started = has_started or isinstance(op, mem.ContractOp)
        if has_started:
            yield op


def _can_hoist_load_past_in_loop(op: Operation) -> bool:
    """
    Return `True` if a load in a loop may be hoisted above an operation, including
    contractions and other loads.
    """
    return isinstance(op, LOAD_OPS | mem.ContractOp) or _can_hoist_operation_past(op)


def _max_result_element_count(op: Operation) -> int:
    """Return the element count of the largest result of an operation."""
    values = (each for each in op.results if isinstance(each.type, TensorType))
    return max((tensor_type(each).element_count() for each in values), default=0)


def _single_use_producers_of(store: mem.StoreOp) -> Iterator[Operation]:
    """Yield the operations that compute operands of a store without other uses."""
    for operand in store.operands:
        owner = operand.owner
        if not isinstance(owner, Operation) or owner.parent is not store.parent:
            continue
        if is_side_effect_free(owner) and len(list(operand.uses)) == 1:
            yield owner


def _hoist_operation(op: Operation, allows_passing_loads: bool = False) -> None:
    """
    Hoist an operation above operations without effects that it does not depend on. With
    `allows_passing_loads`, also across loads, but only if another operation before them
    is passed.
    """
    producers = {operand.owner for operand in op.operands}
    first, before = op, op.prev_op
    while before is not None and before not in producers:
        is_load = allows_passing_loads and isinstance(before, LOAD_OPS)
        if not is_load and not _can_hoist_operation_past(before):
            break
        first, before = (first if is_load else before), before.prev_op
    if first is not op and (block := op.parent) is not None:
        op.detach()
        block.insert_op_before(op, first)


def _can_hoist_operation_past(op: Operation) -> bool:
    """Return `True` if an operation has no side effects and is not a loop."""
    is_loop = bool(op.regions) and not isinstance(
        op, mem.MapOp | mem.ReduceOp | mem.ScanOp
    )
    return is_side_effect_free(op) and not is_loop
