"""The first elements of a tensor along an axis, computed from as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.postorder import in_postorder
from tlf.dialects.types import tensor_type
from tlf.passes.graph.pointwise import computed, is_pointwise
from tlf.passes.graph.product import Product


@dataclass
class Heads:
    """
    So many elements of tensors, or all, that are first along an axis. Tensors that
    broadcast along it stay as they are.
    """

    axis: int
    """The axis, counted from the last one, which is -1."""
    count: int
    builder: Builder
    _known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def of(self, value: SSAValue) -> SSAValue:
        """The first elements of a tensor."""
        return in_postorder(value, self._known, self._operands, self._of)

    def _operands(self, value: SSAValue) -> Sequence[SSAValue]:
        """The tensors whose first elements are what those of another need."""
        owner = self._elementwise(value)
        return () if owner is None else owner.operands

    def _elementwise(self, value: SSAValue) -> ElementwiseInterface | None:
        """
        Return the elementwise operation that computes the first elements of a longer
        tensor from first elements, or None.
        """
        owner = value.owner
        return owner if is_pointwise(owner) and self._is_longer(value) else None

    def _is_longer(self, value: SSAValue) -> bool:
        shape = tensor_type(value).get_shape()
        return len(shape) >= -self.axis and shape[self.axis] > self.count

    def _of(self, value: SSAValue) -> SSAValue:
        if not self._is_longer(value):
            return value
        if (elementwise := self._elementwise(value)) is not None:
            return self._computed(elementwise)
        owner = value.owner
        if isinstance(owner, Operation) and (product := Product.of(owner)) is not None:
            return self._multiplied(product)
        return self._sliced(value, self.axis)

    def _computed(self, op: ElementwiseInterface) -> SSAValue:
        operands = [self.of(each) for each in op.operands]
        shape = list(tensor_type(op.results[0]).get_shape())
        shape[self.axis] = self.count
        return computed(op, operands, shape, self.builder)

    def _multiplied(self, product: Product) -> SSAValue:
        iterator = product.result[self.axis]
        values = list(product.values)
        for side, axes in enumerate(product.axes):
            if iterator in axes:
                place = axes.index(iterator) - len(axes)
                values[side] = self._sliced(values[side], place)
        made = replace(product, values=(values[0], values[1])).build()
        return self.builder.insert(made).result

    def _sliced(self, value: SSAValue, axis: int) -> SSAValue:
        sizes = list(tensor_type(value).get_shape())
        sizes[axis] = self.count
        made = graph.SliceOp(value, [0] * len(sizes), sizes)
        return self.builder.insert(made).result
