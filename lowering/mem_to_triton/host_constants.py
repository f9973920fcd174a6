"""Lowering of constants: those of a host function, which its kernels share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, func
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter


@dataclass
class HostConstants:
    """Constants of the host function before an operation, by value."""

    _known: dict[Attribute, SSAValue] = field(default_factory=dict[Attribute, SSAValue])

    def reuse_in(self, op: Operation) -> None:
        """
        Let an operation of the host use the constants before it, also inside of its
        regions, instead of equal ones.
        """
        if isinstance(op, arith.ConstantOp):
            if isinstance(op.parent_op(), func.FuncOp):
                known = self._known.setdefault(op.value, op.result)
                if known is not op.result:
                    op.result.replace_all_uses_with(known)
            return
        for each in list(_nested_constants_of(op)):
            if (known := self._known.get(each.value)) is not None:
                Rewriter.replace_op(each, (), (known,))

    def known_values_in(self, function: func.FuncOp) -> frozenset[Attribute]:
        """Return the constants inside of regions of a function that are known."""
        return frozenset(
            constant.value
            for op in function.body.block.ops
            for constant in _nested_constants_of(op)
            if constant.value in self._known
        )


def _nested_constants_of(op: Operation) -> Iterator[arith.ConstantOp]:
    """Yield the constants inside of the regions of an operation."""
    if op.regions:
        for each in op.walk():
            if isinstance(each, arith.ConstantOp):
                yield each
