"""Multiplying on that side of a contraction where it takes fewer products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects import graph
from tlf.dialects.invariants import invariant_values
from tlf.dialects.rewriting import replace_op
from tlf.passes.graph.hoist_scalars.absorbed import Scaling, placement
from tlf.passes.graph.hoist_scalars.deferred import Factor, defer
from tlf.passes.graph.hoist_scalars.exponents import take_scale
from tlf.passes.graph.hoist_scalars.logarithms import take_logarithm
from tlf.passes.graph.product import Product

NAME = "graph-hoist-scales"

LOGARITHM = "it takes the logarithm in its exponent as a divisor"
SCALE = "it takes the scale of the scores in its exponent"
"""Remark on exponentials that were changed."""


def _absorb(block: Block) -> None:
    """Let operands of contractions take the numbers that results are scaled by."""
    for op in list(block.ops):
        if (scaling := Scaling.of(op)) is None:
            continue
        contraction = scaling.contraction
        invariant = invariant_values(block)
        found = min(
            (placement(contraction, side, invariant) for side in (0, 1)),
            key=lambda each: each.cost,
        )
        if found.cost >= scaling.elements:
            continue
        name = contraction.name.removeprefix("graph.")
        if not scaling.is_exact:
            text = (
                f"{name} is scaled behind it: its operands would be rounded otherwise"
            )
            graph.remark(op, NAME, "missed", text)
            continue
        graph.remark(op, NAME, "passed", f"operands of {name} take its scale")
        for place in found.places:
            scaling.apply_to(*place)
        replace_op(scaling.op, [], [scaling.op.operands[scaling.side]])


def _defer(block: Block) -> None:
    """Let results of contractions take the factors of operands."""
    invariant = invariant_values(block)
    for op in list(block.ops):
        for side in (0, 1):
            product = Product.of(op)
            if product is None or product.values[side] in invariant:
                continue
            found = Factor.of(product, side)
            if found is not None and found.pays:
                name = op.name.removeprefix("graph.")
                text = f"the result of {name} takes a factor of what it multiplies"
                graph.remark(op, NAME, "passed", text)
                defer(found)
                break


def _change_exponents(
    block: Block, change: Callable[[graph.ExpOp], Operation | None], text: str
) -> None:
    """Change exponentials of a block where that is possible, and note it."""
    for op in [each for each in block.ops if isinstance(each, graph.ExpOp)]:
        if (made := change(op)) is not None:
            graph.remark(made, NAME, "passed", text)


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
                    _change_exponents(block, take_logarithm, LOGARITHM)
                    _absorb(block)
                    _defer(block)
                    _change_exponents(block, take_scale, SCALE)
