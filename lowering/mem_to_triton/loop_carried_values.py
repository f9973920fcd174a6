"""Access to the loop-carried values of `scf.for` in the lowering to Triton."""

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue


def loop_carried_pair(op: scf.ForOp, number: int) -> tuple[BlockArgument, SSAValue]:
    """Return the block argument and the yielded value of a carried value."""
    terminator = op.body.block.last_op
    assert isinstance(terminator, scf.YieldOp)
    return op.body.block.args[number + 1], terminator.operands[number]
