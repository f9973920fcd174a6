"""
Emission of Triton code for loads of windows: pointers and bounds conditions computed
from the digits of the row and the column of an element.

A digit that is constant in a tile, because the tile's offset is a multiple of its size,
is index arithmetic on scalars; other digits are vectors along one dim of the tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access_writer import (
    AccessWriter,
    broadcast_vector_along_dim,
    masked_load,
)
from tlf.lowering.mem_to_triton.element_types import shape_of
from tlf.lowering.mem_to_triton.index_expressions import IndexExpr
from tlf.support.affine.delinearized_access import DelinearizedAccess, Digit

ZERO = IndexExpr.of_constant(0)


def im2col_load_expression(access: AccessWriter, op: mem.Im2colOp) -> str:
    """
    Return the `tl.load` expression of a `mem.im2col`, masked if it may be out of
    bounds, with the shape of its tile.
    """
    return _WindowLoad(access, op).load_expression()


@dataclass(frozen=True)
class _DigitValue:
    """Value of a digit: a scalar, plus a vector along a dim of the tile if any."""

    scalar: IndexExpr
    vector: IndexExpr | None = None
    dim: int = 0


@dataclass(frozen=True)
class _WindowLoad:
    access: AccessWriter
    op: mem.Im2colOp

    @cached_property
    def window(self) -> DelinearizedAccess:
        """Accesses to the source over the digits."""
        return self.op.delinearized_access

    @cached_property
    def tile_shape(self) -> tuple[int, ...]:
        """Shape of the loaded value."""
        return shape_of(self.op.value)

    @cached_property
    def offsets(self) -> list[IndexExpr]:
        """Index of the tile's first element along each dim."""
        return self.access.index_expressions_of(self.op.mixed_offsets)

    @cached_property
    def digit_values(self) -> list[_DigitValue]:
        """Value of each digit in the tile."""
        return [self._value_of_digit(digit) for digit in self.window.digits]

    def load_expression(self) -> str:
        """Return the masked load from the pointers to all elements of the tile."""
        address, dims = self._pointer_expression()
        conditions = self._bounds_conditions()
        rank = range(len(self.tile_shape))
        if any(self.tile_shape[dim] > 1 and dim not in dims for dim in rank):
            address = f"tl.broadcast_to({address}, {list(self.tile_shape)})"
        elif not dims:
            address = f"tl.broadcast_to({address}, {list(self.tile_shape)})"
        if not conditions:
            return f"tl.load({address})"
        return masked_load(self.op, address, " & ".join(conditions))

    def _value_of_digit(self, digit: Digit) -> _DigitValue:
        """Return the value of a digit for the tile's elements, as scalars if known."""
        dim, offset = digit.axis, self.offsets[digit.axis]
        size = self.tile_shape[dim]
        is_aligned = offset.divisor % size == 0
        if size == 1 or (is_aligned and digit.stride % size == 0):
            return _DigitValue(self._assign(self._digit_of(offset, digit)))
        period = digit.stride * digit.extent
        if is_aligned and digit.stride == 1 and digit.extent % size == 0:
            start = self._assign(self._digit_of(offset, digit))
            return _DigitValue(start, self._steps(dim), dim)
        if offset.divisor % period == 0 and size % period == 0:
            return _DigitValue(ZERO, self._digit_of(self._steps(dim), digit), dim)
        index = self._assign_vector(offset + self._steps(dim))
        value = self._digit_of(index, digit)
        return _DigitValue(ZERO, self._assign_vector(value), dim)

    @staticmethod
    def _digit_of(index: IndexExpr, digit: Digit) -> IndexExpr:
        quotient = index.floordiv(digit.stride)
        if digit.is_outermost:
            return quotient
        return quotient.modulo(digit.extent)

    def _steps(self, dim: int) -> IndexExpr:
        """Return the numbers of the tile's elements along a dim."""
        size = self.tile_shape[dim]
        name = self.access.source.assign_variable_once(
            "r", self.access.arange_expression(size)
        )
        return IndexExpr(name, 0, size - 1)

    def _assign(self, index: IndexExpr) -> IndexExpr:
        """Return an index as a variable, unless it is an atom or a constant."""
        if index.is_atom or index.constant is not None:
            return index
        return index.bind_to_variable(
            self.access.source.assign_variable_once("i", index.text)
        )

    def _assign_vector(self, index: IndexExpr) -> IndexExpr:
        """Return a vector of indices as a variable."""
        return index.bind_to_variable(
            self.access.source.assign_variable_once("r", index.text)
        )

    def _pointer_expression(self) -> tuple[str, set[int]]:
        """Return the pointers to the tile's elements, and the dims they vary along."""
        view = self.access.views[self.op.source]
        start = view.offset
        vectors: dict[int, IndexExpr] = {}
        for access, stride in zip(self.window.accesses, view.strides, strict=True):
            start += IndexExpr.of_constant(access.offset * stride)
            for dimension, factor in access.terms:
                value = self.digit_values[dimension]
                scale = IndexExpr.of_constant(factor * stride)
                start += value.scalar * scale
                if value.vector is not None:
                    sum_ = vectors.get(value.dim, ZERO) + value.vector * scale
                    vectors[value.dim] = sum_
        reach = [start, *vectors.values()]
        self.access.record_offset_magnitude(
            sum(max(abs(each.low), abs(each.high)) for each in reach)
        )
        terms = [view.pointer]
        if start.constant != 0:
            terms.append(start.parenthesised_text)
        rank = len(self.tile_shape)
        for dim, vector in sorted(vectors.items()):
            name = self._assign_vector(vector).text
            terms.append(broadcast_vector_along_dim(name, dim, rank))
        return " + ".join(terms), set(vectors)

    def _bounds_conditions(self) -> list[str]:
        """Return the conditions that elements are within the value and the source."""
        conditions = [
            condition
            for dim in range(len(self.tile_shape))
            for condition in self._conditions_along_dim(dim)
        ]
        shape = self.access.views[self.op.source].shape
        for axis, extent in enumerate(shape):
            low, high = self.window.accesses[axis].index_bounds(
                self.window.domain_extents
            )
            if low >= 0 and high < extent:
                continue
            position = self._position_along_axis(axis)
            if low < 0:
                conditions.append(position.format(">= 0"))
            if high >= extent:
                conditions.append(position.format(f"< {extent}"))
        return list(dict.fromkeys(conditions))

    def _conditions_along_dim(self, dim: int) -> list[str]:
        """Return the conditions that elements along a dim are in the box and value."""
        size, valid = self.tile_shape[dim], self.op.box_sizes[dim]
        offset, extent = self.offsets[dim], self.window.shape[dim]
        if offset.high + size <= extent and valid == size:
            return []
        rank, steps = len(self.tile_shape), self._steps(dim)
        conditions: list[str] = []
        if valid < size and offset.low + valid < extent:
            conditions.append(f"({steps.text} < {valid})")
        if offset.high + valid > extent or offset.low + valid >= extent:
            index = self._assign_vector(offset + steps)
            conditions.append(f"({index.text} < {extent})")
        return [broadcast_vector_along_dim(each, dim, rank) for each in conditions]

    def _position_along_axis(self, axis: int) -> _Position:
        """Return the positions along an axis of the source, to compare with bounds."""
        access = self.window.accesses[axis]
        scalar = IndexExpr.of_constant(access.offset)
        vectors: dict[int, IndexExpr] = {}
        for dimension, factor in access.terms:
            value, scale = self.digit_values[dimension], IndexExpr.of_constant(factor)
            scalar += value.scalar * scale
            if value.vector is not None:
                sum_ = vectors.get(value.dim, ZERO) + value.vector * scale
                vectors[value.dim] = sum_
        rank = len(self.tile_shape)
        if not vectors:
            type_ = "tl.int64" if self.access.wide else "tl.int32"
            return _Position(f"tl.full({[1] * rank}, {scalar.text}, {type_})", "")
        if len(vectors) == 1:
            ((dim, vector),) = vectors.items()
            name = self._assign_vector(vector + scalar).text
            return _Position(name, _indices_along_dim(dim, rank))
        terms = [
            broadcast_vector_along_dim(self._assign_vector(vector).text, dim, rank)
            for dim, vector in sorted(vectors.items())
        ]
        if scalar.constant != 0:
            terms.append(scalar.parenthesised_text)
        return _Position(f"({' + '.join(terms)})", "")


@dataclass(frozen=True)
class _Position:
    """Text of positions, compared before they are broadcast by `indices`."""

    text: str
    indices: str

    def format(self, comparison: str) -> str:
        """Return the text of a comparison of all positions."""
        return f"({self.text} {comparison}){self.indices}"


def _indices_along_dim(dim: int, rank: int) -> str:
    """Return the subscript that broadcasts a vector along `dim`; empty for rank 1."""
    if rank == 1:
        return ""
    return f"[{', '.join(':' if axis == dim else 'None' for axis in range(rank))}]"
