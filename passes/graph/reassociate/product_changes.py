"""
Changes of matrix products that save cycles by the cost model, each evaluated on the
group of its product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.ir import Block, Operation

from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.reassociate.change_evaluation import BlockChange, ChangeEvaluator
from tlf.planner.fusion.producer_closure import Part

ChangeT = TypeVar("ChangeT", bound=BlockChange)


def find_profitable_changes(
    block: Block,
    evaluator: ChangeEvaluator,
    is_candidate: Callable[[Product], bool],
    find_change: Callable[[Product, Part], ChangeT | None],
) -> list[tuple[Operation, ChangeT]]:
    """
    Return the operations of candidates for which `find_change` returns a change, given
    their groups before any change. The block is grouped once, however many there are.
    """
    products = [
        product
        for op in block.ops
        if (product := Product.from_operation(op)) is not None and is_candidate(product)
    ]
    if not products:
        return []
    groups = evaluator.groups_of_block(block)
    return [
        (product.op, change)
        for product in products
        if (group := groups.get(product.op)) is not None
        and (change := find_change(product, group)) is not None
    ]
