"""Analysis of a group: equivalence classes of axes and iterators that run together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type

AxisMatch: TypeAlias = tuple[int | None, ...]
"""For each axis of a tensor, the matching axis of another tensor, or None."""


@dataclass
class AxisClasses:
    """
    Equivalence classes of the iterators of operations: iterators that run along the
    same axis of a value are equivalent. An input may be read along several axes, such
    as document indices along the rows and the columns of scores. It therefore merges
    iterators only if no operation has both.
    """

    op_facts: OpFactsCache
    operations: Sequence[TilingInterface]
    _first_nodes: dict[Operation | SSAValue, int] = field(
        default_factory=dict["Operation | SSAValue", int]
    )
    """
    Node of the first iterator of an operation, or of the first axis of a value; the
    nodes of its other iterators or axes follow.
    """
    _parents: list[int] = field(default_factory=list[int])
    _owners: dict[int, set[Operation]] = field(
        default_factory=dict[int, set[Operation]]
    )
    """
    Operations that have an iterator in a class, by the representative of the class.
    """

    def __post_init__(self) -> None:
        for op in self.operations:
            first = self._node_of_iterator(op, 0)
            for each in range(len(self.op_facts.facts_of(op).iteration_domain)):
                self._owners[first + each] = {op}

    @staticmethod
    def of(
        operations: Sequence[TilingInterface], op_facts: OpFactsCache
    ) -> AxisClasses:
        """
        Build the classes of those iterators of `operations` that run along the same
        axis.
        """
        classes = AxisClasses(op_facts, operations)
        inside = {result for op in operations for result in op.results}
        input_pairs: list[tuple[int, int]] = []
        for value, pairs in (
            r for op in operations for r in classes._axis_iterator_pairs(op)
        ):
            if value not in inside:
                input_pairs += pairs
                continue
            for pair in pairs:
                classes._merge_classes(*pair)
        for pair in input_pairs:
            if not classes._has_merge_conflict(*pair):
                classes._merge_classes(*pair)
        return classes

    def class_of(self, op: TilingInterface, iterator: int) -> Hashable:
        """Return the representative of the class of an iterator."""
        return self._find_class_representative(self._node_of_iterator(op, iterator))

    def iterators_in_class(
        self, op: TilingInterface, axis_class: Hashable
    ) -> list[int]:
        """Return the iterators of an operation in a class."""
        count = len(self.op_facts.facts_of(op).iteration_domain)
        return [each for each in range(count) if self.class_of(op, each) == axis_class]

    def map_result_axes_to_value(
        self, value: SSAValue, result: SSAValue
    ) -> AxisMatch | None:
        """
        Return, for each axis of a result, the axis of a value that runs along it, or
        None if the value has no such axis. None for the whole value if it has other
        axes, or the same axes in another order.
        """
        matches = self.map_value_axes_to_result(value, result)
        if matches is None or self.has_unmatched_axes(value, matches):
            return None
        axes: list[int | None] = [None] * len(tensor_type(result).get_shape())
        for axis, match in enumerate(matches):
            if match is not None:
                axes[match] = axis
        return tuple(axes)

    def map_value_axes_to_result(
        self, value: SSAValue, result: SSAValue
    ) -> AxisMatch | None:
        """
        Return, for each axis of a value, the axis of a result that runs along it, or
        None if there is none. None for the whole value if its axes have another order
        than in the result.
        """
        result_shape, shape = (
            tensor_type(each).get_shape() for each in (result, value)
        )
        nodes = [
            self._find_class_representative(self._node_of_axis(result, axis))
            for axis in range(len(result_shape))
        ]
        matches: list[int | None] = [None] * len(shape)
        position = len(result_shape)
        for axis in reversed(range(len(shape))):
            node = self._find_class_representative(self._node_of_axis(value, axis))
            if shape[axis] == 1 or node not in nodes:
                continue
            position = max((i for i in range(position) if nodes[i] == node), default=-1)
            if position < 0:
                return None
            matches[axis] = position
        return tuple(matches)

    @staticmethod
    def has_unmatched_axes(value: SSAValue, axis_match: AxisMatch) -> bool:
        """
        Return `True` if a value has an axis of more than one element without a match.
        """
        pairs = zip(tensor_type(value).get_shape(), axis_match, strict=True)
        return any(extent > 1 and match is None for extent, match in pairs)

    def _axis_iterator_pairs(
        self, op: TilingInterface
    ) -> Iterator[tuple[SSAValue, list[tuple[int, int]]]]:
        """
        Yield the values of an operation, with pairs of an axis and the iterator along
        it.
        """
        form = self.op_facts.facts_of(op)
        values = [
            *zip(op.operands, form.indexing_maps, strict=True),
            (op.results[0], form.result_map),
        ]
        iterator = self._node_of_iterator(op, 0)
        for value, accesses in values:
            if accesses:
                first = self._node_of_axis(value, 0)
                yield (
                    value,
                    [
                        (first + axis, iterator + access.loop_dim)
                        for axis, access in enumerate(accesses)
                        if access.loop_dim is not None
                    ],
                )

    def _has_merge_conflict(self, left: int, right: int) -> bool:
        """
        Return `True` if merging two classes would merge two iterators of one operation.
        """
        first, second = (
            self._find_class_representative(left),
            self._find_class_representative(right),
        )
        if first == second:
            return False
        owners = self._owners.get(first, set())
        return not owners.isdisjoint(self._owners.get(second, ()))

    def _merge_classes(self, left: int, right: int) -> None:
        """
        Merge the union-find classes of two nodes, and the sets of operations that own
        them.
        """
        first, second = (
            self._find_class_representative(left),
            self._find_class_representative(right),
        )
        if first == second:
            return
        self._parents[first] = second
        if owners := self._owners.pop(first, None):
            self._owners.setdefault(second, set()).update(owners)

    def _node_of_iterator(self, op: TilingInterface, iterator: int) -> int:
        """
        Return the union-find node of an iterator; on first use, add nodes for all
        iterators of `op`.
        """
        if (first := self._first_nodes.get(op)) is None:
            first = self._add_nodes(
                op, len(self.op_facts.facts_of(op).iteration_domain)
            )
        return first + iterator

    def _node_of_axis(self, value: SSAValue, axis: int) -> int:
        if (first := self._first_nodes.get(value)) is None:
            first = self._add_nodes(value, len(tensor_type(value).get_shape()))
        return first + axis

    def _add_nodes(self, node: Operation | SSAValue, count: int) -> int:
        first = self._first_nodes[node] = len(self._parents)
        self._parents += range(first, first + count)
        return first

    def _find_class_representative(self, node: int) -> int:
        """
        Return the root of the class of `node`, and compress the path to it
        (union-find).
        """
        root, parents = node, self._parents
        while parents[root] != root:
            root = parents[root]
        while node != root:
            parents[node], node = root, parents[node]
        return root
