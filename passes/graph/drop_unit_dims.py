"""
Rewrite pattern of the pass `graph-fold-transposes` that drops unit axes which reshapes
add to contraction operands.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import reshape_to


def _is_reshape_adding_unit_axes(value: SSAValue) -> bool:
    """
    Return `True` if `value` is the result of a reshape that raises the rank, and
    changes no axes but unit axes.
    """
    if not isinstance(view := value.owner, graph.ReshapeOp):
        return False
    before, after = (
        tensor_type(each).get_shape() for each in (view.operand, view.result)
    )
    extents = [[each for each in shape if each != 1] for shape in (before, after)]
    return len(before) < len(after) and extents[0] == extents[1]


def _removable_unit_iterators(product: Product, operand_index: int) -> set[int]:
    """
    Return the unit iterators along the result and only this operand, if other iterators
    along them are longer: the product has rows, or columns, without the unit iterators.
    """
    if not _is_reshape_adding_unit_axes(product.values[operand_index]):
        return set()
    own = {*product.axes[operand_index]}.difference(product.axes[1 - operand_index])
    free = own.intersection(product.result)
    iterators = product.op.iteration_domain()
    units = {axis for axis in free if iterators[axis].extent == 1}
    return units if units != free else set()


def _drop_unit_iterators(
    product: Product, unit_iterators: Collection[int], builder: Builder
) -> Product:
    """
    Return a product without some unit iterators, on newly reshaped operands; its
    contraction is not built.
    """
    used = [
        axis
        for axis in range(len(product.op.iteration_domain()))
        if axis not in unit_iterators
    ]

    def remaining_axes(axes: Axes) -> Axes:
        return tuple(used.index(axis) for axis in axes if axis not in unit_iterators)

    def drop_unit_dims(value: SSAValue, axes: Axes) -> SSAValue:
        if not set(axes).intersection(unit_iterators):
            return value
        pairs = zip(tensor_type(value).get_shape(), axes, strict=True)
        shape = [extent for extent, axis in pairs if axis not in unit_iterators]
        return reshape_to(cast(graph.ReshapeOp, value.owner).operand, shape, builder)

    lhs, rhs = map(drop_unit_dims, product.values, product.axes)
    axes = remaining_axes(product.axes[0]), remaining_axes(product.axes[1])
    return Product(product.op, (lhs, rhs), axes, remaining_axes(product.result))


@dataclass
class DropUnitDimsPattern(RewritePattern):
    """
    Drop the unit axes that a reshape adds to an operand, and add them to the result.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.from_operation(op)) is None:
            return
        dropped = _removable_unit_iterators(product, 0) | _removable_unit_iterators(
            product, 1
        )
        if not dropped:
            return
        builder = Builder(InsertPoint.before(op))
        contract = builder.insert(
            _drop_unit_iterators(product, dropped, builder).build_contract()
        )
        shape = tensor_type(op.results[0]).get_shape()
        mnemonic = op.name.removeprefix("graph.")
        text = f"{mnemonic} is without axes of extent 1"
        graph.add_remark(op, "graph-fold-transposes", "passed", text)
        rewriter.replace(op, graph.ReshapeOp(contract, shape))
