"""Sums, maxima and means along axes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    UnitAttr,
    i64,
)
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

from tlf.dialects.access import Access, Accesses, identity
from tlf.dialects.graph.accumulation import AccumulatingOperation
from tlf.dialects.graph.tensors import (
    NUMBERS,
    GraphTensor,
    axes_attribute,
    element_of,
    result_type,
    shape_of,
    verify_axes,
    verify_shape,
)
from tlf.dialects.interfaces import (
    Array,
    Iterator,
    ReductionInterface,
    Scalar,
    parallel,
    reduction,
)
from tlf.dialects.types import dtype_of, is_float


class ReduceKind(StrEnum):
    """How a reduction combines elements."""

    SUM = auto()
    MAX = auto()


@irdl_attr_definition
class ReduceKindAttr(Data[ReduceKind]):
    """
    How a reduction combines elements.

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
        with parser.in_angle_brackets():
            return parser.parse_str_enum(ReduceKind)


def reduced_shape(
    shape: Sequence[int], axes: Sequence[int], keepdims: bool
) -> tuple[int, ...]:
    """The shape that remains of `shape`."""
    if keepdims:
        return tuple(1 if axis in axes else each for axis, each in enumerate(shape))
    return tuple(each for axis, each in enumerate(shape) if axis not in axes)


def reduced_accesses(rank: int, axes: Sequence[int], keepdims: bool) -> Accesses:
    """How the result is written when iterator `i` is axis `i` of the operand."""
    return tuple(
        Access() if axis in axes else Access.of(axis)
        for axis in range(rank)
        if keepdims or axis not in axes
    )


@irdl_op_definition
class ReduceOp(AccumulatingOperation, ReductionInterface):
    """
    Sum or maximum along axes, combined with `init` if there is one. The maximum of
    values with a NaN among them is NaN. Sums accumulate in `acc`; a maximum is exact in
    the type of its operand, which is its accumulator type unless another is named.

    ```mlir
    %y = graph.reduce %x <sum> axes [1] keepdims acc f32
        : (tensor<4x8xbf16>) -> tensor<4x1xbf16>
    ```
    """

    name = "graph.reduce"

    operand = operand_def(GraphTensor(NUMBERS))
    init = opt_operand_def(GraphTensor(NUMBERS))

    kind = prop_def(ReduceKindAttr)
    axes = prop_def(DenseArrayBase.constr(i64))
    keepdims = opt_prop_def(UnitAttr)

    result = result_def(GraphTensor(NUMBERS))

    traits = traits_def(Pure())

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
        wanted = element_of(value) if element is None else element
        type_ = (
            result_type([value], shape, wanted)
            if init is None
            else SSAValue.get(init).type
        )
        super().__init__(
            operands=[value, init],
            properties={
                "kind": ReduceKindAttr(ReduceKind(kind)),
                "axes": axes_attribute(axes),
                "keepdims": UnitAttr() if keepdims else None,
                "acc": acc,
            },
            result_types=[type_],
        )

    @property
    def init_value(self) -> SSAValue | None:
        return self.init

    @property
    def axis_list(self) -> tuple[int, ...]:
        """The axes that are reduced."""
        return tuple(self.axes.get_values())

    @property
    def is_max(self) -> bool:
        """Whether this is a maximum."""
        return self.kind.data is ReduceKind.MAX

    @property
    def default_accumulator(self) -> Attribute:
        return element_of(self.operand) if self.is_max else super().default_accumulator

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        verify_axes(self.axis_list, len(shape))
        kept = self.keepdims is not None
        verify_shape(self.result, reduced_shape(shape, self.axis_list, kept))
        self.verify_accumulation()

    def iterators(self) -> tuple[Iterator, ...]:
        return tuple(
            (reduction if axis in self.axis_list else parallel)(extent)
            for axis, extent in enumerate(shape_of(self.operand))
        )

    def operand_accesses(self) -> tuple[Accesses, ...]:
        accesses = (identity(len(shape_of(self.operand))), *self.result_accesses())
        return accesses[: len(self.operands)]

    def result_accesses(self) -> tuple[Accesses, ...]:
        rank = len(shape_of(self.operand))
        return (reduced_accesses(rank, self.axis_list, self.keepdims is not None),)

    def neutral(self) -> Scalar:
        if not self.is_max:
            return 0
        if is_float(self.accumulator_type):
            return -np.inf
        return int(np.iinfo(dtype_of(self.accumulator_type).name).min)

    def combine(self, builder: Builder, element: SSAValue, total: SSAValue) -> SSAValue:
        floats = is_float(total.type)
        if self.is_max:
            kind = arith.MaximumfOp if floats else arith.MaxSIOp
        else:
            kind = arith.AddfOp if floats else arith.AddiOp
        return builder.insert(kind(element, total)).results[0]

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        value = operands[0].astype(self.reference_dtype)
        combined = np.maximum if self.is_max else np.add
        kept = self.keepdims is not None
        with np.errstate(all="ignore"):
            total = combined.reduce(value, axis=self.axis_list, keepdims=kept)
        return (self.accumulated(np.asarray(total), *operands[1:]),)

    def merge(self, total: Array, start: Array) -> Array:
        return np.maximum(total, start) if self.is_max else np.add(total, start)

    def linear_in(self) -> tuple[int, ...]:
        return () if self.is_max else (0,)
