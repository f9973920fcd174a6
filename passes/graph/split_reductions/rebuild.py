"""Operations on parts of an axis."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import cast

from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.recurrence.axes import AxisClasses
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.pointwise import computed, is_pointwise
from tlf.passes.graph.product import Axes, Product
from tlf.passes.graph.split_reductions.parted import Parted, parted, spread
from tlf.support.affine.access import Accesses


class UnsplitError(Exception):
    """Something is not computed of parts."""


def is_known(op: Operation) -> bool:
    """Return `True` if an operation can be rebuilt on parts."""
    kinds = graph.ReduceOp | graph.BroadcastOp | graph.ReshapeOp | ContractionInterface
    return is_pointwise(op) or isinstance(op, kinds)


@dataclass
class Rebuild:
    """Builds operations on the parts of an axis that they run along."""

    axes: AxisClasses
    axis: Hashable
    """Representative of the class of the axis."""
    parts: int
    values: dict[SSAValue, Parted] = field(default_factory=dict[SSAValue, Parted])
    """
    Values built on parts, and those that they are built from, by the original values.
    """

    def iterator(self, op: TilingInterface) -> int | None:
        """The iterator that runs along the axis, if there is one."""
        match self.axes.iterators_in(op, self.axis):
            case []:
                return None
            case [one]:
                return one
            case _:
                raise UnsplitError

    def build(self, op: TilingInterface, place: int | None = None) -> Parted:
        """
        Build an operation on parts, in front of itself. What reduces the axis has a
        `place` for the parts in its result, if it is a contraction, and is not rounded.
        """
        if not is_known(op):
            raise UnsplitError
        builder = Builder(InsertPoint.before(op))
        match op:
            case graph.ReduceOp():
                operand = self._needed(op, 0, builder)
                made = self.reduced(op, operand, place is not None, builder)
            case ContractionInterface():
                made = self._product(op, place, builder)
            case graph.ReshapeOp():
                made = self._reshaped(op, builder)
            case _:
                made = self._computed(op, builder)
        self.values[op.results[0]] = made
        return made

    def operand(
        self, op: TilingInterface, place: int, builder: Builder
    ) -> Parted | None:
        """The parts of an operand; nothing where it is the same for all of them."""
        value = op.operands[place]
        if value in self.values:
            return self.values[value]
        accesses = self.axes.forms.of(op).operands[place]
        if (axis := self._axis_in(op, accesses)) is None:
            return None
        self.values[value] = parted(value, axis, self.parts, builder)
        return self.values[value]

    def _axis_in(self, op: TilingInterface, accesses: Accesses | None) -> int | None:
        """The axis of an operand that is in parts, if one is."""
        iterator = self.iterator(op)
        if iterator is None or accesses is None:
            return None
        used = [n for n, each in enumerate(accesses) if each.uses({iterator})]
        if not used:
            return None
        if len(used) > 1 or not accesses[used[0]].is_plain:
            raise UnsplitError
        return used[0]

    @staticmethod
    def reduced(
        op: graph.ReduceOp, operand: Parted, is_step: bool, builder: Builder
    ) -> Parted:
        """The parts of an operand, reduced as an operation does; a step not rounded."""
        reduced = [each + (each >= operand.axis) for each in op.axis_list]
        kept = op.keepdims is not None
        dropped = 0 if kept else sum(each < operand.axis for each in op.axis_list)
        made = graph.ReduceOp(
            operand.value,
            op.combination,
            reduced,
            kept,
            acc=op.properties.get("acc"),
            element=_element(op, is_step),
        )
        made.location = op.location
        return Parted(builder.insert(made).result, operand.axis - dropped)

    def _product(
        self, op: ContractionInterface, place: int | None, builder: Builder
    ) -> Parted:
        product, along = Product.of(op), self.iterator(op)
        if product is None or along is None or not product.is_whole():
            raise UnsplitError
        inner = len(op.iterators())
        values, sides = list(product.values), list(product.axes)
        for side, axes in enumerate(product.axes):
            operand = self.operand(op, side, builder)
            if (along in axes) != (operand is not None):
                raise UnsplitError
            if operand is not None:
                if operand.axis != axes.index(along):
                    raise UnsplitError
                values[side], sides[side] = operand.value, _with(axes, along, inner)
        if place is None:
            first = product.result.index(along)
            result = _with(product.result, along, inner)
        else:
            first = place
            result = (*product.result[:place], along, *product.result[place:])
        built = Product(
            op,
            cast(tuple[SSAValue, SSAValue], tuple(values)),
            cast(tuple[Axes, Axes], tuple(sides)),
            result,
        )
        made = built.build(_element(op, place is not None))
        return Parted(builder.insert(made).result, first)

    def _reshaped(self, op: graph.ReshapeOp, builder: Builder) -> Parted:
        """A reshape that does no more than add axes of extent 1, or drop them."""
        operand = self._needed(op, 0, builder)
        source, shape = (tensor_type(e).get_shape() for e in (op.operand, op.result))
        if _long(source) != _long(shape):
            raise UnsplitError
        before, along = _long(source[: operand.axis]), self.iterator(op) is not None
        axis = next(
            n
            for n in range(len(shape) + 1)
            if _long(shape[:n]) == before and not (along and shape[n] == 1)
        )
        inner = [shape[axis] // self.parts] if along else []
        wanted = (*shape[:axis], self.parts, *inner, *shape[axis + along :])
        return Parted(reshaped(operand.value, wanted, builder), axis)

    def _computed(self, op: TilingInterface, builder: Builder) -> Parted:
        places = range(len(op.operands))
        operands = [self.operand(op, place, builder) for place in places]
        along, shape = self.iterator(op), list(tensor_type(op.results[0]).get_shape())
        behind = [each.behind for each in operands if each is not None]
        if not behind:
            raise UnsplitError
        count = max(behind) if along is None else len(shape) - along
        values = [self._aligned(op, each, count, builder) for each in places]
        axis = len(shape) - count
        if along is not None:
            shape[axis] //= self.parts
        shape.insert(axis, self.parts)
        return Parted(computed(op, values, shape, builder), axis)

    def _aligned(
        self, op: TilingInterface, place: int, count: int, builder: Builder
    ) -> SSAValue:
        """An operand with so many axes behind those of its parts, if it has parts."""
        operand, value = self.operand(op, place, builder), op.operands[place]
        rank = len(tensor_type(value).get_shape())
        if operand is None:
            return value if rank <= count else spread(value, rank - count, builder)
        if operand.behind == count:
            return operand.value
        accesses = self.axes.forms.of(op).operands[place]
        if self._axis_in(op, accesses) is not None:
            raise UnsplitError
        first, *rest = (moved := operand.moved(max(rank - count, 0), builder)).shape
        if rank >= count:
            return moved.value
        ones = [1] * (count - rank)
        return reshaped(moved.value, [first, *ones, *rest], builder)

    def _needed(self, op: TilingInterface, place: int, builder: Builder) -> Parted:
        if (operand := self.operand(op, place, builder)) is None:
            raise UnsplitError
        return operand


def _element(op: AccumulatingInterface, is_step: bool) -> Attribute:
    own = tensor_type(op.results[0]).element_type
    return op.accumulator_type if is_step else own


def _with(axes: Axes, along: int, inner: int) -> Axes:
    """Axes with one more behind that which is in parts."""
    place = axes.index(along) + 1
    return (*axes[:place], inner, *axes[place:])


def _long(shape: tuple[int, ...]) -> list[int]:
    return [extent for extent in shape if extent != 1]
