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
from tlf.dialects.collapsing_interface import CollapsingInterface
from tlf.dialects.interfaces import (
    ContractionInterface,
    IteratorType,
    PositionInterface,
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
    def find_along(members: GroupMembers, axis: int) -> AxisPairs | None:
        """
        Propagate the axis pair that starts at `axis` through a group; None if it is not
        an adjacent pair in some value.
        """
        pairs = AxisPairs(members)
        pairs.axes[members.results[0]] = axis
        try:
            while pairs._propagate():
                pass
        except _NotAPairError:
            return None
        return pairs

    def is_profitable(self, array: SystolicArray) -> bool:
        """
        Return `True` if a contraction takes fewer passes of the matrix engine with the
        axes collapsed.
        """
        for op, iterators in self.iterators.items():
            if not isinstance(op, ContractionInterface):
                continue
            form = self.members.op_facts.of(op)
            roles = {form.roles[each] for each in iterators}
            if len(roles) == 1 and roles <= {"m", "n"}:
                rows, row = (form.extents[each] for each in iterators)
                if any(
                    _has_fewer_passes(rows, row, side)
                    for side in (array.rows, array.cols)
                ):
                    return True
        return False

    def _propagate(self) -> bool:
        """Propagate the axes to an operation; return `False` if none remains."""
        for op in self.members.operations:
            if op in self.iterators:
                continue
            values = list(self._values_of(op))
            resolved = [each for each in values if each[0] in self.axes]
            if resolved:
                self._add_operation(op, *resolved[0], values)
                return True
        return False

    def _values_of(self, op: TilingInterface) -> Iterator[tuple[SSAValue, Accesses]]:
        form = self.members.op_facts.of(op)
        yield from zip(op.results, op.result_indexing_maps(), strict=True)
        for operand, accesses in zip(op.operands, form.indexing_maps, strict=True):
            if accesses is not None:
                yield operand, accesses

    def _add_operation(
        self,
        op: TilingInterface,
        value: SSAValue,
        accesses: Accesses,
        values: Sequence[tuple[SSAValue, Accesses]],
    ) -> None:
        """Derive the axes of all values of an operation from those of `value`."""
        if isinstance(op, PositionInterface) and not isinstance(
            op, CollapsingInterface
        ):
            raise _NotAPairError
        axis = self.axes[value]
        rows, row = (_single_iterator_of(each) for each in accesses[axis : axis + 2])
        _check_iterators(self.members.op_facts.of(op), rows, row)
        self.iterators[op] = rows, row
        for other, other_accesses in values:
            other_axis = _pair_axis_of(op, other, other_accesses, rows, row)
            if (
                other_axis is not None
                and self.axes.setdefault(other, other_axis) != other_axis
            ):
                raise _NotAPairError
            if other_axis is None and other in self.axes:
                raise _NotAPairError


def _has_fewer_passes(rows: int, row: int, side: int) -> bool:
    """
    Return `True` if collapsed rows take fewer passes than tiles of whole rows.
    """
    max_rows = max(1, PARTITION.collapsed_array_passes * side // row)
    uncollapsed = min(
        -(-rows // count) * -(-count * row // side) for count in range(1, max_rows + 1)
    )
    return -(-rows * row // side) < uncollapsed


def _single_iterator_of(access: IndexAccess) -> int:
    """Return the iterator that an access is equal to, up to its offset."""
    if len(access.terms) != 1 or access.terms[0][1] != 1:
        raise _NotAPairError
    return access.terms[0][0]


def _check_iterators(form: OpFacts, *found: int) -> None:
    for each in found:
        if form.iteration_domain[each].kind is not IteratorType.PARALLEL:
            raise _NotAPairError
        if each in form.untileable_dims:
            raise _NotAPairError


def _pair_axis_of(
    op: TilingInterface, value: SSAValue, accesses: Accesses, rows: int, row: int
) -> int | None:
    """
    Return the first of the two axes of a value along which the iterators run; None if
    the value has neither. Raises `_NotAPairError` for other accesses.
    """
    used = [axis for axis, each in enumerate(accesses) if each.depends_on({rows, row})]
    if not used:
        return None
    if len(used) != 2 or used[1] != used[0] + 1:
        raise _NotAPairError
    first, second = (accesses[axis] for axis in used)
    if (_single_iterator_of(first), _single_iterator_of(second)) != (rows, row):
        raise _NotAPairError
    is_padded = isinstance(op, PaddingInterface) and value is op.operands[0]
    extents = tensor_type(value).get_shape()
    has_whole_rows = (
        op.iteration_domain()[row].extent == extents[used[1]] and not second.offset
    )
    if not has_whole_rows or {first.width, second.width} != {1}:
        raise _NotAPairError
    if first.offset > 0 or (first.offset and not is_padded):
        raise _NotAPairError
    if op.iteration_domain()[rows].extent != extents[used[0]] and not is_padded:
        raise _NotAPairError
    return used[0]
