"""Analysis of `mem.map` over buffers: the scalar operations of its body."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation

from tlf.dialects import mem


def scalar_operations_of_map(op: mem.MapOp) -> list[Operation]:
    """Return the operations of a map's body other than constants and terminator."""
    ignored = (arith.ConstantOp, mem.YieldOp)
    return [each for each in op.body.block.ops if not isinstance(each, ignored)]
