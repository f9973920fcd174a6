"""
Emission of Triton code for loads of windows: pointers and bounds conditions computed
from the digits of the row and the column of an element.

A digit that is constant in a tile, because the tile's offset is a multiple of its size,
is index arithmetic on scalars; other digits are vectors along one dim of the tile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from tlf.dialects import mem
from tlf.dialects.types import itemsize_of
from tlf.lowering.mem_to_triton.access_writer import (
    AccessWriter,
    broadcast_vector_along_dim,
    load_in_order,
)
from tlf.lowering.mem_to_triton.flat_axes import FlatAxes
from tlf.lowering.mem_to_triton.index_expressions import IndexExpr
from tlf.lowering.mem_to_triton.thread_order import DimStep, find_thread_order
from tlf.lowering.mem_to_triton.tile_sums import TileSum
from tlf.support.affine.delinearized_access import DelinearizedAccess, Digit

ZERO = IndexExpr.of_constant(0)


def im2col_load_expression(
    access: AccessWriter, op: mem.Im2colOp, axes: FlatAxes
) -> str:
    """
    Return the `tl.load` expression of a `mem.im2col`, masked if it may be out of
    bounds, as a tile with some axes.
    """
    return _WindowLoad(access, op, axes).load_expression()


@dataclass(frozen=True)
class _WindowLoad:
    access: AccessWriter
    op: mem.Im2colOp
    axes: FlatAxes

    @cached_property
    def window(self) -> DelinearizedAccess:
        """Accesses to the source over the digits."""
        return self.op.delinearized_access

    @cached_property
    def indices(self) -> list[TileSum]:
        """Index of the tile's elements along each dim of the value."""
        offsets = self.access.index_expressions_of(self.op.mixed_offsets)
        sizes = enumerate(zip(offsets, self.axes.shape, strict=True))
        return [
            TileSum(
                offset, {self.axes.axis_of(dim): self._steps(dim)} if size > 1 else {}
            )
            for dim, (offset, size) in sizes
        ]

    @cached_property
    def digits(self) -> list[TileSum]:
        """Value of each digit in the tile."""
        return [self._value_of_digit(digit) for digit in self.window.digits]

    def load_expression(self) -> str:
        """Return the masked load from the pointers to all elements of the tile."""
        address = self._pointer_expression()
        conditions = [
            *self._conditions_within_value(),
            *self._conditions_within_source(),
        ]
        mask = " & ".join(dict.fromkeys(conditions)) or None
        item = itemsize_of(self.op.value)
        order = find_thread_order(self.axes.extents, self._steps_in_memory(), item)
        return load_in_order(self.op, address, mask, self.axes, order)

    def _value_of_digit(self, digit: Digit) -> TileSum:
        """Return the value of a digit for the tile's elements, as a scalar if known."""
        dim, index = digit.axis, self.indices[digit.axis]
        size, offset, axis = self.axes.shape[dim], index.scalar, self.axes.axis_of(dim)
        is_aligned = offset.divisor % size == 0
        if size == 1 or (is_aligned and digit.stride % size == 0):
            return TileSum.of_scalar(self._assign(_digit_of_index(offset, digit)))
        if is_aligned and digit.stride == 1 and digit.extent % size == 0:
            start = self._assign(_digit_of_index(offset, digit))
            return TileSum(start, index.vectors)
        is_periodic = offset.divisor % (digit.stride * digit.extent) == 0
        along = index.vectors[axis] if is_periodic else self._vector_of_index(dim)
        value = _digit_of_index(along, digit)
        if value.constant is not None:
            return TileSum.of_scalar(value)
        return TileSum(ZERO, {axis: self._assign_vector(value)})

    def _steps(self, dim: int) -> IndexExpr:
        """Return the numbers of the tile's elements along a dim."""
        text = self.access.vector_along(self.axes, dim)
        return IndexExpr(text, 0, self.axes.shape[dim] - 1)

    def _vector_of_index(self, dim: int) -> IndexExpr:
        """Return the index of the tile's elements along a dim as a variable."""
        index = self.indices[dim]
        self.access.record_offset_magnitude(index.magnitude)
        return self._assign_vector(
            IndexExpr.of_sum(
                [(index.scalar, 1), (index.vectors[self.axes.axis_of(dim)], 1)]
            )
        )

    def _assign(self, index: IndexExpr) -> IndexExpr:
        """Return an index as a variable, unless it is an atom or a constant."""
        if index.is_atom or index.constant is not None:
            return index
        name = self.access.source.assign_variable_once("i", index.text)
        return index.bind_to_variable(name)

    def _assign_vector(self, index: IndexExpr) -> IndexExpr:
        """Return a vector of indices as a variable."""
        if index.is_atom:
            return index
        name = self.access.source.assign_variable_once("r", index.text)
        return index.bind_to_variable(name)

    def _pointer_expression(self) -> str:
        """Return the pointers to the tile's elements, of its shape."""
        view = self.access.views[self.op.source]
        pairs = zip(self.window.accesses, view.strides, strict=True)
        constant = sum(access.offset * stride for access, stride in pairs)
        # After the vectors, a constant becomes part of the instruction.
        last = constant if self.op.source in self.access.repeated_sources else 0
        starts = [view.offset, constant - last]
        terms = [
            *((TileSum.of_scalar(each), 1) for each in starts),
            *zip(self.digits, self._digit_strides(), strict=True),
        ]
        offset = TileSum.of_terms(terms).add_constant_to_vectors()
        self.access.record_offset_magnitude(offset.magnitude + abs(constant))
        texts = [view.pointer]
        if offset.scalar.constant != 0:
            texts.append(offset.scalar.parenthesised_text)
        texts += self._broadcast_vectors(offset.vectors)
        if last:
            texts.append(f"({last})")
        address = " + ".join(texts)
        shape = self.axes.extents
        varying = {axis for axis, size in enumerate(shape) if size > 1}
        if shape and (not offset.vectors or varying - set(offset.vectors)):
            return f"tl.broadcast_to({address}, {list(shape)})"
        return address

    def _digit_strides(self) -> list[int]:
        """Return the distance in memory of neighbouring values of each digit."""
        view = self.access.views[self.op.source]
        strides = [0] * len(self.digits)
        for access, stride in zip(self.window.accesses, view.strides, strict=True):
            for dimension, factor in access.terms:
                strides[dimension] += factor * stride
        return strides

    def _steps_in_memory(self) -> dict[int, DimStep]:
        """
        Return the steps along the tile's axes, which are those of the inner digits of
        their innermost dims.
        """
        steps: dict[int, DimStep] = {}
        innermost = {dim: axis for axis, dim in self.axes.innermost_dims().items()}
        for digit, stride in zip(
            self.window.digits, self._digit_strides(), strict=True
        ):
            if digit.axis in innermost and digit.stride == 1 and digit.extent > 1:
                size = self.axes.shape[digit.axis]
                run = size if digit.is_outermost else gcd(size, digit.extent)
                steps[innermost[digit.axis]] = DimStep(stride, run)
        return steps

    def _broadcast_vectors(self, vectors: Mapping[int, IndexExpr]) -> list[str]:
        """Return vectors as variables that are broadcast to the rank of the tile."""
        return [
            self._broadcast_vector(self._assign_vector(vector).text, axis)
            for axis, vector in vectors.items()
        ]

    def _broadcast_vector(self, text: str, axis: int) -> str:
        return broadcast_vector_along_dim(text, axis, len(self.axes.extents))

    def _conditions_within_value(self) -> list[str]:
        """Return the conditions that elements are in the loaded box and the value."""
        conditions: list[str] = []
        for dim, extent in enumerate(self.window.shape):
            size, valid = self.axes.shape[dim], self.op.box_sizes[dim]
            offset = self.indices[dim].scalar
            if valid < size and offset.low + valid < extent:
                steps = f"({self._steps(dim).text} < {valid})"
                conditions.append(self.access.broadcast_along(self.axes, dim, steps))
            is_beyond = offset.high + valid > extent
            if is_beyond or (valid < size and offset.low + valid >= extent):
                conditions += self._compare(self.indices[dim], [f"< {extent}"])
        return conditions

    def _conditions_within_source(self) -> list[str]:
        """Return the conditions that elements are read from inside of the source."""
        conditions: list[str] = []
        extents = self.window.domain_extents
        shape = self.access.views[self.op.source].shape
        for access, extent in zip(self.window.accesses, shape, strict=True):
            low, high = access.index_bounds(extents)
            comparisons = [">= 0"] if low < 0 else []
            if high >= extent:
                comparisons.append(f"< {extent}")
            if comparisons:
                terms = [(self.digits[each], factor) for each, factor in access.terms]
                start = TileSum.of_scalar(access.offset)
                position = TileSum.of_terms([*terms, (start, 1)])
                conditions += self._compare(position, comparisons)
        return conditions

    def _compare(self, index: TileSum, comparisons: Sequence[str]) -> list[str]:
        """Return comparisons of indices, made before they are broadcast if possible."""
        self.access.record_offset_magnitude(index.magnitude)
        scalar, rank = index.scalar, len(self.axes.extents)
        if not index.vectors:
            type_ = "tl.int64" if self.access.wide else "tl.int32"
            full = f"tl.full({[1] * rank}, {scalar.text}, {type_})"
            return [f"({full} {comparison})" for comparison in comparisons]
        (axis, vector), *others = index.vectors.items()
        start = IndexExpr.of_sum([(self._assign(scalar), 1), (vector, 1)])
        vectors = self._broadcast_vectors({axis: start, **dict(others)})
        if others:
            name = self.access.source.assign_variable_once("r", " + ".join(vectors))
            return [f"({name} {comparison})" for comparison in comparisons]
        name = self._assign_vector(start).text
        return [
            self._broadcast_vector(f"({name} {comparison})", axis)
            for comparison in comparisons
        ]


def _digit_of_index(index: IndexExpr, digit: Digit) -> IndexExpr:
    """Return a digit of a non-negative index."""
    quotient = index.floordiv(digit.stride)
    return quotient if digit.is_outermost else quotient.modulo(digit.extent)
