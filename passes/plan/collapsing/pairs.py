"""Pairs of neighbouring axes that are the same throughout the values of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from tlf.analysis.operations.bands import SystolicArray
from tlf.analysis.operations.form import Form
from tlf.analysis.tiling.group import Members
from tlf.dialects.collapsing import CollapsingInterface
from tlf.dialects.interfaces import (
    ContractionInterface,
    IteratorKind,
    PositionInterface,
    TilingInterface,
)
from tlf.dialects.padded import PaddedInterface
from tlf.dialects.types import tensor_type
from tlf.support.affine.access import Access, Accesses

PASSES = 2
"""Tiles of several rows are taken to be at most so many passes wide."""


class _NotAPairError(Exception):
    """The axes are not the same two neighbours everywhere."""


class Pairs:
    """
    Two neighbouring axes of the first result of a group, and where operations find
    them in other values.
    """

    def __init__(self, members: Members) -> None:
        self.members = members
        self.axes: dict[SSAValue, int] = {}
        """For values that have both axes, the first one."""
        self.iterators: dict[TilingInterface, tuple[int, int]] = {}
        """The iterators of operations that run along the axes."""

    @staticmethod
    def along(members: Members, axis: int) -> Pairs | None:
        """
        Return the values and iterators along a pair of axes of a group, or None if the
        axes are not a pair everywhere.
        """
        pairs = Pairs(members)
        pairs.axes[members.results[0]] = axis
        try:
            while pairs._spread():
                pass
        except _NotAPairError:
            return None
        return pairs

    def gains(self, array: SystolicArray) -> bool:
        """
        Return `True` if a product has fewer passes with consecutive rows collapsed.
        """
        for op, found in self.iterators.items():
            if not isinstance(op, ContractionInterface):
                continue
            form = self.members.forms.of(op)
            roles = {form.roles[each] for each in found}
            if len(roles) == 1 and roles <= {"m", "n"}:
                rows, row = (form.extents[each] for each in found)
                if any(_gains(rows, row, side) for side in (array.rows, array.cols)):
                    return True
        return False

    def _spread(self) -> bool:
        """Find the axes in the values of one more operation, if one has some."""
        for op in self.members.operations:
            if op in self.iterators:
                continue
            values = list(self._values(op))
            known = [each for each in values if each[0] in self.axes]
            if known:
                self._add(op, *known[0], values)
                return True
        return False

    def _values(self, op: TilingInterface) -> Iterator[tuple[SSAValue, Accesses]]:
        form = self.members.forms.of(op)
        yield from zip(op.results, op.result_accesses(), strict=True)
        for operand, accesses in zip(op.operands, form.operands, strict=True):
            if accesses is not None:
                yield operand, accesses

    def _add(
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
        rows, row = (_iterator(each) for each in accesses[axis : axis + 2])
        _check_iterators(self.members.forms.of(op), rows, row)
        self.iterators[op] = rows, row
        for other, seen in values:
            found = _axis(op, other, seen, rows, row)
            if found is not None and self.axes.setdefault(other, found) != found:
                raise _NotAPairError
            if found is None and other in self.axes:
                raise _NotAPairError


def _gains(rows: int, row: int, side: int) -> bool:
    """
    Return `True` if all elements together take fewer passes than tiles of whole rows.
    """
    most = max(1, PASSES * side // row)
    apart = min(
        -(-rows // count) * -(-count * row // side) for count in range(1, most + 1)
    )
    return -(-rows * row // side) < apart


def _iterator(access: Access) -> int:
    """The one iterator that an index is."""
    if len(access.terms) != 1 or access.terms[0][1] != 1:
        raise _NotAPairError
    return access.terms[0][0]


def _check_iterators(form: Form, *found: int) -> None:
    for each in found:
        if form.iterators[each].kind is not IteratorKind.PARALLEL:
            raise _NotAPairError
        if each in form.untileable:
            raise _NotAPairError


def _axis(
    op: TilingInterface, value: SSAValue, accesses: Accesses, rows: int, row: int
) -> int | None:
    """The first of two axes of a value along which the iterators run, if any are."""
    used = [axis for axis, each in enumerate(accesses) if each.uses({rows, row})]
    if not used:
        return None
    if len(used) != 2 or used[1] != used[0] + 1:
        raise _NotAPairError
    first, second = (accesses[axis] for axis in used)
    if (_iterator(first), _iterator(second)) != (rows, row):
        raise _NotAPairError
    is_padded = isinstance(op, PaddedInterface) and value is op.operands[0]
    extents = tensor_type(value).get_shape()
    whole = op.iterators()[row].extent == extents[used[1]] and not second.offset
    if not whole or {first.width, second.width} != {1}:
        raise _NotAPairError
    if first.offset > 0 or (first.offset and not is_padded):
        raise _NotAPairError
    if op.iterators()[rows].extent != extents[used[0]] and not is_padded:
        raise _NotAPairError
    return used[0]
