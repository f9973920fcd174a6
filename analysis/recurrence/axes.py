"""Classes of axes of the values of a group that run together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.form import Forms
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type

Places: TypeAlias = tuple[int | None, ...]
"""For each axis of a tensor, an axis of another one."""


@dataclass
class AxisClasses:
    """
    The iterators of operations in classes: those that run along the same axis of a
    value are one, in whichever operations they are. What comes from outside may be read
    along several axes, as numbers of documents by rows and by columns of scores: it
    makes iterators one only where no operation has both.
    """

    forms: Forms
    operations: Sequence[TilingInterface]
    _first: dict[Operation | SSAValue, int] = field(
        default_factory=dict["Operation | SSAValue", int]
    )
    """The numbers of first iterators and first axes; those of others follow."""
    _parents: list[int] = field(default_factory=list[int])
    _owners: dict[int, set[Operation]] = field(
        default_factory=dict[int, set[Operation]]
    )
    """The operations that have an iterator in a class, by what stands for it."""

    def __post_init__(self) -> None:
        for op in self.operations:
            first = self._iterator(op, 0)
            for each in range(len(self.forms.of(op).iterators)):
                self._owners[first + each] = {op}

    @staticmethod
    def of(operations: Sequence[TilingInterface], forms: Forms) -> AxisClasses:
        """The classes of the iterators of some operations."""
        classes = AxisClasses(forms, operations)
        inside = {result for op in operations for result in op.results}
        given: list[tuple[int, int]] = []
        for value, pairs in (r for op in operations for r in classes._runs(op)):
            if value not in inside:
                given += pairs
                continue
            for pair in pairs:
                classes._join(*pair)
        for pair in given:
            if not classes._mixes(*pair):
                classes._join(*pair)
        return classes

    def of_iterator(self, op: TilingInterface, iterator: int) -> Hashable:
        """Return the representative of the class of an iterator."""
        return self._find(self._iterator(op, iterator))

    def iterators_in(self, op: TilingInterface, found: Hashable) -> list[int]:
        """The iterators of an operation in a class."""
        count = len(self.forms.of(op).iterators)
        return [each for each in range(count) if self.of_iterator(op, each) == found]

    def aligned(self, value: SSAValue, result: SSAValue) -> Places | None:
        """
        For each axis of a result the axis of a value that runs along it, or None: the
        value has then one element for all of it. None at all where the value has other
        axes, or has them in another order.
        """
        places = self.places(value, result)
        if places is None or self.has_own(value, places):
            return None
        found: list[int | None] = [None] * len(tensor_type(result).get_shape())
        for axis, place in enumerate(places):
            if place is not None:
                found[place] = axis
        return tuple(found)

    def places(self, value: SSAValue, result: SSAValue) -> Places | None:
        """
        For each axis of a value the axis of a result that runs along it, or None where
        there is none. None at all where the value has axes of it in another order.
        """
        wide, narrow = (tensor_type(each).get_shape() for each in (result, value))
        nodes = [self._find(self._axis(result, axis)) for axis in range(len(wide))]
        found: list[int | None] = [None] * len(narrow)
        at = len(wide)
        for axis in reversed(range(len(narrow))):
            node = self._find(self._axis(value, axis))
            if narrow[axis] == 1 or node not in nodes:
                continue
            at = max((n for n in range(at) if nodes[n] == node), default=-1)
            if at < 0:
                return None
            found[axis] = at
        return tuple(found)

    @staticmethod
    def has_own(value: SSAValue, places: Places) -> bool:
        """
        Return `True` if a value has axes of more than one element that have no
        counterpart.
        """
        pairs = zip(tensor_type(value).get_shape(), places, strict=True)
        return any(extent > 1 and place is None for extent, place in pairs)

    def _runs(
        self, op: TilingInterface
    ) -> Iterator[tuple[SSAValue, list[tuple[int, int]]]]:
        """Values of an operation, with axes and the iterators that run along them."""
        form = self.forms.of(op)
        values = [
            *zip(op.operands, form.operands, strict=True),
            (op.results[0], form.result),
        ]
        iterator = self._iterator(op, 0)
        for value, accesses in values:
            if accesses:
                first = self._axis(value, 0)
                yield (
                    value,
                    [
                        (first + axis, iterator + access.plain)
                        for axis, access in enumerate(accesses)
                        if access.plain is not None
                    ],
                )

    def _mixes(self, left: int, right: int) -> bool:
        """
        Return `True` if merging two classes would merge two iterators of one operation.
        """
        first, second = self._find(left), self._find(right)
        if first == second:
            return False
        owners = self._owners.get(first, set())
        return not owners.isdisjoint(self._owners.get(second, ()))

    def _join(self, left: int, right: int) -> None:
        first, second = self._find(left), self._find(right)
        if first == second:
            return
        self._parents[first] = second
        if owners := self._owners.pop(first, None):
            self._owners.setdefault(second, set()).update(owners)

    def _iterator(self, op: TilingInterface, iterator: int) -> int:
        if (first := self._first.get(op)) is None:
            first = self._add(op, len(self.forms.of(op).iterators))
        return first + iterator

    def _axis(self, value: SSAValue, axis: int) -> int:
        if (first := self._first.get(value)) is None:
            first = self._add(value, len(tensor_type(value).get_shape()))
        return first + axis

    def _add(self, node: Operation | SSAValue, count: int) -> int:
        first = self._first[node] = len(self._parents)
        self._parents += range(first, first + count)
        return first

    def _find(self, number: int) -> int:
        """Return the representative of a class, with path compression."""
        root, parents = number, self._parents
        while parents[root] != root:
            root = parents[root]
        while number != root:
            parents[number], number = root, parents[number]
        return root
