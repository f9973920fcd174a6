"""Which axes of the values of a group are one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.tiling.form import Forms

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
    _parents: dict[Hashable, Hashable] = field(default_factory=dict[Hashable, Hashable])
    _owners: dict[Hashable, set[Operation]] = field(
        default_factory=dict[Hashable, set[Operation]]
    )
    """The operations that have an iterator in a class, by what stands for it."""

    def __post_init__(self) -> None:
        for op in self.operations:
            for each in range(len(self.forms.of(op).iterators)):
                self._owners[op, each] = {op}

    @staticmethod
    def of(operations: Sequence[TilingInterface], forms: Forms) -> AxisClasses:
        """The classes of the iterators of some operations."""
        classes = AxisClasses(forms, operations)
        inside = {result for op in operations for result in op.results}
        runs = [run for op in operations for run in classes._runs(op)]
        for value, axis, iterator in runs:
            if value in inside:
                classes._join((value, axis), iterator)
        for value, axis, iterator in runs:
            if value not in inside and not classes._mixes((value, axis), iterator):
                classes._join((value, axis), iterator)
        return classes

    def of_iterator(self, op: TilingInterface, iterator: int) -> Hashable:
        """What stands for the class of an iterator."""
        return self._find((op, iterator))

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
        nodes = [self._find((result, axis)) for axis in range(len(wide))]
        found: list[int | None] = [None] * len(narrow)
        at = len(wide)
        for axis in reversed(range(len(narrow))):
            node = self._find((value, axis))
            if narrow[axis] == 1 or node not in nodes:
                continue
            at = max((n for n in range(at) if nodes[n] == node), default=-1)
            if at < 0:
                return None
            found[axis] = at
        return tuple(found)

    @staticmethod
    def has_own(value: SSAValue, places: Places) -> bool:
        """Whether a value has axes of more than one element for itself."""
        pairs = zip(tensor_type(value).get_shape(), places, strict=True)
        return any(extent > 1 and place is None for extent, place in pairs)

    def _runs(self, op: TilingInterface) -> Iterator[tuple[SSAValue, int, Hashable]]:
        """Values of an operation, with an axis and the iterator that runs along it."""
        form = self.forms.of(op)
        values = [
            *zip(op.operands, form.operands, strict=True),
            (op.results[0], form.result),
        ]
        for value, accesses in values:
            for axis, access in enumerate(accesses or ()):
                if access.is_plain:
                    yield value, axis, (op, access.terms[0][0])

    def _mixes(self, left: Hashable, right: Hashable) -> bool:
        """Whether joining two would make two iterators of an operation one."""
        first, second = self._find(left), self._find(right)
        if first == second:
            return False
        owners = self._owners.get(first, set())
        return not owners.isdisjoint(self._owners.get(second, ()))

    def _join(self, left: Hashable, right: Hashable) -> None:
        first, second = self._find(left), self._find(right)
        if first == second:
            return
        self._parents[first] = second
        self._owners.setdefault(second, set()).update(self._owners.pop(first, ()))

    def _find(self, node: Hashable) -> Hashable:
        """What stands for a class. All on the way to it lead there from then on."""
        root = node
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while node != root:
            self._parents[node], node = root, self._parents[node]
        return root
