"""Loop-carried values."""

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue


def carried(op: scf.ForOp, number: int) -> tuple[BlockArgument, SSAValue]:
    """
    A carried value of a loop, at the start and at the end of an iteration.
    """
    terminator = op.body.block.last_op
    assert isinstance(terminator, scf.YieldOp)
    return op.body.block.args[number + 1], terminator.operands[number]
