"""
Lowering of calls of device code: the launches at the first call of a function are
repeated, on other arguments, at its other calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

HostCode: TypeAlias = tuple[Sequence[SSAValue], Sequence[Operation]]
"""Arguments of a call, and the buffers, loops and launches in its place."""


@dataclass
class RepeatedCalls:
    """Host code of functions at their first calls."""

    _known: dict[func.FuncOp, HostCode] = field(
        default_factory=dict[func.FuncOp, HostCode]
    )

    def record(
        self, callee: func.FuncOp, call: func.CallOp, before: Operation | None
    ) -> None:
        """
        Record the host code between an operation, None if there is none, and the first
        call of a function.
        """
        block, code = call.parent, list[Operation]()
        assert block is not None
        op = block.first_op if before is None else before.next_op
        while op is not None and op is not call:
            code.append(op)
            op = op.next_op
        self._known[callee] = tuple(call.arguments), code

    def repeat(self, callee: func.FuncOp, call: func.CallOp) -> bool:
        """
        Insert the host code of a function at another call of it. Return `False` at its
        first call.
        """
        if (known := self._known.get(callee)) is None:
            return False
        arguments, code = known
        copies = dict[SSAValue, SSAValue](zip(arguments, call.arguments, strict=True))
        clones = [op.clone(copies) for op in code]
        Rewriter.insert_op(clones, InsertPoint.before(call))
        return True
