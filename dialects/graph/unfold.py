"""Operation `graph.unfold`: gather by an affine map (generalized im2col)."""

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

from tlf.dialects.graph.filled_movement import FilledMovementOperation, parse_map
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    infer_result_type,
    shape_of,
)
from tlf.dialects.interfaces import Array, Scalar, to_affine_map
from tlf.dialects.types import scalar_attribute
from tlf.support.affine.index_access import Accesses
from tlf.support.affine.linear_access import is_identity, linear_accesses_of_map


@irdl_op_definition
class UnfoldOp(FilledMovementOperation):
    """
    Gather by a linear map: element p of the result is element `map(p)` of the operand,
    and `fill` outside of the operand.

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
                "fill": scalar_attribute(fill, element_type_of_value(value)),
            },
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        return {"map": parse_map(parser)}

    def print_options(self, printer: Printer) -> None:
        printer.print_string(" map ")
        printer.print_attribute(self.map)

    def verify_(self) -> None:
        self.verify_fill_element_type()
        map_ = self.map.data
        ranks = len(shape_of(self.result)), len(shape_of(self.operand))
        if map_.num_symbols or (map_.num_dims, len(map_.results)) != ranks:
            raise VerifyException(
                f"expected a map from {ranks[0]} to {ranks[1]} axes, got {map_}"
            )
        linear_accesses_of_map(map_)

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return (linear_accesses_of_map(self.map.data),)

    def padding_value(self, operand_index: int) -> Scalar | None:
        return self.fill_value if self._has_out_of_bounds_reads() else None

    def _has_out_of_bounds_reads(self) -> bool:
        """
        Return `True` if an element of the result is read from outside of the operand.
        """
        extents = shape_of(self.result)
        accesses = linear_accesses_of_map(self.map.data)
        for access, extent in zip(accesses, shape_of(self.operand), strict=True):
            least, greatest = access.index_bounds(extents)
            if least < 0 or greatest >= extent:
                return True
        return False

    def is_identity(self) -> bool:
        return is_identity(self.map.data) and super().is_identity()

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        (type_,) = result_types
        assert isinstance(type_, ShapedType)
        shape = type_.get_shape()
        accesses = linear_accesses_of_map(self.map.data)
        rebased = tuple(access.rebase_to_origin(shape) for access in accesses)
        return UnfoldOp.create(
            operands=operands,
            result_types=result_types,
            properties={
                "map": to_affine_map(rebased, self.map.data.num_dims),
                "fill": self.fill,
            },
            attributes=dict(self.attributes),
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        (array,) = operands
        shape = shape_of(self.result)
        in_bounds = np.ones(shape, np.bool_)
        indices: list[NDArray[np.intp]] = []
        for access, extent in zip(self.indexing_maps()[0], array.shape, strict=True):
            index = np.full((1,) * len(shape), access.offset, np.intp)
            for axis, factor in access.terms:
                ones = [1] * (len(shape) - axis - 1)
                index = index + np.arange(shape[axis]).reshape(-1, *ones) * factor
            in_bounds &= (index >= 0) & (index < extent)
            indices.append(np.clip(index, 0, extent - 1))
        elements = np.broadcast_to(array[tuple(indices)], shape)
        return (np.where(in_bounds, elements, self.make_filled_array(shape)),)
