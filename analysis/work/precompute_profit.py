"""Analysis of the profit of computing a value once instead of at every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.work.flops_and_bytes import size_in_bytes, work_of
from tlf.analysis.work.roofline import vector_operations_per_cycle
from tlf.analysis.work.vector_step_costs import is_special_function, scalar_steps
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReferenceInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type

FUNCTION_COST = 16
"""
Cost of a `math` function, in additions: chips have few units for them, or evaluate a
polynomial.
"""

DEFAULT_ADDITIONS_PER_BYTE = 2.0
"""
Number of additions that take as long as reading a byte, for targets without figures.
"""

OVERLAP_FACTOR = 8
"""
Factor by which reading a byte is cheaper if dedicated engines overlap moves with
computation.
"""

MOVEMENT_FACTOR = 2
"""
Factor by which elements that are moved first are read faster than from their source,
where rows are shorter.
"""

FREE_BYTES = 1024
"""Number of bytes that are read at no cost."""


def cost_in_additions(op: Operation) -> int:
    """Return the cost of all elements of an operation, in units of scalar additions."""
    if not isinstance(op, ElementwiseInterface):
        return work_of(op).flops
    steps = scalar_steps(op)
    each = sum(FUNCTION_COST if is_special_function(step) else 1 for step in steps)
    return each * tensor_type(op.results[0]).element_count()


def additions_per_byte(target: TargetSpec) -> float:
    """
    Return the number of additions that cost as much as reading a byte: the number
    executed in that time if threads load their own operands, and fewer if dedicated
    engines move them in parallel.
    """
    if "vector" not in target.engines:
        return DEFAULT_ADDITIONS_PER_BYTE
    *_, outermost = target.levels.values()
    balance = vector_operations_per_cycle(target) / outermost.bandwidth
    return balance if target.gpu is not None else balance / OVERLAP_FACTOR


def launch_bytes(target: TargetSpec) -> int:
    """Return the bytes read in the time of a launch on a GPU; 0 for other targets."""
    gpu = target.gpu
    return 0 if gpu is None else int(gpu.launch * target.outermost_level.bandwidth)


def is_precompute_profitable(
    value: SSAValue,
    candidates: set[SSAValue],
    additions: float = DEFAULT_ADDITIONS_PER_BYTE,
    bytes_per_launch: int = 0,
) -> bool:
    """
    Return `True` if reading a precomputed value is cheaper than computing it from
    weights and constants, which must be read themselves. `additions` cost as much as
    reading a byte. Factors of products that are joined from padded values need a launch
    of their own.
    """
    ops = list(producers_of(value, candidates))
    is_factor = any(isinstance(e.operation, ContractionInterface) for e in value.uses)
    if is_factor and size_in_bytes([value]) <= bytes_per_launch:
        if _joins_padded_values(ops):
            return True
    inputs = {
        operand
        for op in ops
        for operand in op.operands
        if isinstance(operand.owner, Block) or _is_stored_constant(operand.owner)
    }
    compute_cost = sum(map(cost_in_additions, ops)) / additions
    bytes_read = size_in_bytes(inputs)
    if all(isinstance(op, MovementInterface) for op in ops):
        bytes_read *= MOVEMENT_FACTOR
    return max(compute_cost, bytes_read) >= size_in_bytes([value])


def _joins_padded_values(ops: Iterable[Operation]) -> bool:
    """
    Return `True` if an elementwise operation reads several tensors with padding, as a
    concatenation in tiles that are registers does.
    """
    return any(
        isinstance(op, ElementwiseInterface)
        and sum(_is_padded(each.owner) for each in op.operands) > 1
        for op in ops
    )


def _is_padded(owner: Operation | Block) -> bool:
    """Return `True` if an operation adds padding to a tensor."""
    return isinstance(owner, MovementInterface) and owner.padding_value(0) is not None


def _is_stored_constant(op: Operation) -> bool:
    """Return `True` if an operation is a constant that is read from memory."""
    return isinstance(op, ConstantInterface) and op.splat_attribute() is None


def producers_of(value: SSAValue, candidates: set[SSAValue]) -> Iterator[Operation]:
    """Yield the operations that a value depends on, each once, without constants."""
    pending, visited = [value.owner], set[Operation]()
    while pending:
        op = pending.pop()
        if isinstance(op, Block) or op in visited or isinstance(op, ConstantInterface):
            continue
        visited.add(op)
        yield op
        pending += [each.owner for each in op.operands if each in candidates]


def select_values_to_precompute(
    roots: Iterable[SSAValue],
    candidates: set[SSAValue],
    max_small_bytes: int = 0,
    includes_views: bool = False,
    additions: float = DEFAULT_ADDITIONS_PER_BYTE,
    is_kept: Callable[[SSAValue], bool] = lambda _: False,
    bytes_per_launch: int = 0,
) -> list[SSAValue]:
    """
    Return the values, among `roots` and their producers, that should be computed once:
    those that are profitable, or have at most `max_small_bytes` bytes. Views of other
    values, or slices of them, are included only if `includes_views` is set, and values
    for which `is_kept` is true are not.
    """
    selected: list[SSAValue] = []
    pending, visited = list(roots), set[SSAValue]()
    while pending:
        value = pending.pop(0)
        owner = value.owner
        if value in visited or isinstance(owner, Block | ConstantInterface):
            continue
        visited.add(value)
        is_view = isinstance(owner, ViewInterface) or is_stored_slice(owner)
        is_view = is_view and not includes_views
        is_better = size_in_bytes(
            [value]
        ) <= max_small_bytes or is_precompute_profitable(
            value, candidates, additions, bytes_per_launch
        )
        if owner.operands and not is_view and is_better and not is_kept(value):
            selected.append(value)
        else:
            pending += [each for each in owner.operands if each in candidates]
    return selected


def values_used_outside(block: Block, candidates: set[SSAValue]) -> list[SSAValue]:
    """
    Return the values of a set that operations outside of the set use, in program order.
    """
    return [
        result
        for op in block.ops
        if isinstance(op, ReferenceInterface)
        for result in op.results
        if result in candidates
        and any(
            not use.operation.results
            or any(each not in candidates for each in use.operation.results)
            for use in result.uses
        )
    ]
