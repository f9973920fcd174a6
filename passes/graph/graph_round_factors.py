"""Pass `graph-round-factors`: rounds the factors of products that truncate them."""

from __future__ import annotations

from dataclasses import dataclass, field

from typing_extensions import TypeIs
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.interfaces import (
    ContractionInterface,
    MovementInterface,
    ViewInterface,
)
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Product
from tlf.passes.op_replacement import is_in_planned_group


@dataclass(frozen=True)
class GraphRoundFactorsPass(ModulePass):
    """
    Round the factors of products in tf32 on targets whose matrix instructions drop the
    low bits of factors, which makes all products smaller. Values are rounded before
    movements that only the product reads, so that the kernel that computes them stores
    them rounded; `graph-outline-prepare` rounds weights before the first call.

    Products with fewer rows, columns or terms than matrix instructions need are kept,
    and so are computed factors of products without weights, as in an attention, which
    may be fused with what computes them.
    """

    name = "graph-round-factors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if target.gpu is None or not target.gpu.matrix_truncates:
            return
        least = target.tiling.matrix_minimum or 1
        for function in defined_functions_of(op):
            _round_factors_of_block(function.body.block, least)


def _round_factors_of_block(block: Block, min_extent: int) -> None:
    """Round the factors of all products in tf32 whose extents have a minimum."""
    rounding, invariant = _Rounding(), call_invariant_values_of(block)
    for op in list(block.ops):
        if _is_rounded_product(op, min_extent):
            has_weight = not invariant.isdisjoint(op.operands[:2])
            for index in range(2):
                rounding.round_operand(op, index, rounds_computed=has_weight)


def _is_rounded_product(op: Operation, min_extent: int) -> bool:
    """Return `True` if matrix instructions compute a product in tf32."""
    if not isinstance(op, ContractionInterface) or op.precision != "tf32":
        return False
    if tensor_type(op.operands[0]).element_type != f32 or is_in_planned_group(op):
        return False
    product = Product.from_operation(op)
    return product is None or product.has_min_extents(min_extent)


@dataclass
class _Rounding:
    """Rounding of values, once each."""

    _rounded: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def round_operand(
        self, op: Operation, index: int, *, rounds_computed: bool
    ) -> None:
        """
        Round an operand before movements that only `op` reads, but after the first one
        that copies an argument.
        """
        reads = [(op, index)]
        while _commutes_with_rounding(movement := op.operands[index].owner):
            assert isinstance(movement, Operation)
            op, index = movement, 0
            reads.append((op, index))
        if isinstance(op.operands[index], BlockArgument):
            while len(reads) > 1 and isinstance(reads[-1][0], ViewInterface):
                reads.pop()
            reads = reads[: max(1, len(reads) - 1)]
        elif not rounds_computed:
            return
        reader, position = reads[-1]
        reader.operands[position] = self._round(reader.operands[position])

    def _round(self, value: SSAValue) -> SSAValue:
        """
        Return the rounded value, which is built after its definition; views of computed
        values are views of the rounded ones.
        """
        owner = value.owner
        if isinstance(owner, graph.RoundTf32Op):
            return value
        if value not in self._rounded and _is_view_of_computed_value(owner):
            view = owner.clone()
            view.operands[0] = self._round(owner.operands[0])
            Builder(InsertPoint.after(owner)).insert(view)
            self._rounded[value] = view.results[0]
        if value not in self._rounded:
            is_computed = isinstance(owner, Operation)
            point = (
                InsertPoint.after(owner) if is_computed else InsertPoint.at_start(owner)
            )
            op = Builder(point).insert(graph.RoundTf32Op(value))
            if is_computed:
                op.location = owner.location
            self._rounded[value] = op.result
        return self._rounded[value]


def _is_view_of_computed_value(op: Operation | Block) -> TypeIs[Operation]:
    return (
        isinstance(op, ViewInterface)
        and len(op.operands) == 1
        and isinstance(op.operands[0].owner, Operation)
    )


def _commutes_with_rounding(op: Operation | Block) -> bool:
    """Return `True` if an operation moves elements for one reader, or fills with 0."""
    return (
        isinstance(op, MovementInterface)
        and len(op.results) == 1
        and op.results[0].has_one_use()
        and not op.padding_value(0)
    )
