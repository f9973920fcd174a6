"""Operation `graph.reduce`: sum, product, maximum or minimum along axes."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from enum import auto
from typing import TypeAlias

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i1, i64
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.graph.accumulating_operation import AccumulatingOperation
from tlf.dialects.graph.canonicalizable import SimplifiableOperation
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    shape_of,
    to_integers_attribute,
    verify_axes,
    verify_shape,
)
from tlf.dialects.interfaces import (
    Array,
    LoopDim,
    ReductionInterface,
    Scalar,
    parallel_dim,
    reduction_dim,
)
from tlf.dialects.keyword_params import parse_keyword_param
from tlf.dialects.types import dtype_of, is_float
from tlf.support.affine.index_access import Accesses, IndexAccess, identity_accesses

Combine: TypeAlias = (
    arith.FloatingPointLikeBinaryOperation | arith.SignlessIntegerBinaryOperation
)
"""Scalar operation that combines two numbers."""


class ReduceKind(StrEnum):
    """Combining operation of a reduction: sum, maximum, minimum or product."""

    SUM = auto()
    MAX = auto()
    MIN = auto()
    PROD = auto()


_COMBINE: Mapping[ReduceKind, np.ufunc] = {
    ReduceKind.SUM: np.add,
    ReduceKind.MAX: np.maximum,
    ReduceKind.MIN: np.minimum,
    ReduceKind.PROD: np.multiply,
}

_SCALAR: Mapping[ReduceKind, tuple[type[Combine], type[Combine]]] = {
    ReduceKind.SUM: (arith.AddfOp, arith.AddiOp),
    ReduceKind.MAX: (arith.MaximumfOp, arith.MaxSIOp),
    ReduceKind.MIN: (arith.MinimumfOp, arith.MinSIOp),
    ReduceKind.PROD: (arith.MulfOp, arith.MuliOp),
}
"""Scalar combining operations of floats and of integers, by reduction kind."""


def neutral_element_of(kind: ReduceKind, element_type: Attribute) -> Scalar:
    """
    Return the neutral element of `kind` as a Python number: 0, 1, or for extremes the
    least or greatest value of `element_type`.
    """
    if kind in (ReduceKind.SUM, ReduceKind.PROD):
        return 0 if kind is ReduceKind.SUM else 1
    is_max = kind is ReduceKind.MAX
    if is_float(element_type):
        return -np.inf if is_max else np.inf
    limits = np.iinfo(dtype_of(element_type).name)
    return int(limits.min if is_max else limits.max)


def least_value_of_type(element_type: Attribute) -> Scalar:
    """Return the least value of an element type."""
    return 0 if element_type == i1 else neutral_element_of(ReduceKind.MAX, element_type)


def combine_scalars(
    kind: ReduceKind, builder: Builder, element: SSAValue, accumulator: SSAValue
) -> SSAValue:
    """Build the combination of two numbers of one type."""
    floats, integers = _SCALAR[kind]
    combine = floats if is_float(accumulator.type) else integers
    return builder.insert(combine(element, accumulator)).results[0]


class CombiningOperation(AccumulatingOperation, ReductionInterface, abc.ABC):
    """
    Base of reductions by a `ReduceKind`. Sums and products accumulate in `acc`; maxima
    and minima are exact, and accumulate in the element type of the operand by default.
    """

    operand = operand_def(GraphTensorConstraint(NUMBERS))
    init = opt_operand_def(GraphTensorConstraint(NUMBERS))
    result = result_def(GraphTensorConstraint(NUMBERS))

    traits = traits_def(Pure())

    @property
    @abc.abstractmethod
    def reduce_kind(self) -> ReduceKind:
        """Combining operation of the elements."""

    @property
    def init_value(self) -> SSAValue | None:
        return self.init

    @property
    def is_exact(self) -> bool:
        """True if combining never rounds."""
        return self.reduce_kind in (ReduceKind.MAX, ReduceKind.MIN)

    @property
    def default_accumulator_type(self) -> Attribute:
        if self.is_exact:
            return element_type_of_value(self.operand)
        return super().default_accumulator_type

    def neutral_element(self) -> Scalar:
        return neutral_element_of(self.reduce_kind, self.accumulator_type)

    def build_combination_of_scalars(
        self, builder: Builder, element: SSAValue, accumulator: SSAValue
    ) -> SSAValue:
        return combine_scalars(self.reduce_kind, builder, element, accumulator)

    def reduce_array(self, value: Array, axes: Sequence[int], keepdims: bool) -> Array:
        """
        Return the reduction of a numpy array along `axes` by the kind of the operation.
        """
        combine = _COMBINE[self.reduce_kind]
        with np.errstate(all="ignore"):
            total = combine.reduce(value, axis=tuple(axes), keepdims=keepdims)
        return np.asarray(total)

    def combine_partial_arrays(self, total: Array, partial: Array) -> Array:
        return _COMBINE[self.reduce_kind](total, partial)

    def linear_operands(self) -> tuple[int, ...]:
        return (0,) if self.reduce_kind is ReduceKind.SUM else ()


@irdl_attr_definition
class ReduceKindAttr(Data[ReduceKind]):
    """
    Combining operation of a reduction: `sum`, `max`, `min` or `prod`.

    ```mlir
    #graph.reduce_kind<sum>
    ```
    """

    name = "graph.reduce_kind"

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ReduceKind:
        return parse_keyword_param(parser, ReduceKind)


def reduced_shape(
    shape: Sequence[int], axes: Sequence[int], keepdims: bool
) -> tuple[int, ...]:
    """Return the shape of a reduction of `shape` along `axes`."""
    if keepdims:
        return tuple(1 if axis in axes else each for axis, each in enumerate(shape))
    return tuple(each for axis, each in enumerate(shape) if axis not in axes)


def reduction_result_accesses(
    rank: int, axes: Sequence[int], keepdims: bool
) -> Accesses:
    """Return the accesses to the result; iterator `i` is axis `i` of the operand."""
    return tuple(
        IndexAccess() if axis in axes else IndexAccess.of_iterator(axis)
        for axis in range(rank)
        if keepdims or axis not in axes
    )


@irdl_op_definition
class ReduceOp(CombiningOperation, SimplifiableOperation):
    """
    Sum (`sum`), product (`prod`), maximum (`max`) or minimum (`min`) along axes,
    combined with `init` if present. Maxima and minima are NaN if any element is NaN.
    Sums and products accumulate in `acc`; maxima and minima are exact, and accumulate
    in the element type of the operand by default.

    ```mlir
    %y = graph.reduce %x <sum> axes [1] keepdims acc f32
        : (tensor<4x8xbf16>) -> tensor<4x1xbf16>
    ```
    """

    name = "graph.reduce"

    kind = prop_def(ReduceKindAttr)
    axes = prop_def(DenseArrayBase.constr(i64))
    keepdims = opt_prop_def(UnitAttr)

    assembly_format = (
        "$operand $kind (`init` $init^)? `axes` $axes (`keepdims` $keepdims^)?"
        " (`acc` $acc^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        kind: ReduceKind | str,
        axes: Sequence[int],
        keepdims: bool = False,
        init: SSAValue | Operation | None = None,
        acc: Attribute | None = None,
        element: Attribute | None = None,
    ):
        value = SSAValue.get(operand)
        shape = reduced_shape(shape_of(value), axes, keepdims)
        result_element = element_type_of_value(value) if element is None else element
        type_ = (
            infer_result_type([value], shape, result_element)
            if init is None
            else SSAValue.get(init).type
        )
        super().__init__(
            operands=[value, init],
            properties={
                "kind": ReduceKindAttr(ReduceKind(kind)),
                "axes": to_integers_attribute(axes),
                "keepdims": UnitAttr() if keepdims else None,
                "acc": acc,
            },
            result_types=[type_],
        )

    @property
    def reduce_kind(self) -> ReduceKind:
        return self.kind.data

    @property
    def axis_list(self) -> tuple[int, ...]:
        """Reduced axes."""
        return tuple(self.axes.get_values())

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        verify_axes(self.axis_list, len(shape))
        keepdims = self.keepdims is not None
        verify_shape(self.result, reduced_shape(shape, self.axis_list, keepdims))
        self.verify_accumulator_types()

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(
            (reduction_dim if axis in self.axis_list else parallel_dim)(extent)
            for axis, extent in enumerate(shape_of(self.operand))
        )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        accesses = (
            identity_accesses(len(shape_of(self.operand))),
            *self.result_indexing_maps(),
        )
        return accesses[: len(self.operands)]

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        rank = len(shape_of(self.operand))
        return (
            reduction_result_accesses(rank, self.axis_list, self.keepdims is not None),
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        value = operands[0].astype(self.reference_accumulator_dtype)
        total = self.reduce_array(value, self.axis_list, self.keepdims is not None)
        return (self.combine_with_init(total, *operands[1:]),)
