"""Constant folding of values that depend on constants alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.work.once import SMALL, computing, roots_of, worthwhile
from tlf.analysis.work.work import size_in_bytes
from tlf.dialects import graph
from tlf.dialects.interfaces import Array, ReferenceInterface
from tlf.dialects.invariants import is_computable
from tlf.dialects.types import tensor_type

NAME = "graph-fold-constants"

ROOM = 16
"""Factor by which an intermediate value of a constant may exceed the limit."""


def constant_values(block: Block) -> set[SSAValue]:
    """
    Return the values that a block computes from constants that are written out in the
    program.
    """
    found = set[SSAValue]()
    for op in block.ops:
        is_file = isinstance(op, graph.ConstantOp) and isinstance(
            op.value, graph.FileAttr
        )
        known = all(operand in found for operand in op.operands)
        if known and not is_file and is_computable(op):
            found.update(op.results)
    return found


@dataclass
class _Folder:
    """The constants of a block, computed as they are needed."""

    limit: int
    inside: set[SSAValue]
    arrays: dict[SSAValue, Array]

    def run(self, block: Block) -> None:
        roots = roots_of(block, self.inside)
        for value in worthwhile(roots, self.inside, SMALL, views=True):
            op = value.owner
            assert isinstance(op, Operation)
            size = size_in_bytes([value])
            if (largest := self._largest(value)) > self.limit:
                text = f"{largest} bytes are more than the limit of {self.limit}"
                graph.remark(op, NAME, "missed", text)
                continue
            count = sum(1 for _ in computing(value, self.inside))
            noun = "operation" if count == 1 else "operations"
            text = f"{count} {noun} became a constant of {size} bytes"
            graph.remark(op, NAME, "passed", text)
            self._replace(op, value)

    def _largest(self, value: SSAValue) -> int:
        """The bytes that stand against the limit."""
        steps = [
            size_in_bytes(op.results) // ROOM for op in computing(value, self.inside)
        ]
        return max([size_in_bytes([value]), *steps])

    def _replace(self, op: Operation, value: SSAValue) -> None:
        constant = graph.ConstantOp(self._array(value), tensor_type(value))
        constant.location = op.location
        constant.result.name_hint = value.name_hint
        Rewriter.insert_op(constant, InsertPoint.before(op))
        value.replace_all_uses_with(constant.result)
        self.arrays[constant.result] = self.arrays[value]
        self.inside.add(constant.result)

    def _array(self, value: SSAValue) -> Array:
        """The elements of a value, those that it is computed from first."""
        pending = [value]
        while pending:
            op = pending[-1].owner
            if pending[-1] in self.arrays:
                pending.pop()
                continue
            assert isinstance(op, ReferenceInterface)
            if missing := [each for each in op.operands if each not in self.arrays]:
                pending += missing
                continue
            with np.errstate(all="ignore"):
                results = op.reference(*(self.arrays[each] for each in op.operands))
            self.arrays.update(zip(op.results, results, strict=True))
        return self.arrays[value]


@dataclass(frozen=True)
class GraphFoldConstantsPass(ModulePass):
    """
    Compute when compiling what follows from constants alone, such as an encoding of
    positions, and put a constant in its place.

    That is done where reading the constant costs less than computing it, as with
    functions like the sine, and for small tensors. Positions and comparisons of them,
    such as a causal mask, stay: they cost less than reading them. Constants in side
    files stay where they are.
    """

    name = NAME

    limit: int = 1 << 20
    """The largest constant to make, in bytes."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    _Folder(self.limit, constant_values(block), {}).run(block)
