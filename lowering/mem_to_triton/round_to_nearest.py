"""
Emission of Triton calls for round-to-nearest division and square root, where operations
require them.

The fast f32 instructions of a GPU have an error of 2 ulp: an integral quotient may
become fractional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.work.vector_step_costs import is_special_function
from tlf.dialects import mem
from tlf.dialects.numerics_attribute import is_relaxed
from tlf.dialects.types import is_16_bit_float

_ROUNDING_CALLS: Mapping[type[Operation], str] = {
    arith.DivfOp: "tl.div_rn({}, {})",
    math.SqrtOp: "tl.sqrt_rn({})",
}


def round_to_nearest_call(op: Operation) -> str | None:
    """
    Return the round-to-nearest call of a division or square root, or `None`. Both
    already round to nearest in f64.
    """
    call = _ROUNDING_CALLS.get(type(op))
    if call is None or isinstance(op.results[0].type, Float64Type):
        return None
    return (
        None
        if is_relaxed(op)
        or _is_rounded_to_16_bits(op)
        or _is_dependent_on_inexact_function(op)
        else call
    )


def _is_rounded_to_16_bits(op: Operation) -> bool:
    """Return `True` if all uses of an operation's result round it to 16 bits."""
    result = op.results[0]
    return is_16_bit_float(result.type) or all(
        isinstance(reader, arith.TruncFOp) and is_16_bit_float(reader.results[0].type)
        for reader in _scalar_users_of(result)
    )


def _scalar_users_of(value: SSAValue) -> Iterator[Operation]:
    """
    Yield the scalar operations that use a scalar, directly or as an element of a tile.
    """
    for use in value.uses:
        user, parent = use.operation, use.operation.parent_op()
        if isinstance(user, mem.YieldOp) and isinstance(parent, mem.MapOp):
            yield from _scalar_users_of(parent.results[use.index])
        elif isinstance(user, mem.MapOp) and value in user.input_operands:
            position = list(user.input_operands).index(value)
            yield from _scalar_users_of(user.body.block.args[position])
        else:
            yield user


def _is_dependent_on_inexact_function(op: Operation) -> bool:
    """
    Return `True` if a scalar operation depends on an inexact function, in its region or
    in the regions that define its operands.
    """
    pending, visited = [*op.operands], set[SSAValue]()
    while pending:
        value = pending.pop()
        owner = value.owner
        if value in visited or isinstance(owner, arith.CmpfOp):
            continue
        visited.add(value)
        if isinstance(owner, Block):
            pending += _operand_of_region_argument(owner, value)
        elif is_special_function(owner) and not isinstance(owner, math.SqrtOp):
            return True
        elif isinstance(owner, mem.MapOp | mem.ReduceOp | mem.ScanOp):
            terminator = owner.body.block.last_op
            assert terminator is not None
            pending.append(terminator.operands[owner.results.index(value)])
        elif isinstance(owner.parent_op(), mem.MapOp | mem.ReduceOp | mem.ScanOp):
            pending += owner.operands
    return False


def _operand_of_region_argument(block: Block, argument: SSAValue) -> Sequence[SSAValue]:
    """Return the operand whose elements a region argument represents, if any."""
    op = block.parent_op()
    if not isinstance(op, mem.MapOp | mem.ReduceOp | mem.ScanOp):
        return ()
    position = block.args.index(argument)
    return op.input_operands[position : position + 1]
