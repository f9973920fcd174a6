"""
Operation bases of the `graph` dialect: contractions and reductions with an accumulator
type and an initial value.
"""

from __future__ import annotations

import abc

import numpy as np
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import IRDLOperation, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    default_accumulator_type,
    element_type_of_value,
    format_shape,
    promote_to_f32,
    round_to_type,
    shape_of,
)
from tlf.dialects.interfaces import AccumulatingInterface, Array
from tlf.dialects.types import dtype_of, is_float


class AccumulatorTypedOperation(IRDLOperation, abc.ABC):
    """
    Base of operations with an optional accumulator type `acc`.

    Values are accumulated in `acc` and rounded once to the element type of the result,
    which is the input type or `acc`. By default, 16-bit floats accumulate in f32, i8 in
    i32, and other elements in their own type.
    """

    acc = opt_prop_def(TypeAttribute)

    @property
    def default_accumulator_type(self) -> Attribute:
        """Accumulator type if `acc` is absent."""
        return default_accumulator_type(element_type_of_value(self.operands[0]))

    @property
    def accumulator_type(self) -> Attribute:
        """Element type of the accumulator."""
        return self.default_accumulator_type if self.acc is None else self.acc

    @property
    def reference_accumulator_dtype(self) -> np.dtype[np.generic]:
        """Dtype of the accumulator of the reference, never a 16-bit float."""
        return promote_to_f32(np.empty(0, dtype_of(self.accumulator_type))).dtype

    def verify_accumulator_types(self) -> None:
        """
        Raise `VerifyException` unless the accumulator type is the operand's element
        type or a wider one of its kind, and the result has one of both.
        """
        element, acc = element_type_of_value(self.operands[0]), self.accumulator_type
        if acc not in NUMBERS or is_float(acc) != is_float(element):
            raise VerifyException(f"expected an accumulator for {element}, got {acc}")
        widths = [dtype_of(each).itemsize for each in (element, acc)]
        if acc != element and widths[0] >= widths[1]:
            raise VerifyException(
                f"expected an accumulator no narrower than {element}, got {acc}"
            )
        result = element_type_of_value(self.results[0])
        if result not in (element, acc):
            either = " or ".join(dict.fromkeys((str(element), str(acc))))
            raise VerifyException(f"expected a result of {either}, got {result}")

    def combine_with_init(self, total: Array, *init: Array) -> Array:
        """
        Combine `total` with `init`, if present, and round to the result type.
        """
        with np.errstate(all="ignore"):
            for start in init:
                total = self.combine_partial_arrays(total, start.astype(total.dtype))
        return round_to_type(
            round_to_type(total, self.accumulator_type),
            element_type_of_value(self.results[0]),
        )

    def combine_partial_arrays(self, total: Array, partial: Array) -> Array:
        """Combine two partial results of one type."""
        return np.add(total, partial)


class AccumulatingOperation(AccumulatorTypedOperation, AccumulatingInterface, abc.ABC):
    """
    Base of accumulating operations that can be tiled, with an optional operand `init`
    that is combined with the total.
    """

    def verify_accumulator_types(self) -> None:
        """Check the accumulator type, the type of the result, and `init`."""
        super().verify_accumulator_types()
        self._verify_init()

    def _verify_init(self) -> None:
        """
        Raise `VerifyException` if `init` differs from the result in shape or element
        type.
        """
        if (init := self.init_value) is None:
            return
        result = self.results[0]
        if (shape_of(init), element_type_of_value(init)) != (
            shape_of(result),
            element_type_of_value(result),
        ):
            raise VerifyException(
                "expected an init like the result, "
                f"{format_shape(shape_of(result))} of {element_type_of_value(result)}, "
                f"got {format_shape(shape_of(init))} of {element_type_of_value(init)}"
            )
