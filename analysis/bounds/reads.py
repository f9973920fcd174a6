"""Parts of the operands that elements of a result need for certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tlf.analysis.bounds.barriers import FOLLOWED
from tlf.analysis.bounds.dataflow import Dataflow, elements_of, is_tensor
from tlf.analysis.bounds.needs import taps_used
from tlf.analysis.bounds.runs import (
    ONE,
    Box,
    Run,
    any_element,
    reached_box,
    reshaped_box,
)
from tlf.dialects.graph.movement import reshape_groups
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    IteratorKind,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.types import tensor_type
from tlf.support.affine.access import Accesses


@dataclass
class Reads:
    """
    Reads by operations of their operands under any schedule.

    An elementwise operation needs no sum or maximum that is broadcast to it, such as
    the statistics of a normalization: what it computes may be corrected later, as an
    online softmax does.
    """

    flow: Dataflow
    _known: dict[tuple[ReferenceInterface, int, Box], tuple[Box | None, ...]] = field(
        default_factory=dict[
            tuple[ReferenceInterface, int, Box], tuple[Box | None, ...]
        ]
    )
    _statistics: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])

    def of(
        self, op: ReferenceInterface, number: int, box: Box
    ) -> tuple[Box | None, ...]:
        """
        A box of each operand that a box of a result needs, wherever it is; None where
        it may need nothing.
        """
        key = (op, number, box)
        if key not in self._known:
            self._known[key] = self._found(op, number, box)
        return self._known[key]

    def needs(self, op: ReferenceInterface, position: int) -> bool:
        """
        Return `True` if every element of all results needs an element of the operand.
        """
        return bool(op.results) and all(
            self.of(op, number, any_element(shape_of(result)))[position] is not None
            for number, result in enumerate(op.results)
        )

    def _found(
        self, op: ReferenceInterface, number: int, box: Box
    ) -> tuple[Box | None, ...]:
        operands = self.flow.operands(op)
        if isinstance(op, ViewInterface):
            shape, source = shape_of(op.results[0]), shape_of(operands[0])
            groups = [(g.source, g.result) for g in reshape_groups(source, shape)]
            return (reshaped_box(groups, box, shape, source),)
        runs = iterations_of(op, number, box)
        if runs is None or not isinstance(op, TilingInterface):
            return (None,) * len(operands)
        extents = [each.extent for each in op.iterators()]
        needed = [
            None
            if accesses is None or self.is_corrected(op, operand)
            else reached_box(accesses, runs, extents, shape_of(operand))
            for operand, accesses in zip(operands, op.operand_accesses(), strict=True)
        ]
        if isinstance(op, ContractionInterface):
            weights, counts = op.operand_accesses()[1] or (), [r.length for r in runs]
            used = [
                run if run.length == count else Run(count)
                for run, count in zip(runs, taps_used(op, counts, extents), strict=True)
            ]
            needed[1] = reached_box(weights, used, extents, shape_of(op.operands[1]))
        return tuple(needed)

    def is_corrected(self, op: TilingInterface, operand: SSAValue) -> bool:
        """
        Return `True` if an operand is a statistic of many elements, broadcast to the
        result.
        """
        return (
            isinstance(op, ElementwiseInterface | MovementInterface)
            and elements_of(operand) < elements_of(op.results[0])
            and self._is_statistic(operand)
        )

    def _is_statistic(self, value: SSAValue) -> bool:
        """
        Return `True` if a value comes from a sum or maximum, with no product after it.
        """
        if value not in self._statistics:
            owner = value.owner
            self._statistics[value] = (
                any(map(self._is_statistic, self.flow.operands(owner)))
                if isinstance(owner, ElementwiseInterface | MovementInterface)
                else isinstance(owner, AccumulatingInterface)
                and not isinstance(owner, ContractionInterface)
            )
        return self._statistics[value]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor; nothing for what is none."""
    return tensor_type(value).get_shape() if is_tensor(value) else ()


def iterations_of(
    op: ReferenceInterface, number: int, box: Box
) -> Sequence[Run] | None:
    """
    The iterations that a box of a result needs, by iterator; None where they are not
    known. A sum needs all of its terms.
    """
    if not isinstance(op, FOLLOWED):
        return None
    iterators = op.iterators()
    runs = [
        Run(each.extent) if each.kind is IteratorKind.REDUCTION else ONE
        for each in iterators
    ]
    written: Accesses = op.result_accesses()[number]
    for access, run in zip(written, box, strict=True):
        if access.is_plain:
            runs[access.terms[0][0]] = run
        elif access.terms or access.width != 1:
            return None
    return runs
