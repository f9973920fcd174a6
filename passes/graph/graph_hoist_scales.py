"""Pass `graph-hoist-scales`: moves scales to the cheaper side of a contraction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects import graph
from tlf.dialects.call_invariants import (
    add_call_invariant_results,
    call_invariant_values_of,
)
from tlf.dialects.graph.remark_batch import RemarkBatch
from tlf.dialects.located_rewriting import replace_op
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.hoist_scalars.hoist_scale import (
    OperandScale,
    hoist_scale_to_result,
)
from tlf.passes.graph.hoist_scalars.log_sum_exp import (
    rewrite_exp_of_log_sum_as_quotient,
)
from tlf.passes.graph.hoist_scalars.scaled_exponents import fold_scale_into_exp
from tlf.passes.graph.hoist_scalars.sink_scale import ResultScale, find_scale_placement

NAME = "graph-hoist-scales"

LOGARITHM_REMARK = "it takes the logarithm in its exponent as a divisor"
SCALE_REMARK = "the scale of the scores is hoisted into its exponent"
"""Remarks on rewritten exponentials."""


def _sink_scales_of_results(block: Block, remarks: RemarkBatch) -> None:
    """Sink constant scales of contraction results into their operands."""
    invariant = call_invariant_values_of(block)
    for op in list(block.ops):
        if (scaling := ResultScale.from_operation(op)) is None:
            continue
        contraction = scaling.contraction
        placement = min(
            (find_scale_placement(contraction, side, invariant) for side in (0, 1)),
            key=lambda each: each.multiplication_count,
        )
        if placement.multiplication_count >= scaling.multiplication_count:
            continue
        name = contraction.name.removeprefix("graph.")
        if not scaling.is_exact_at(placement):
            text = (
                f"{name} is scaled afterwards: its operands would be rounded otherwise"
            )
            remarks.add_remark(op, "missed", text)
            continue
        text = f"the scale of the result moves into the operands of {name}"
        remarks.add_remark(op, "passed", text)
        for operand in placement.scaled_operands:
            new_ops = scaling.multiply_operand_by_scale(operand)
            add_call_invariant_results(new_ops, invariant)
        replace_op(scaling.op, [], [scaling.op.operands[scaling.result_index]])


def _hoist_scales_of_operands(block: Block, remarks: RemarkBatch) -> None:
    """
    Scale results of contractions instead of their operands, where it is profitable.
    """
    invariant = call_invariant_values_of(block)
    for op in list(block.ops):
        for side in (0, 1):
            product = Product.from_operation(op)
            if product is None or product.values[side] in invariant:
                continue
            scale = OperandScale.find_in_operand(product, side)
            if scale is not None and scale.is_profitable:
                name = op.name.removeprefix("graph.")
                text = f"a scale of an operand is hoisted to the result of {name}"
                remarks.add_remark(op, "passed", text)
                hoist_scale_to_result(scale)
                break


def _rewrite_exponentials_of_block(
    block: Block,
    rewrite: Callable[[graph.ExpOp], Operation | None],
    remark_text: str,
    remarks: RemarkBatch,
) -> None:
    """Apply a rewrite to each exponential of a block, and emit a remark on success."""
    for op in [each for each in block.ops if isinstance(each, graph.ExpOp)]:
        if (rewritten := rewrite(op)) is not None:
            remarks.add_remark(rewritten, "passed", remark_text)


def _hoist_scales_of_block(block: Block, remarks: RemarkBatch) -> None:
    """Apply the rewrites of scales to the operations of a block, in order."""
    _rewrite_exponentials_of_block(
        block, rewrite_exp_of_log_sum_as_quotient, LOGARITHM_REMARK, remarks
    )
    _sink_scales_of_results(block, remarks)
    _hoist_scales_of_operands(block, remarks)
    _rewrite_exponentials_of_block(block, fold_scale_into_exp, SCALE_REMARK, remarks)


@dataclass(frozen=True)
class GraphHoistScalesPass(ModulePass):
    """
    Move scales across contractions to where they take fewer multiplications.

    A factor of an operand that is constant along all reduced axes is hoisted to the
    result. A constant factor of a result is sunk into an operand, into the values that
    the operand is computed from, or into a weight.

    Examples: the rows of a softmax are divided by their sums after the product with the
    values, and the scale of an attention is folded into the weights of its queries, or
    into the exponents of its softmax together with the change of base to 2. If `l` is
    the sum of `exp(a)`, `exp(a - log(l))` first becomes a quotient. Sums of products
    are rounded at other points, but not more often: a constant moves to 16-bit
    operands, and from 16-bit scores to an exponent in f32, only if it is a power of two
    of at most 1, and an operand without its factor must remain finite.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remarks = RemarkBatch(NAME)
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    _hoist_scales_of_block(block, remarks)
        remarks.attach()
