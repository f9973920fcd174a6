"""
Pass `graph-transpose-weights`: stores weights in the order in which they are
multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from tlf.analysis.work.flops_and_bytes import multiplication_type_of
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.graph.packed_images import LOAD_BYTES
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.product_precision import FACTOR_SPLITS
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.factor_order import runs_along_result, transpose_factor
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.reassociate.product_changes import find_profitable_changes
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.fusion.producer_closure import Part, operations_with_reshapes
from tlf.planner.settings.search_budgets import REASSOCIATION


@dataclass(frozen=True)
class GraphTransposeWeightsPass(ModulePass):
    """
    Transpose factors of matrix products on targets that compute on tiles in registers.

    Rows of factors that lanes multiply run along the result: each lane multiplies
    neighbouring elements, which it then loads at once. Rows of factors of matrix
    instructions run along the reduction if their elements are wider than those that the
    instructions transpose. Narrower factors are read in both orders; rows of weights
    run along the reduction if they have less than the bytes of one load, such as the
    taps of a filter.

    Call-invariant factors are transposed always; `graph-outline-prepare` does it before
    the first call. Others that lanes multiply are transposed if the cost model
    estimates fewer cycles, copy included.
    """

    name = "graph-transpose-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if not target.computes_in_registers:
            return
        orders = _FactorOrders.of_target(target)
        evaluator = ChangeEvaluator.create_for_target(
            ctx, target, min_gain_of_groups=REASSOCIATION.min_transposition_gain
        )
        for function in defined_functions_of(op):
            block = function.body.block
            _transpose_weights_of_block(block, orders)
            if evaluator is not None:
                _transpose_varying_factors_of_block(block, orders, evaluator)


@dataclass(frozen=True)
class _FactorOrders:
    """Orders in which a target multiplies factors."""

    chip: Chip | None
    min_extent: int
    """Least rows, columns and terms of a matrix product."""

    @staticmethod
    def of_target(target: TargetSpec) -> _FactorOrders:
        """Return the orders of a target."""
        least = target.tiling.matrix_minimum or 1
        return _FactorOrders(Chip.from_target(target), least)

    def do_rows_run_along_result(self, product: Product, side: int) -> bool | None:
        """
        Return `True` if rows of a weight should run along the result, `False` if along
        the reduction, and `None` if both orders are alike.
        """
        if self.is_computed_by_lanes(product):
            return True
        if _has_short_rows(product.values[side]):
            return False
        if self.chip is None or not self._is_wide_matrix_product(product):
            return None
        if self.has_split_factors(product):
            return False
        width = max(map(itemsize_of, product.values))
        return None if self.chip.gpu.matrix_transpose >= width else False

    def varying_order_of(self, product: Product) -> bool | None:
        """
        Return the order, as above, that may be worth copying a factor of each call;
        `None` if no order is.
        """
        if self.is_computed_by_lanes(product):
            return True
        return False if self.has_split_factors(product) else None

    def has_split_factors(self, product: Product) -> bool:
        """
        Return `True` if threads read factors to split them into parts: those of the
        left one along its rows.
        """
        kind = multiplication_type_of(product.op)
        return kind in FACTOR_SPLITS and self._is_wide_matrix_product(product)

    def is_computed_by_lanes(self, product: Product) -> bool:
        """
        Return `True` if lanes compute a matrix product of f32 or f64, as there are no
        matrix instructions for it.
        """
        return self._is_wide_matrix_product(product) and (
            self.chip is None or not self.chip.has_matrix_instructions_for(product.op)
        )

    def _is_wide_matrix_product(self, product: Product) -> bool:
        """
        Return `True` if a product is a matrix product of f32 or f64, whose rows,
        columns and reduction have a minimum extent.
        """
        elements = {tensor_type(value).element_type for value in product.values}
        return elements <= {f32, f64} and product.has_min_extents(self.min_extent)


def _transpose_weights_of_block(block: Block, orders: _FactorOrders) -> None:
    """Transpose the weights of all products."""
    invariant = call_invariant_values_of(block)
    for op in list(block.ops):
        product = Product.from_operation(op)
        if product is None:
            continue
        for side in range(2):
            if product.values[side] in invariant:
                along_result = orders.do_rows_run_along_result(product, side)
                if along_result is not None:
                    transpose_factor(product, side, along_result=along_result)
                break


def _has_short_rows(weight: SSAValue) -> bool:
    """Return `True` if a load of a thread is longer than a row of a weight."""
    rows = [extent for extent in tensor_type(weight).get_shape() if extent > 1]
    return bool(rows) and rows[-1] * itemsize_of(weight) < LOAD_BYTES


@dataclass(frozen=True)
class _FactorTransposition:
    """A rewrite that transposes a factor of one of several operations."""

    index: int
    """Index of the product among the operations."""
    side: int
    along_result: bool
    """True if rows of the factor then run along the result."""

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        product = Product.from_operation(operations[self.index])
        if product is None:
            return False
        transpose_factor(product, self.side, along_result=self.along_result)
        return True


def _transpose_varying_factors_of_block(
    block: Block, orders: _FactorOrders, evaluator: ChangeEvaluator
) -> None:
    """
    Transpose each factor whose rows run along the other axis where that saves time by
    the cost model, the smaller factor of a product first.
    """
    invariant = call_invariant_values_of(block)

    def is_candidate(product: Product) -> bool:
        order = orders.varying_order_of(product)
        return order is not None and bool(
            _find_factors_in_other_order(product, order, invariant)
        )

    def find_change(product: Product, group: Part) -> _FactorTransposition | None:
        return _find_profitable_change(product, group, orders, invariant, evaluator)

    while changes := find_profitable_changes(
        block, evaluator, is_candidate, find_change
    ):
        for op, change in changes:
            if (product := Product.from_operation(op)) is not None:
                transpose_factor(product, change.side, along_result=change.along_result)


def _find_factors_in_other_order(
    product: Product, along_result: bool, invariant: AbstractSet[SSAValue]
) -> list[int]:
    """
    Return the factors that change from call to call whose rows do not run as wanted,
    the smaller one first.
    """
    sizes = [tensor_type(each).element_count() for each in product.values]
    return [
        side
        for side in sorted(range(2), key=sizes.__getitem__)
        if product.values[side] not in invariant
        and runs_along_result(product, side) != along_result
    ]


def _find_profitable_change(
    product: Product,
    group: Part,
    orders: _FactorOrders,
    invariant: AbstractSet[SSAValue],
    evaluator: ChangeEvaluator,
) -> _FactorTransposition | None:
    """
    Return the transposition of a factor with which a product takes less time, of the
    smaller one if those of both do; None if there is none.
    """
    along_result = orders.varying_order_of(product)
    if along_result is None or evaluator.max_cycles_saved_by_copy(group) <= 0:
        return None
    index = operations_with_reshapes([group]).index(product.op)
    for side in _find_factors_in_other_order(product, along_result, invariant):
        change = _FactorTransposition(index, side, along_result)
        if evaluator.cycles_saved_by_change([group], change) > 0:
            return change
    return None
