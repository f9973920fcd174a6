"""The partitioning problem: operations, values and the capacity between groups."""

from dataclasses import dataclass
from functools import cached_property

from tlf.support.partition.bit_sets import mask_of, members


@dataclass(frozen=True)
class Value:
    """
    Value that operations read and write: its bytes, and whether the graph returns it.
    """

    size: int
    is_output: bool = False
    label: str = ""
    """Equal for values that cost the same where the bytes are equal, as of a layout."""


@dataclass(frozen=True)
class Node:
    """An operation: the numbers of the values that it reads and of those it writes."""

    operands: tuple[int, ...]
    results: tuple[int, ...]
    label: str = ""
    """Equal for operations that cost the same on values that do."""


@dataclass(frozen=True)
class Problem:
    """
    Operations in a topological order, their values, and `capacity`, the bytes of the
    memory that values may stay in from group to group. With `siblings`, operations that
    read a value in common count as connected.

    Sets of operations and of values are integers, bit `n` for number `n`. Raises
    ValueError where the nodes are no graph in topological order.
    """

    nodes: tuple[Node, ...]
    values: tuple[Value, ...]
    capacity: int
    siblings: bool = False

    def __post_init__(self) -> None:
        written = set[int]()
        for number, node in enumerate(self.nodes):
            for value in (*node.operands, *node.results):
                if not 0 <= value < len(self.values):
                    raise ValueError(
                        f"operation {number} names value {value}, "
                        f"expected one below {len(self.values)}"
                    )
            for value in node.results:
                if value in written:
                    raise ValueError(f"value {value} is written more than once")
                written.add(value)
        for number, node in enumerate(self.nodes):
            for value in node.operands:
                producer = self.producers[value]
                if producer is not None and producer >= number:
                    raise ValueError(
                        f"operation {number} reads value {value} of operation "
                        f"{producer}, expected topological order"
                    )

    @cached_property
    def all_operations(self) -> int:
        """The set of all operations."""
        return (1 << len(self.nodes)) - 1

    @cached_property
    def producers(self) -> tuple[int | None, ...]:
        """The operation that writes each value, none if the graph is given it."""
        found: list[int | None] = [None] * len(self.values)
        for number, node in enumerate(self.nodes):
            for value in node.results:
                found[value] = number
        return tuple(found)

    @cached_property
    def consumers(self) -> tuple[int, ...]:
        """The set of the operations that read each value."""
        found = [0] * len(self.values)
        for number, node in enumerate(self.nodes):
            for value in node.operands:
                found[value] |= 1 << number
        return tuple(found)

    @cached_property
    def outputs(self) -> int:
        """The values that the graph returns."""
        return mask_of(n for n, value in enumerate(self.values) if value.is_output)

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The values that each operation reads."""
        return tuple(mask_of(node.operands) for node in self.nodes)

    @cached_property
    def writes(self) -> tuple[int, ...]:
        """The values that each operation writes."""
        return tuple(mask_of(node.results) for node in self.nodes)

    @cached_property
    def predecessors(self) -> tuple[int, ...]:
        """The operations that write what each operation reads."""
        return tuple(
            mask_of(p for v in node.operands if (p := self.producers[v]) is not None)
            for node in self.nodes
        )

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """All operations that each operation waits for."""
        found: list[int] = []
        for direct in self.predecessors:
            mask = direct
            for number in members(direct):
                mask |= found[number]
            found.append(mask)
        return tuple(found)

    @cached_property
    def successors(self) -> tuple[int, ...]:
        """The operations that read what each operation writes."""
        found: list[int] = []
        for node in self.nodes:
            mask = 0
            for value in node.results:
                mask |= self.consumers[value]
            found.append(mask)
        return tuple(found)

    @cached_property
    def descendants(self) -> tuple[int, ...]:
        """All operations that wait for each operation."""
        found = [0] * len(self.nodes)
        for number in reversed(range(len(self.nodes))):
            mask = self.successors[number]
            for after in members(mask):
                mask |= found[after]
            found[number] = mask
        return tuple(found)

    @cached_property
    def successors_or_siblings(self) -> tuple[int, ...]:
        """The operations that a group may grow by from each one, towards results."""
        if not self.siblings:
            return self.successors
        found: list[int] = []
        for number, node in enumerate(self.nodes):
            mask = self.successors[number]
            for value in node.operands:
                mask |= self.consumers[value]
            found.append(mask & ~(1 << number))
        return tuple(found)

    @cached_property
    def neighbours(self) -> tuple[int, ...]:
        """The operations that each one is connected with."""
        return tuple(
            after | before
            for after, before in zip(
                self.successors_or_siblings, self.predecessors, strict=True
            )
        )

    def size_of(self, values: int) -> int:
        """The bytes of a set of values."""
        return sum(self.values[number].size for number in members(values))

    def is_connected(self, group: int) -> bool:
        """Return `True` if the operations of a group are connected among themselves."""
        reached = pending = group & -group
        while pending:
            found = 0
            for number in members(pending):
                found |= self.neighbours[number]
            pending = found & group & ~reached
            reached |= pending
        return reached == group

    def is_convex(self, group: int) -> bool:
        """Return `True` if a group is convex: no path leaves it and comes back."""
        return self.convex_closure(group) == group

    def convex_closure(self, group: int) -> int:
        """Return a group with all operations on paths between its own."""
        after = before = 0
        for number in members(group):
            after |= self.descendants[number]
            before |= self.ancestors[number]
        return group | (after & before)
