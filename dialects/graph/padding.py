"""Operation `graph.pad`: padding with a constant."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.filled_movement import FilledMovementOperation
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    infer_result_type,
    parse_integers,
    print_integers,
    shape_of,
    to_integers_attribute,
    verify_shape,
)
from tlf.dialects.interfaces import Array, Scalar
from tlf.dialects.types import scalar_attribute
from tlf.support.affine.index_access import Accesses, IndexAccess


def padded_shape(
    shape: Sequence[int], low_counts: Sequence[int], high_counts: Sequence[int]
) -> tuple[int, ...]:
    """
    Return the shape of a tensor padded with `low_counts` and `high_counts` elements per
    axis.
    """
    for what, counts in (("low", low_counts), ("high", high_counts)):
        if len(counts) != len(shape) or any(count < 0 for count in counts):
            raise VerifyException(
                f"expected {len(shape)} numbers of at least 0 for {what}, "
                f"got {list(counts)}"
            )
    return tuple(map(sum, zip(low_counts, shape, high_counts, strict=True)))


@irdl_op_definition
class PadOp(FilledMovementOperation):
    """
    Padding with a constant: along each axis, `low` elements before the first and `high`
    elements after the last are `fill`.

    ```mlir
    %y = graph.pad %x low [0, 1] high [2, 0] fill 0.0
        : (tensor<4x8xf32>) -> tensor<6x9xf32>
    ```
    """

    name = "graph.pad"

    low = prop_def(DenseArrayBase.constr(i64))
    high = prop_def(DenseArrayBase.constr(i64))

    def __init__(
        self,
        operand: SSAValue | Operation,
        low: Sequence[int],
        high: Sequence[int],
        fill: Scalar = 0,
    ):
        value = SSAValue.get(operand)
        shape = padded_shape(shape_of(value), low, high)
        super().__init__(
            operands=[value],
            properties={
                "low": to_integers_attribute(low),
                "high": to_integers_attribute(high),
                "fill": scalar_attribute(fill, element_type_of_value(value)),
            },
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        parser.parse_keyword("low")
        low = parse_integers(parser)
        parser.parse_keyword("high")
        return {"low": low, "high": parse_integers(parser)}

    def print_options(self, printer: Printer) -> None:
        printer.print_string(" low ")
        print_integers(printer, self.low)
        printer.print_string(" high ")
        print_integers(printer, self.high)

    @property
    def low_counts(self) -> tuple[int, ...]:
        """Number of padding elements before the first element of each axis."""
        return tuple(self.low.get_values())

    @property
    def high_counts(self) -> tuple[int, ...]:
        """Number of padding elements after the last element of each axis."""
        return tuple(self.high.get_values())

    def verify_(self) -> None:
        self.verify_fill_element_type()
        shape = shape_of(self.operand)
        verify_shape(
            self.result, padded_shape(shape, self.low_counts, self.high_counts)
        )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return (
            tuple(
                IndexAccess(((axis, 1),), offset=-count)
                for axis, count in enumerate(self.low_counts)
            ),
        )

    def padding_value(self, operand_index: int) -> Scalar | None:
        is_padded = any(self.low_counts) or any(self.high_counts)
        return self.fill_value if is_padded else None

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        zeros = to_integers_attribute([0] * len(self.low_counts))
        return PadOp.create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties) | {"low": zeros, "high": zeros},
            attributes=dict(self.attributes),
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        result = self.make_filled_array(shape_of(self.result))
        inside = tuple(
            slice(low, low + extent)
            for low, extent in zip(self.low_counts, operands[0].shape, strict=True)
        )
        result[inside] = operands[0]
        return (result,)
