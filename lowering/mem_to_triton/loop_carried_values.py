"""Helper of the lowering to Triton: access to the loop-carried values of `scf.for`."""

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue


def carried_argument_and_yielded_value(
    loop: scf.ForOp, carried_index: int
) -> tuple[BlockArgument, SSAValue]:
    """Return the block argument and the yielded value of a carried value."""
    terminator = loop.body.block.last_op
    assert isinstance(terminator, scf.YieldOp)
    return loop.body.block.args[carried_index + 1], terminator.operands[carried_index]
