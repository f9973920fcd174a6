"""
Partitioning problem without IR: operations, values and the capacity of the inner level.
"""

from dataclasses import dataclass
from functools import cached_property

from tlf.support.bit_sets import elements_of_mask, mask_of


@dataclass(frozen=True)
class ProblemValue:
    """
    Value that operations read and write: its size in bytes, and whether the graph
    returns it.
    """

    size: int
    is_output: bool = False
    label: str = ""
    """
    Equal for values that cost the same at equal sizes, for example because of their
    layout.
    """


@dataclass(frozen=True)
class ProblemOperation:
    """Operation: the indices of the values that it reads and of those it writes."""

    operands: tuple[int, ...]
    results: tuple[int, ...]
    label: str = ""
    """Equal for operations that cost the same on values with equal labels and sizes."""


@dataclass(frozen=True)
class PartitionProblem:
    """
    Operations in topological order, their values, and `capacity`, the bytes of the
    level in which values may stay between groups. With `siblings`, operations that read
    a common value count as connected.

    Sets of operations and of values are bit masks. Raises ValueError if the nodes are
    not a graph in topological order.
    """

    nodes: tuple[ProblemOperation, ...]
    values: tuple[ProblemValue, ...]
    capacity: int
    siblings: bool = False

    def __post_init__(self) -> None:
        written = set[int]()
        for index, node in enumerate(self.nodes):
            for value in (*node.operands, *node.results):
                if not 0 <= value < len(self.values):
                    raise ValueError(
                        f"operation {index} names value {value}, "
                        f"expected one below {len(self.values)}"
                    )
            for value in node.results:
                if value in written:
                    raise ValueError(f"value {value} is written more than once")
                written.add(value)
        for index, node in enumerate(self.nodes):
            for value in node.operands:
                producer = self.producers[value]
                if producer is not None and producer >= index:
                    raise ValueError(
                        f"operation {index} reads value {value} of operation "
                        f"{producer}, expected topological order"
                    )

    @cached_property
    def all_operations(self) -> int:
        """Set of all operations."""
        return (1 << len(self.nodes)) - 1

    @cached_property
    def producers(self) -> tuple[int | None, ...]:
        """Operation that writes each value, None for inputs of the graph."""
        result: list[int | None] = [None] * len(self.values)
        for index, node in enumerate(self.nodes):
            for value in node.results:
                result[value] = index
        return tuple(result)

    @cached_property
    def consumers(self) -> tuple[int, ...]:
        """Bit set of the operations that read each value, by index of the value."""
        result = [0] * len(self.values)
        for index, node in enumerate(self.nodes):
            for value in node.operands:
                result[value] |= 1 << index
        return tuple(result)

    @cached_property
    def outputs(self) -> int:
        """Set of the values that the graph returns."""
        return mask_of(n for n, value in enumerate(self.values) if value.is_output)

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """Set of the values that each operation reads."""
        return tuple(mask_of(node.operands) for node in self.nodes)

    @cached_property
    def writes(self) -> tuple[int, ...]:
        """Set of the values that each operation writes."""
        return tuple(mask_of(node.results) for node in self.nodes)

    @cached_property
    def predecessors(self) -> tuple[int, ...]:
        """
        Bit set of the operations that produce operands of each operation, by its index.
        """
        return tuple(
            mask_of(p for v in node.operands if (p := self.producers[v]) is not None)
            for node in self.nodes
        )

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """Bit set of the transitive predecessors of each operation, by its index."""
        result: list[int] = []
        for direct in self.predecessors:
            mask = direct
            for index in elements_of_mask(direct):
                mask |= result[index]
            result.append(mask)
        return tuple(result)

    @cached_property
    def successors(self) -> tuple[int, ...]:
        """
        Bit set of the operations that read results of each operation, by its index.
        """
        result: list[int] = []
        for node in self.nodes:
            mask = 0
            for value in node.results:
                mask |= self.consumers[value]
            result.append(mask)
        return tuple(result)

    @cached_property
    def descendants(self) -> tuple[int, ...]:
        """Bit set of the transitive successors of each operation, by its index."""
        result = [0] * len(self.nodes)
        for index in reversed(range(len(self.nodes))):
            mask = self.successors[index]
            for after in elements_of_mask(mask):
                mask |= result[after]
            result[index] = mask
        return tuple(result)

    @cached_property
    def successors_or_siblings(self) -> tuple[int, ...]:
        """
        Set of the operations by which a group that contains each operation may grow
        towards the results.
        """
        if not self.siblings:
            return self.successors
        result: list[int] = []
        for index, node in enumerate(self.nodes):
            mask = self.successors[index]
            for value in node.operands:
                mask |= self.consumers[value]
            result.append(mask & ~(1 << index))
        return tuple(result)

    @cached_property
    def neighbours(self) -> tuple[int, ...]:
        """
        Bit set of the predecessors and successors of each operation, by its index; also
        of its siblings, if these count as connected.
        """
        return tuple(
            after | before
            for after, before in zip(
                self.successors_or_siblings, self.predecessors, strict=True
            )
        )

    def size_of(self, values: int) -> int:
        """Return the total bytes of a set of values."""
        return sum(self.values[index].size for index in elements_of_mask(values))

    def is_connected(self, group: int) -> bool:
        """Return `True` if the operations of a group are connected within the group."""
        reached = pending = group & -group
        while pending:
            adjacent = 0
            for index in elements_of_mask(pending):
                adjacent |= self.neighbours[index]
            pending = adjacent & group & ~reached
            reached |= pending
        return reached == group

    def is_convex(self, group: int) -> bool:
        """Return `True` if a group is convex: no path leaves it and comes back."""
        return self.convex_closure(group) == group

    def convex_closure(self, group: int) -> int:
        """
        Return the bit set of a group and all operations on paths between its
        operations.
        """
        after = before = 0
        for index in elements_of_mask(group):
            after |= self.descendants[index]
            before |= self.ancestors[index]
        return group | (after & before)
