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
from tlf.dialects.call_invariants import invariant_values
from tlf.dialects.located_rewriting import replace_op
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.hoist_scalars.hoist_scale import OperandScale, hoist_operand_scale
from tlf.passes.graph.hoist_scalars.log_sum_exp import rewrite_exp_of_log_sum
from tlf.passes.graph.hoist_scalars.scaled_exponents import fold_scale_into_exp
from tlf.passes.graph.hoist_scalars.sink_scale import ResultScale, find_placement

NAME = "graph-hoist-scales"

LOGARITHM_REMARK = "it takes the logarithm in its exponent as a divisor"
SCALE_REMARK = "it takes the scale of the scores in its exponent"
"""Remark on exponentials that were changed."""


def _sink_scales(block: Block) -> None:
    """Sink constant scales of contraction results into their operands."""
    for op in list(block.ops):
        if (scaling := ResultScale.of(op)) is None:
            continue
        contraction = scaling.contraction
        invariant = invariant_values(block)
        found = min(
            (find_placement(contraction, side, invariant) for side in (0, 1)),
            key=lambda each: each.cost,
        )
        if found.cost >= scaling.multiplication_count:
            continue
        name = contraction.name.removeprefix("graph.")
        if not scaling.is_exact:
            text = (
                f"{name} is scaled behind it: its operands would be rounded otherwise"
            )
            graph.add_remark(op, NAME, "missed", text)
            continue
        graph.add_remark(op, NAME, "passed", f"operands of {name} take its scale")
        for place in found.operands:
            scaling.scale_operand(*place)
        replace_op(scaling.op, [], [scaling.op.operands[scaling.side]])


def _hoist_scales(block: Block) -> None:
    """Hoist scales of contraction operands to the results."""
    invariant = invariant_values(block)
    for op in list(block.ops):
        for side in (0, 1):
            product = Product.of(op)
            if product is None or product.values[side] in invariant:
                continue
            found = OperandScale.of(product, side)
            if found is not None and found.is_profitable:
                name = op.name.removeprefix("graph.")
                text = f"the result of {name} takes a factor of what it multiplies"
                graph.add_remark(op, NAME, "passed", text)
                hoist_operand_scale(found)
                break


def _rewrite_exponentials(
    block: Block, change: Callable[[graph.ExpOp], Operation | None], text: str
) -> None:
    """Rewrite the exponentials of a block that a function can change, with a remark."""
    for op in [each for each in block.ops if isinstance(each, graph.ExpOp)]:
        if (made := change(op)) is not None:
            graph.add_remark(made, NAME, "passed", text)


@dataclass(frozen=True)
class GraphHoistScalesPass(ModulePass):
    """
    Multiply where that takes fewer products: a factor of an operand of a contraction
    that is the same along all axes it sums over may as well be one of its result, and a
    number that a result is multiplied by one of an operand, of what that is computed
    from, or of a weight.

    So the rows of a softmax are divided by their sums behind the product with the
    values, and the scale of an attention goes into the weights of its queries, or into
    the exponents of its softmax, where the base of exponentials is one, too. What
    `exp(a - log(l))` computes of a sum `l` of `exp(a)` is a quotient first. Sums of
    products are rounded at other points by this, never by more: a number moves to
    16-bit operands, and from 16-bit scores to an exponent in f32, only if it is a power
    of two of at most 1, and what a contraction reads without its factor has to stay
    finite.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    _rewrite_exponentials(
                        block, rewrite_exp_of_log_sum, LOGARITHM_REMARK
                    )
                    _sink_scales(block)
                    _hoist_scales(block)
                    _rewrite_exponentials(block, fold_scale_into_exp, SCALE_REMARK)
