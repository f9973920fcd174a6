"""
Legality check of the pass `graph-collapse-dims`: pairs of adjacent axes that the values
of a group share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects.collapsing_interface import AxisCollapsingInterface
from tlf.dialects.interfaces import (
    ContractionInterface,
    DelinearizedReadInterface,
    IteratorType,
    PositionDependentInterface,
    TilingInterface,
)
from tlf.dialects.padding_interface import PaddingInterface
from tlf.dialects.types import tensor_type
from tlf.planner.settings.search_budgets import PARTITION
from tlf.support.affine.index_access import Accesses, IndexAccess


class _NotAPairError(Exception):
    """Error raised if the axes are not an adjacent pair in every value."""


class AxisPairs:
    """
    Two adjacent axes of a group's first result, propagated to its other values.
    """

    def __init__(self, members: GroupMembers) -> None:
        self.members = members
        self.axes: dict[SSAValue, int] = {}
        """First axis of the pair, for each value that has both axes."""
        self.iterators: dict[TilingInterface, tuple[int, int]] = {}
        """Iterators along the two axes, for each operation that has them."""

    @staticmethod
    def propagate_from_axis(members: GroupMembers, axis: int) -> AxisPairs | None:
        """
        Propagate the axis pair that starts at `axis` through a group; None if it is not
        an adjacent pair in some value.
        """
        pairs = AxisPairs(members)
        pairs.axes[members.results[0]] = axis
        try:
            while pairs._propagate_to_next_operation():
                pass
        except _NotAPairError:
            return None
        return pairs

    def has_fewer_matrix_engine_passes(self, array: SystolicArray) -> bool:
        """
        Return `True` if a contraction takes fewer passes of the matrix engine with the
        axes collapsed.
        """
        for op, iterators in self.iterators.items():
            if not isinstance(op, ContractionInterface):
                continue
            form = self.members.op_facts.facts_of(op)
            roles = {form.iterator_roles[each] for each in iterators}
            if len(roles) == 1 and roles <= {"m", "n"}:
                rows, row = (form.extents[each] for each in iterators)
                if any(
                    _has_fewer_passes_collapsed(rows, row, side)
                    for side in (array.rows, array.cols)
                ):
                    return True
        return False

    def _propagate_to_next_operation(self) -> bool:
        """Propagate the axes to an operation; return `False` if none remains."""
        for op in self.members.operations:
            if op in self.iterators:
                continue
            values = list(self._values_with_accesses_of(op))
            resolved = [each for each in values if each[0] in self.axes]
            if resolved:
                self._propagate_through_operation(op, *resolved[0], values)
                return True
        return False

    def _values_with_accesses_of(
        self, op: TilingInterface
    ) -> Iterator[tuple[SSAValue, Accesses]]:
        """Yield the results and indexed operands of `op` with their accesses."""
        form = self.members.op_facts.facts_of(op)
        yield from zip(op.results, op.result_indexing_maps(), strict=True)
        for operand, accesses in zip(op.operands, form.indexing_maps, strict=True):
            if accesses is not None:
                yield operand, accesses

    def _propagate_through_operation(
        self,
        op: TilingInterface,
        value: SSAValue,
        accesses: Accesses,
        values: Sequence[tuple[SSAValue, Accesses]],
    ) -> None:
        """Derive the axes of all values of an operation from those of `value`."""
        if isinstance(
            op, PositionDependentInterface | DelinearizedReadInterface
        ) and not isinstance(op, AxisCollapsingInterface):
            raise _NotAPairError
        axis = self.axes[value]
        rows, row = (_single_iterator_of(each) for each in accesses[axis : axis + 2])
        _require_parallel_tileable_iterators(
            self.members.op_facts.facts_of(op), rows, row
        )
        self.iterators[op] = rows, row
        for other, other_accesses in values:
            other_axis = _first_axis_of_pair(op, other, other_accesses, rows, row)
            if (
                other_axis is not None
                and self.axes.setdefault(other, other_axis) != other_axis
            ):
                raise _NotAPairError
            if other_axis is None and other in self.axes:
                raise _NotAPairError


def _has_fewer_passes_collapsed(
    row_count: int, row_extent: int, array_extent: int
) -> bool:
    """
    Return `True` if collapsed rows take fewer passes than tiles of whole rows.
    """
    max_rows = max(1, PARTITION.collapsed_array_passes * array_extent // row_extent)
    uncollapsed = min(
        -(-row_count // count) * -(-count * row_extent // array_extent)
        for count in range(1, max_rows + 1)
    )
    return -(-row_count * row_extent // array_extent) < uncollapsed


def _single_iterator_of(access: IndexAccess) -> int:
    """Return the iterator that an access is equal to, up to its offset."""
    if len(access.terms) != 1 or access.terms[0][1] != 1:
        raise _NotAPairError
    return access.terms[0][0]


def _require_parallel_tileable_iterators(facts: OpFacts, *found: int) -> None:
    """Raise `_NotAPairError` unless all iterators are parallel and tileable."""
    for each in found:
        if facts.iteration_domain[each].kind is not IteratorType.PARALLEL:
            raise _NotAPairError
        if each in facts.untileable_dims:
            raise _NotAPairError


def _first_axis_of_pair(
    op: TilingInterface,
    value: SSAValue,
    accesses: Accesses,
    outer_iterator: int,
    inner_iterator: int,
) -> int | None:
    """
    Return the first of the two axes of a value along which the iterators run; None if
    the value has neither. Raises `_NotAPairError` for other accesses.
    """
    used = [
        axis
        for axis, each in enumerate(accesses)
        if each.depends_on({outer_iterator, inner_iterator})
    ]
    if not used:
        return None
    if len(used) != 2 or used[1] != used[0] + 1:
        raise _NotAPairError
    first, second = (accesses[axis] for axis in used)
    if (_single_iterator_of(first), _single_iterator_of(second)) != (
        outer_iterator,
        inner_iterator,
    ):
        raise _NotAPairError
    is_padded = isinstance(op, PaddingInterface) and value is op.operands[0]
    extents = tensor_type(value).get_shape()
    domain = op.iteration_domain()
    has_whole_rows = (
        domain[inner_iterator].extent == extents[used[1]] and not second.offset
    )
    if not has_whole_rows or {first.width, second.width} != {1}:
        raise _NotAPairError
    if first.offset > 0 or (first.offset and not is_padded):
        raise _NotAPairError
    if domain[outer_iterator].extent != extents[used[0]] and not is_padded:
        raise _NotAPairError
    return used[0]
