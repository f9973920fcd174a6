"""
Pass `graph-pad-factors`: pads factors of matrix products to rows that threads load in
wide accesses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.dialects import graph
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.graph.packed_images import LOAD_BYTES
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.reassociate.product_changes import find_profitable_changes
from tlf.planner.fusion.producer_closure import Part, operations_with_reshapes
from tlf.planner.settings.search_budgets import REASSOCIATION

NAME = "graph-pad-factors"

Padding = Mapping[int, int]
"""Additional extents of a product, by iterator."""


@dataclass(frozen=True)
class GraphPadFactorsPass(ModulePass):
    """
    Pad factors of matrix products with zeros, so that their rows start at multiples of
    the widest access of a thread, where the cost model estimates fewer cycles, copies
    included. The result loses the rows and columns that were added.

    Known as shape padding, from the multiplication of matrices in PyTorch's compiler.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if not target.computes_in_registers:
            return
        evaluator = ChangeEvaluator.create_for_target(
            ctx, target, min_gain_of_groups=REASSOCIATION.min_transposition_gain
        )
        if evaluator is None:
            return
        least = target.tiling.matrix_minimum or 1
        for function in defined_functions_of(op):
            _pad_factors_of_block(function.body.block, evaluator, least)


@dataclass(frozen=True)
class _FactorPadding:
    """A rewrite that pads the factors of one of several operations."""

    index: int
    """Index of the product among the operations."""

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        product = Product.from_operation(operations[self.index])
        if product is None:
            return False
        _pad_factors(product, _find_padding(product))
        return True


def _pad_factors_of_block(block: Block, evaluator: ChangeEvaluator, least: int) -> None:
    """Pad the factors of all products for which that saves time."""

    def is_candidate(product: Product) -> bool:
        return product.has_min_extents(least) and bool(_find_padding(product))

    def find_change(product: Product, group: Part) -> _FactorPadding | None:
        if any(value.owner in group for value in product.values):
            return None
        change = _FactorPadding(operations_with_reshapes([group]).index(product.op))
        return change if evaluator.cycles_saved_by_change([group], change) > 0 else None

    for op, _ in find_profitable_changes(block, evaluator, is_candidate, find_change):
        if (product := Product.from_operation(op)) is not None:
            _pad_factors(product, _find_padding(product))


def _find_padding(product: Product) -> Padding:
    """Return the padding with which the rows of both factors are aligned."""
    padding: dict[int, int] = {}
    for value, axes in zip(product.values, product.axes, strict=True):
        elements = max(1, LOAD_BYTES // itemsize_of(value))
        missing = -tensor_type(value).get_shape()[-1] % elements if axes else 0
        if missing:
            padding[axes[-1]] = missing
    return padding


def _pad_factors(product: Product, padding: Padding) -> None:
    """Replace a product by one of padded factors."""
    rewriter = located_rewriter_at(product.op)

    def pad(value: SSAValue, axes: Axes) -> SSAValue:
        high = [padding.get(iterator, 0) for iterator in axes]
        if not any(high):
            return value
        return rewriter.insert(graph.PadOp(value, [0] * len(high), high)).result

    (left, right), (left_axes, right_axes) = product.values, product.axes
    values = pad(left, left_axes), pad(right, right_axes)
    contract: Operation = replace(product, values=values).build_contract()
    if {*padding} & {*product.result}:
        (result,) = rewriter.insert(contract).results
        shape = tensor_type(product.op.results[0]).get_shape()
        contract = graph.SliceOp(result, [0] * len(shape), shape)
    rewriter.replace(product.op, contract)
