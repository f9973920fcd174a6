"""Writing elements to places that indices name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import auto

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.checking import CheckedInterface, ValueCheck, index_check
from tlf.dialects.graph.choosing import ChoiceProgram, inside, with_axis
from tlf.dialects.graph.indexing import INDICES, TakeOp, verify_indices
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp, neutral_of
from tlf.dialects.graph.ruled import RuledOperation
from tlf.dialects.graph.tensors import (
    GraphTensor,
    element_of,
    result_type,
    rounded,
    shape_of,
    shape_text,
    verify_axes,
    verify_element,
    verify_same_elements,
    verify_shape,
    widened,
)
from tlf.dialects.indexed_write import IndexedWriteInterface
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.words import parse_word


class ScatterKind(StrEnum):
    """Combining operation of an update with the element at its index."""

    SET = auto()
    ADD = auto()
    MUL = auto()
    MAX = auto()
    MIN = auto()


def _second(_: Array, update: Array) -> Array:
    return update


_UPDATE: Mapping[ScatterKind, Callable[[Array, Array], Array]] = {
    ScatterKind.SET: _second,
    ScatterKind.ADD: np.add,
    ScatterKind.MUL: np.multiply,
    ScatterKind.MAX: np.maximum,
    ScatterKind.MIN: np.minimum,
}

_REDUCTION: Mapping[ScatterKind, ReduceKind] = {
    ScatterKind.ADD: ReduceKind.SUM,
    ScatterKind.MUL: ReduceKind.PROD,
    ScatterKind.MAX: ReduceKind.MAX,
    ScatterKind.MIN: ReduceKind.MIN,
}


@irdl_attr_definition
class ScatterKindAttr(Data[ScatterKind]):
    """
    Combining operation of an update with the element at its index.

    ```mlir
    #graph.scatter_kind<add>
    ```
    """

    name = "graph.scatter_kind"

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ScatterKind:
        return parse_word(parser, ScatterKind)


@irdl_op_definition
class ScatterOp(
    IRDLOperation,
    RuledOperation,
    DecompositionInterface,
    IndexedWriteInterface,
    CheckedInterface,
):
    """
    A tensor with updates. Each changes the element at its place, but along an axis at
    its index instead: it replaces the element (`set`; of several updates, the last
    along the axis does), is added to it (`add`), multiplied by it (`mul`), or combined
    to their maximum (`max`) or minimum (`min`), NaN where one of them is NaN. Updates
    whose index is negative, or not less than the extent of the axis, are dropped. There
    may be fewer updates than elements along the other axes, and one index for all of
    them. 16-bit floats are combined in f32, and rounded once.

    ```mlir
    %y = graph.scatter %x, %indices, %updates axis 1 <add>
        : (tensor<4x9xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x9xf32>
    ```
    """

    name = "graph.scatter"

    operand = operand_def(GraphTensor())
    indices = operand_def(GraphTensor(INDICES))
    updates = operand_def(GraphTensor())
    axis = prop_def(IntegerAttr.constr(i64))
    kind = prop_def(ScatterKindAttr)
    result = result_def(GraphTensor())

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `,` $indices `,` $updates `axis` $axis $kind attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        axis: int,
        kind: ScatterKind | str,
    ):
        values = [SSAValue.get(each) for each in (operand, indices, updates)]
        super().__init__(
            operands=values,
            properties={
                "axis": IntegerAttr(axis, i64),
                "kind": ScatterKindAttr(ScatterKind(kind)),
            },
            result_types=[
                result_type(values, shape_of(values[0]), element_of(values[0]))
            ],
        )

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        verify_indices(self.indices, shape, axis)
        self._verify_updates()
        verify_same_elements([self.operand, self.updates])
        verify_shape(self.result, shape)
        verify_element(self.result, element_of(self.operand))
        if self.kind.data is ScatterKind.ADD and element_of(self.operand) == i1:
            raise VerifyException("expected numbers to add, got i1")

    def value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        last = shape_of(self.operand)[self.axis.value.data] - 1
        return (index_check(self.indices, 0, last),)

    def _verify_updates(self) -> None:
        """Check that every update has an index, and a place along the other axes."""
        found, wanted = shape_of(self.updates), shape_of(self.indices)
        most = with_axis(shape_of(self.operand), self.axis.value.data, 0)
        fits = len(found) == len(wanted) and all(
            extent == count or (count == 1 and 0 < extent <= limit)
            for extent, count, limit in zip(found, wanted, most, strict=True)
        )
        if not fits:
            raise VerifyException(
                f"expected updates of shape {shape_text(wanted)}, "
                f"got {shape_text(found)}"
            )

    @property
    def written_axis(self) -> int:
        return self.axis.value.data

    @property
    def sums(self) -> bool | None:
        return {ScatterKind.SET: False, ScatterKind.ADD: True}.get(self.kind.data)

    def written_in(self, builder: Builder, element: Attribute) -> Sequence[SSAValue]:
        program, kind = ChoiceProgram(builder), self.kind.data
        start = program.cast(self.operand, element)
        updates = program.cast(self.updates, element)
        found = ScatterOp(start, self.indices, updates, self.written_axis, kind)
        return [program.finish(program.insert(found), self.result.type)]

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        array, indices, updates = operands
        indices = np.broadcast_to(indices, updates.shape)
        axis, combine = self.axis.value.data, _UPDATE[self.kind.data]
        total, updates = widened(array).copy(), widened(updates)
        extent = array.shape[axis]
        part = total[tuple(map(slice, with_axis(indices.shape, axis, extent)))]
        known = inside(indices, extent)
        places = np.where(known, indices, 0).astype(np.int64)
        with np.errstate(all="ignore"):
            for step in range(indices.shape[axis]):
                now = (slice(None),) * axis + (slice(step, step + 1),)
                old = np.take_along_axis(part, places[now], axis)
                new = np.where(known[now], combine(old, updates[now]), old)
                np.put_along_axis(part, places[now], new, axis)
        return (rounded(total, element_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """
        The axis of the indices comes behind that of the operand. Indices of whole
        slices are looked at once for each, and slices that replace others are taken.
        """
        program, axis = ChoiceProgram(builder), self.axis.value.data
        shape, count = shape_of(self.operand), shape_of(self.indices)[axis]
        start = program.numeric(self.operand)
        updates = self._grown(program, program.numeric(self.updates), 0)
        updates = program.spread(updates, axis)
        rows = self._indices_of_slices()
        indices = rows
        if indices is None:
            indices = self._grown(program, self._indices_of_all(program), -1)
        indices = program.spread(indices, axis)
        behind = len(shape) - axis
        places = program.positions(shape[axis], behind, element_of(indices))
        chosen = program.compare(indices, places, Relation.EQ)
        if self.kind.data is not ScatterKind.SET:
            total = self._combined(program, chosen, start, updates)
            return [program.finish(total, self.result.type)]
        steps = program.positions(count, behind - 1)
        last = program.insert(
            ReduceOp(
                program.select(chosen, steps, program.number(-1, i32)),
                ReduceKind.MAX,
                [axis + 1],
                keepdims=True,
            )
        )
        if rows is not None:
            names = program.insert(ReshapeOp(last, (shape[axis],)))
            found = program.numeric(program.insert(TakeOp(self.updates, names, axis)))
        else:
            chosen = program.compare(last, steps, Relation.EQ)
            found = program.pick(chosen, updates, axis + 1)
        last = program.insert(ReshapeOp(last, _without(shape_of(last), axis + 1)))
        known = program.compare(last, program.number(0, i32), Relation.GE)
        return [program.finish(program.select(known, found, start), self.result.type)]

    def _indices_of_slices(self) -> SSAValue | None:
        """The indices, where they name places of whole slices of the operand."""
        axis, shape = self.axis.value.data, shape_of(self.indices)
        wanted = with_axis(shape_of(self.operand), axis, shape[axis])
        is_whole = shape_of(self.updates) == wanted
        ones = with_axis((1,) * len(shape), axis, shape[axis])
        return self.indices if is_whole and shape == ones else None

    def _indices_of_all(self, program: ChoiceProgram) -> SSAValue:
        """One index for each update."""
        shape = shape_of(self.updates)
        if shape_of(self.indices) == shape:
            return self.indices
        return program.insert(BroadcastOp(self.indices, shape))

    def _grown(self, program: ChoiceProgram, value: SSAValue, fill: int) -> SSAValue:
        """The value, as large as the operand along the other axes."""
        shape, axis = shape_of(value), self.axis.value.data
        wanted = with_axis(shape_of(self.operand), axis, shape[axis])
        if shape == wanted:
            return value
        high = [most - extent for most, extent in zip(wanted, shape, strict=True)]
        return program.insert(PadOp(value, [0] * len(shape), high, fill))

    def _combined(
        self,
        program: ChoiceProgram,
        chosen: SSAValue,
        start: SSAValue,
        updates: SSAValue,
    ) -> SSAValue:
        """The start, combined with all updates that are chosen for each place."""
        kind, element = _REDUCTION[self.kind.data], element_of(updates)
        other = program.number(neutral_of(kind, element), element)
        chosen = program.select(chosen, updates, other)
        axis = self.axis.value.data + 1
        return program.insert(ReduceOp(chosen, kind, [axis], init=start))


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """The shape without an axis."""
    return (*shape[:axis], *shape[axis + 1 :])
