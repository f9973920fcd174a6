"""
Analysis of operand reads: boxes of operands that elements of a result certainly need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import DataflowGraph, is_tensor
from tlf.analysis.bounds.reload_barriers import has_exact_accesses
from tlf.analysis.bounds.strided_runs import (
    SINGLE,
    RunBox,
    StridedRun,
    min_reached_box,
    reshape_run_box,
    single_element_box,
)
from tlf.analysis.bounds.tensor_demand import count_used_taps
from tlf.dialects.graph.movement import split_into_reshape_axis_groups
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    IteratorType,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.types import element_count_of, tensor_type
from tlf.support.affine.index_access import Accesses


@dataclass
class OperandReads:
    """
    Memoized analysis of the operand elements that operations need in any schedule.

    An elementwise operation does not count as needing a sum or maximum that is
    broadcast to it, such as the statistics of a normalization: its result may be
    corrected later, as in an online softmax.
    """

    dataflow: DataflowGraph
    _known: dict[tuple[ReferenceInterface, int, RunBox], tuple[RunBox | None, ...]] = (
        field(
            default_factory=dict[
                tuple[ReferenceInterface, int, RunBox], tuple[RunBox | None, ...]
            ]
        )
    )
    _statistics: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])

    def needed_operand_boxes_of(
        self, op: ReferenceInterface, result_index: int, box: RunBox
    ) -> tuple[RunBox | None, ...]:
        """
        Return a box of each operand that a box of a result needs, at any offset; None
        if it may need nothing.
        """
        key = (op, result_index, box)
        if key not in self._known:
            self._known[key] = self._compute_needed_operand_boxes(op, result_index, box)
        return self._known[key]

    def is_operand_always_needed(
        self, op: ReferenceInterface, operand_index: int
    ) -> bool:
        """
        Return `True` if every element of all results needs an element of the operand.
        """
        return bool(op.results) and all(
            self.needed_operand_boxes_of(
                op, index, single_element_box(tensor_shape_of(result))
            )[operand_index]
            is not None
            for index, result in enumerate(op.results)
        )

    def _compute_needed_operand_boxes(
        self, op: ReferenceInterface, result_index: int, box: RunBox
    ) -> tuple[RunBox | None, ...]:
        """
        Return the box of each operand that `box` of a result certainly reads, of
        filters only the used taps; None for operands if unknown.
        """
        operands = self.dataflow.operands_of(op)
        if isinstance(op, ViewInterface):
            shape, source = tensor_shape_of(op.results[0]), tensor_shape_of(operands[0])
            groups = [
                (g.source_axes, g.result_axes)
                for g in split_into_reshape_axis_groups(source, shape)
            ]
            return (reshape_run_box(groups, box, shape, source),)
        runs = needed_iterations_of(op, result_index, box)
        if runs is None or not isinstance(op, TilingInterface):
            return (None,) * len(operands)
        extents = [each.extent for each in op.iteration_domain()]
        needed = [
            None
            if accesses is None or self.is_broadcast_statistic(op, operand)
            else min_reached_box(accesses, runs, extents, tensor_shape_of(operand))
            for operand, accesses in zip(operands, op.indexing_maps(), strict=True)
        ]
        if isinstance(op, ContractionInterface):
            weights, counts = op.indexing_maps()[1] or (), [r.length for r in runs]
            used = [
                run if run.length == count else StridedRun(count)
                for run, count in zip(
                    runs, count_used_taps(op, counts, extents), strict=True
                )
            ]
            needed[1] = min_reached_box(
                weights, used, extents, tensor_shape_of(op.operands[1])
            )
        return tuple(needed)

    def is_broadcast_statistic(self, op: TilingInterface, operand: SSAValue) -> bool:
        """
        Return `True` if an operand is a statistic of many elements, broadcast to the
        result.
        """
        return (
            isinstance(op, ElementwiseInterface | MovementInterface)
            and element_count_of(operand) < element_count_of(op.results[0])
            and self._is_statistic(operand)
        )

    def _is_statistic(self, value: SSAValue) -> bool:
        """
        Return `True` if a value derives from a sum or maximum, without a subsequent
        product.
        """
        if value not in self._statistics:
            owner = value.owner
            self._statistics[value] = (
                any(map(self._is_statistic, self.dataflow.operands_of(owner)))
                if isinstance(owner, ElementwiseInterface | MovementInterface)
                else isinstance(owner, AccumulatingInterface)
                and not isinstance(owner, ContractionInterface)
            )
        return self._statistics[value]


def tensor_shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the shape of a tensor; empty for other values."""
    return tensor_type(value).get_shape() if is_tensor(value) else ()


def needed_iterations_of(
    op: ReferenceInterface, result_index: int, box: RunBox
) -> Sequence[StridedRun] | None:
    """
    Return the iterations that a box of a result needs, by iterator; None if they are
    unknown. A sum needs all of its terms.
    """
    if not has_exact_accesses(op):
        return None
    iterators = op.iteration_domain()
    runs = [
        StridedRun(each.extent) if each.kind is IteratorType.REDUCTION else SINGLE
        for each in iterators
    ]
    written: Accesses = op.result_indexing_maps()[result_index]
    for access, run in zip(written, box, strict=True):
        if access.is_loop_dim:
            runs[access.terms[0][0]] = run
        elif access.terms or access.width != 1:
            return None
    return runs
