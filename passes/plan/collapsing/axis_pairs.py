"""Pairs of neighbouring axes that all values of a group have in common."""

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
from tlf.support.affine.index_access import Accesses, IndexAccess

MAX_PASSES = 2
"""Maximum number of array passes that a tile of several rows is taken to be wide."""


class _NotAPairError(Exception):
    """The axes are not the same two neighbours everywhere."""


class AxisPairs:
    """
    Two neighbouring axes of a group's first result, traced through its other values.
    """

    def __init__(self, members: GroupMembers) -> None:
        self.members = members
        self.axes: dict[SSAValue, int] = {}
        """For values that have both axes, the first one."""
        self.iterators: dict[TilingInterface, tuple[int, int]] = {}
        """The iterators of operations that run along the axes."""

    @staticmethod
    def find_along(members: GroupMembers, axis: int) -> AxisPairs | None:
        """
        Find a pair of axes in all values of a group, or None if it is not a pair
        everywhere.
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
        Return `True` if a contraction takes fewer array passes with the axes collapsed.
        """
        for op, found in self.iterators.items():
            if not isinstance(op, ContractionInterface):
                continue
            form = self.members.op_facts.of(op)
            roles = {form.roles[each] for each in found}
            if len(roles) == 1 and roles <= {"m", "n"}:
                rows, row = (form.extents[each] for each in found)
                if any(
                    _has_fewer_passes(rows, row, side)
                    for side in (array.rows, array.cols)
                ):
                    return True
        return False

    def _propagate(self) -> bool:
        """Propagate the axes to one more operation; return `False` if there is none."""
        for op in self.members.operations:
            if op in self.iterators:
                continue
            values = list(self._values_of(op))
            known = [each for each in values if each[0] in self.axes]
            if known:
                self._add_operation(op, *known[0], values)
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
        """Find the axes of all values of an operation, from those of one."""
        if isinstance(op, PositionInterface) and not isinstance(
            op, CollapsingInterface
        ):
            raise _NotAPairError
        axis = self.axes[value]
        rows, row = (_single_iterator_of(each) for each in accesses[axis : axis + 2])
        _check_iterators(self.members.op_facts.of(op), rows, row)
        self.iterators[op] = rows, row
        for other, seen in values:
            found = _pair_axis_of(op, other, seen, rows, row)
            if found is not None and self.axes.setdefault(other, found) != found:
                raise _NotAPairError
            if found is None and other in self.axes:
                raise _NotAPairError


def _has_fewer_passes(rows: int, row: int, side: int) -> bool:
    """
    Return `True` if all elements together take fewer passes than tiles of whole rows.
    """
    most = max(1, MAX_PASSES * side // row)
    apart = min(
        -(-rows // count) * -(-count * row // side) for count in range(1, most + 1)
    )
    return -(-rows * row // side) < apart


def _single_iterator_of(access: IndexAccess) -> int:
    """The one iterator that an index is."""
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
    Return the first of the two axes of a value along which the iterators run, or None.
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
    whole = op.iteration_domain()[row].extent == extents[used[1]] and not second.offset
    if not whole or {first.width, second.width} != {1}:
        raise _NotAPairError
    if first.offset > 0 or (first.offset and not is_padded):
        raise _NotAPairError
    if op.iteration_domain()[rows].extent != extents[used[0]] and not is_padded:
        raise _NotAPairError
    return used[0]
