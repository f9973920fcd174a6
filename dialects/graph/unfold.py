"""Gathering elements by an affine map, as windows do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AffineMapAttr, ShapedType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.filled import FilledOperation
from tlf.dialects.graph.tensors import element_of, result_type, shape_of
from tlf.dialects.interfaces import Array, Scalar, indexing_map
from tlf.dialects.types import scalar_attribute
from tlf.support.affine import linear_map
from tlf.support.affine.access import Access, Accesses


def accesses_of(map_: AffineMap) -> Accesses:
    """The accesses that a linear map describes."""
    found: list[Access] = []
    for linear in linear_map.accesses(map_):
        terms = (
            (axis, factor) for axis, factor in enumerate(linear.coefficients) if factor
        )
        found.append(Access(tuple(terms), linear.constant))
    return tuple(found)


def _from_start(access: Access, shape: Sequence[int]) -> Access:
    """The access where a tile starts with the least index that is touched."""
    least = sum(min(0, factor) * (shape[axis] - 1) for axis, factor in access.terms)
    return Access(access.terms, -least)


@irdl_op_definition
class UnfoldOp(FilledOperation):
    """
    Gather: the element of the result at p is that of the operand at `map(p)`, or `fill`
    where that lies outside. The map is linear.

    ```mlir
    %y = graph.unfold %x map affine_map<(n, c, kh, kw, oh, ow)
        -> (n, c, oh * 2 + kh - 1, ow * 2 + kw - 1)> fill 0.0
        : (tensor<1x8x9x9xf32>) -> tensor<1x8x3x3x5x5xf32>
    ```
    """

    name = "graph.unfold"

    map = prop_def(AffineMapAttr)

    def __init__(
        self,
        operand: SSAValue | Operation,
        map_: AffineMap,
        shape: Sequence[int],
        fill: Scalar = 0,
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            properties={
                "map": AffineMapAttr(map_),
                "fill": scalar_attribute(fill, element_of(value)),
            },
            result_types=[result_type([value], shape, element_of(value))],
        )

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        parser.parse_keyword("map")
        position = parser.pos
        map_ = parser.parse_attribute()
        if not isinstance(map_, AffineMapAttr):
            parser.raise_error(f"expected a map, got {map_}", position)
        return {"map": map_}

    def print_options(self, printer: Printer) -> None:
        printer.print_string(" map ")
        printer.print_attribute(self.map)

    def verify_(self) -> None:
        self.verify_fill()
        map_ = self.map.data
        ranks = len(shape_of(self.result)), len(shape_of(self.operand))
        if map_.num_symbols or (map_.num_dims, len(map_.results)) != ranks:
            raise VerifyException(
                f"expected a map from {ranks[0]} to {ranks[1]} axes, got {map_}"
            )
        accesses_of(map_)

    def operand_accesses(self) -> tuple[Accesses, ...]:
        return (accesses_of(self.map.data),)

    def border(self, operand: int) -> Scalar | None:
        return self.number if self._reaches_out() else None

    def _reaches_out(self) -> bool:
        """Return `True` if some element of the result lies outside of the operand."""
        extents = shape_of(self.result)
        for linear, extent in zip(
            linear_map.accesses(self.map.data), shape_of(self.operand), strict=True
        ):
            least, greatest = linear.bounds(extents)
            if least < 0 or greatest >= extent:
                return True
        return False

    def is_identity(self) -> bool:
        return linear_map.is_identity(self.map.data) and super().is_identity()

    def tiled(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        (made,) = result_types
        assert isinstance(made, ShapedType)
        shape = made.get_shape()
        accesses = accesses_of(self.map.data)
        moved = tuple(_from_start(access, shape) for access in accesses)
        return UnfoldOp.create(
            operands=operands,
            result_types=result_types,
            properties={
                "map": indexing_map(moved, self.map.data.num_dims),
                "fill": self.fill,
            },
            attributes=dict(self.attributes),
        )

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        (array,) = operands
        shape = shape_of(self.result)
        inside = np.ones(shape, np.bool_)
        places: list[NDArray[np.intp]] = []
        for access, extent in zip(self.operand_accesses()[0], array.shape, strict=True):
            place = np.full((1,) * len(shape), access.offset, np.intp)
            for axis, factor in access.terms:
                ones = [1] * (len(shape) - axis - 1)
                place = place + np.arange(shape[axis]).reshape(-1, *ones) * factor
            inside &= (place >= 0) & (place < extent)
            places.append(np.clip(place, 0, extent - 1))
        found = np.broadcast_to(array[tuple(places)], shape)
        return (np.where(inside, found, self.filled(shape)),)
