"""Pass `graph-fold-constants`: evaluates operations on constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.tiling.position_masks import mask_filter_for
from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.analysis.work.precompute_profit import (
    FREE_BYTES,
    producers_of,
    select_values_to_precompute,
    values_used_outside,
)
from tlf.dialects import graph
from tlf.dialects.call_invariants import is_hoistable
from tlf.dialects.interfaces import Array, ReferenceInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type

NAME = "graph-fold-constants"

INTERMEDIATE_FACTOR = 16
"""Ratio of the size limit of intermediate values to the limit of constants."""


def values_computed_from_constants(block: Block) -> set[SSAValue]:
    """
    Return the values that a block computes from constants inline in the program.
    """
    constants = set[SSAValue]()
    for op in block.ops:
        is_file = isinstance(op, graph.ConstantOp) and isinstance(
            op.value, graph.SideFileAttr
        )
        is_constant = all(operand in constants for operand in op.operands)
        if is_constant and not is_file and is_hoistable(op):
            constants.update(op.results)
    return constants


@dataclass
class _ConstantFolder:
    """Replacement of computed values in a block by constants, with their arrays."""

    size_limit: int
    constants: set[SSAValue]
    arrays: dict[SSAValue, Array]
    is_kept: Callable[[SSAValue], bool]

    def fold_constants_of_block(self, block: Block) -> None:
        """Replace values that pay as constants within `size_limit`, with remarks."""
        roots = values_used_outside(block, self.constants)
        for value in select_values_to_precompute(
            roots,
            self.constants,
            FREE_BYTES,
            includes_views=True,
            is_kept=self.is_kept,
        ):
            op = value.owner
            assert isinstance(op, Operation)
            size = size_in_bytes([value])
            if (
                largest := self._byte_size_compared_with_limit(value)
            ) > self.size_limit:
                text = f"{largest} bytes are more than the limit of {self.size_limit}"
                graph.add_remark(op, NAME, "missed", text)
                continue
            count = sum(1 for _ in producers_of(value, self.constants))
            noun = "operation" if count == 1 else "operations"
            text = f"{count} {noun} became a constant of {size} bytes"
            graph.add_remark(op, NAME, "passed", text)
            self._replace_by_constant(op, value)

    def _byte_size_compared_with_limit(self, value: SSAValue) -> int:
        """
        Return the size in bytes to compare with the limit: the size of the value, or
        1 / `INTERMEDIATE_FACTOR` of its largest intermediate value.
        """
        steps = [
            size_in_bytes(op.results) // INTERMEDIATE_FACTOR
            for op in producers_of(value, self.constants)
        ]
        return max([size_in_bytes([value]), *steps])

    def _replace_by_constant(self, op: Operation, value: SSAValue) -> None:
        """Replace the uses of `value` by a constant of its evaluated elements."""
        constant = graph.ConstantOp(self._evaluate_value(value), tensor_type(value))
        constant.location = op.location
        constant.result.name_hint = value.name_hint
        Rewriter.insert_op(constant, InsertPoint.before(op))
        value.replace_all_uses_with(constant.result)
        self.arrays[constant.result] = self.arrays[value]
        self.constants.add(constant.result)

    def _evaluate_value(self, value: SSAValue) -> Array:
        """Return the elements of a value, evaluated after the values it depends on."""
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
                results = op.compute_reference(
                    *(self.arrays[each] for each in op.operands)
                )
            self.arrays.update(zip(op.results, results, strict=True))
        return self.arrays[value]


@dataclass(frozen=True)
class GraphFoldConstantsPass(ModulePass):
    """
    Evaluate operations on constants at compile time, such as positional encodings.

    A value is folded if reading a constant costs less than computing the value, as for
    functions like the sine, or if it is small. Positions and comparisons of positions,
    such as a causal mask, are not folded, because computing them costs less than
    reading them, and because a mask that is computed bounds the loops of a target whose
    loops may have any bounds. Constants in side files are not folded.
    """

    name = NAME

    limit: int = 1 << 20
    """Maximum size of a folded constant, in bytes."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = (
            TargetSpec.read_from_module(op) if TargetSpec.is_attached_to(op) else None
        )
        is_kept = mask_filter_for(target)
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    constants = values_computed_from_constants(block)
                    folder = _ConstantFolder(self.limit, constants, {}, is_kept)
                    folder.fold_constants_of_block(block)
