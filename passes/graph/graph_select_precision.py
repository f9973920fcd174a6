"""
Pass `graph-select-precision`: computes products of split factors in full precision
where that is faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block
from xdsl.passes import ModulePass

from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.dialects.product_precision import FULL, IEEE
from tlf.dialects.target import TargetSpec
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.factor_order import transpose_factor
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.reassociate.product_changes import find_profitable_changes
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.fusion.producer_closure import Part, operations_with_reshapes


@dataclass(frozen=True)
class GraphSelectPrecisionPass(ModulePass):
    """
    Compute products of `bf16x6` in `ieee` on GPUs, where the cost model estimates fewer
    cycles: products of few tiles, which splitting and matrix instructions delay.
    """

    name = "graph-select-precision"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        chip = Chip.from_target(target)
        evaluator = ChangeEvaluator.create_for_target(ctx, target)
        if chip is None or evaluator is None:
            return
        for function in defined_functions_of(op):
            _select_precisions_of_block(function.body.block, evaluator, chip)


@dataclass(frozen=True)
class _FullPrecision:
    """A rewrite that computes one of several operations by lanes."""

    index: int
    """Index of the product among the operations."""

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        product = Product.from_operation(operations[self.index])
        if product is None:
            return False
        _multiply_by_lanes(product)
        return True


def _select_precisions_of_block(
    block: Block, evaluator: ChangeEvaluator, chip: Chip
) -> None:
    """Select the precision of all products of split factors."""

    def find_change(product: Product, group: Part) -> _FullPrecision | None:
        return _find_profitable_change(product, group, evaluator, chip)

    for op, _ in find_profitable_changes(
        block, evaluator, _has_split_factors, find_change
    ):
        if (product := Product.from_operation(op)) is not None:
            _multiply_by_lanes(product)


def _has_split_factors(product: Product) -> bool:
    """Return `True` if a product is one of split factors."""
    return product.op.precision == FULL


def _find_profitable_change(
    product: Product, group: Part, evaluator: ChangeEvaluator, chip: Chip
) -> _FullPrecision | None:
    """Return the change of a product that lanes compute in fewer cycles, or `None`."""
    if _has_other_products(group):
        return None
    cycles = evaluator.total_cycles_of_groups([group])
    if cycles is None or _min_cycles_by_lanes(product, chip) >= cycles:
        return None
    change = _FullPrecision(operations_with_reshapes([group]).index(product.op))
    return change if evaluator.cycles_saved_by_change([group], change) > 0 else None


def _has_other_products(group: Part) -> bool:
    """
    Return `True` if a group has several products, as in an attention: the model of
    their loops does not order precisions as they were measured.
    """
    return sum(isinstance(each, ContractionInterface) for each in group) > 1


def _min_cycles_by_lanes(product: Product, chip: Chip) -> float:
    """Return a lower bound on the cycles of a product that lanes compute."""
    terms = prod(each.extent for each in product.op.iteration_domain())
    return terms / (chip.lanes * chip.processors)


def _multiply_by_lanes(product: Product) -> None:
    """
    Compute a product in full precision, with weights whose rows run along the result,
    as lanes read them.
    """
    product.op.properties["precision"] = StringAttr(IEEE)
    block = product.op.parent_block()
    assert block is not None
    invariant = call_invariant_values_of(block)
    for side in range(2):
        if product.values[side] in invariant:
            transpose_factor(product, side, along_result=True)
            return
