"""
Helper of the rewrite that distributes sums: building of the leading elements of tensors
along an axis from leading elements of operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.storage_attributes import STORED
from tlf.dialects.types import tensor_type
from tlf.dialects.value_postorder import compute_in_postorder
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise


@dataclass
class LeadingElements:
    """
    Builder of the first `count` elements of tensors along an axis. Tensors that
    broadcast along the axis are unchanged.
    """

    axis: int
    """The axis as a negative index: -1 is the last axis."""
    count: int
    builder: Builder
    _known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def build_leading_elements(self, value: SSAValue) -> SSAValue:
        """
        Build the first `count` elements of `value` along the axis; `value` if it has no
        more.
        """
        return compute_in_postorder(
            value,
            self._known,
            self._operands_of_elementwise_producer,
            self._slice_or_rebuild_producer,
        )

    def _operands_of_elementwise_producer(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the operands whose leading elements the leading elements depend on."""
        owner = self._elementwise_producer(value)
        return () if owner is None else owner.operands

    def _elementwise_producer(self, value: SSAValue) -> ElementwiseInterface | None:
        """
        Return the elementwise operation that computes a tensor of more than `count`
        elements along the axis, which is not stored, or None.
        """
        owner = value.owner
        if not is_pointwise(owner) or STORED in owner.attributes:
            return None
        return owner if self._is_longer_than_count(value) else None

    def _is_longer_than_count(self, value: SSAValue) -> bool:
        shape = tensor_type(value).get_shape()
        return len(shape) >= -self.axis and shape[self.axis] > self.count

    def _slice_or_rebuild_producer(self, value: SSAValue) -> SSAValue:
        """Return leading elements: `value`, its rebuilt producer, or a slice."""
        if not self._is_longer_than_count(value):
            return value
        if (elementwise := self._elementwise_producer(value)) is not None:
            return self._rebuild_elementwise_on_leading(elementwise)
        owner = value.owner
        if (
            isinstance(owner, Operation)
            and (product := Product.from_operation(owner)) is not None
        ):
            return self._rebuild_product_on_leading(product)
        return self._slice_leading_along_axis(value, self.axis)

    def _rebuild_elementwise_on_leading(self, op: ElementwiseInterface) -> SSAValue:
        """Build `op` on the leading elements of its operands along the axis."""
        operands = [self.build_leading_elements(each) for each in op.operands]
        shape = list(tensor_type(op.results[0]).get_shape())
        shape[self.axis] = self.count
        return rebuild_elementwise(op, operands, shape, self.builder)

    def _rebuild_product_on_leading(self, product: Product) -> SSAValue:
        """Build `product` on operands sliced to the leading result elements."""
        iterator = product.result[self.axis]
        values = list(product.values)
        for side, axes in enumerate(product.axes):
            if iterator in axes:
                axis = axes.index(iterator) - len(axes)
                values[side] = self._slice_leading_along_axis(values[side], axis)
        contract = replace(product, values=(values[0], values[1])).build_contract()
        return self.builder.insert(contract).result

    def _slice_leading_along_axis(self, value: SSAValue, axis: int) -> SSAValue:
        """Insert a slice of the first `count` elements of `value` along `axis`."""
        sizes = list(tensor_type(value).get_shape())
        sizes[axis] = self.count
        slice_ = graph.SliceOp(value, [0] * len(sizes), sizes)
        return self.builder.insert(slice_).result
