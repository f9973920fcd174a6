"""Boundary and canonical structure of groups, memoised."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from tlf.support.partition.bit_sets import members
from tlf.support.partition.partition_problem import Problem


@dataclass(frozen=True)
class Boundary:
    """The values that a group reads and does not write, and those others need of it."""

    inputs: int
    outputs: int


@dataclass(frozen=True)
class GroupStructure:
    """
    Canonical structure of a group, without the numbers of operations and values. Groups
    of the same `form` are isomorphic, and `places` gives the bit of each of a group's
    inputs and outputs that stands for the same value in all of them.
    """

    form: int
    places: tuple[tuple[int, int], ...]
    """Pairs of the set of one value, and of its bit."""
    _sets: dict[int, int] = field(default_factory=dict[int, int], compare=False)

    def encode(self, values: int) -> int:
        """A set of inputs and outputs, by their places."""
        mask = 0
        for value, place in self.places:
            if values & value:
                mask |= place
        return mask

    def decode(self, mask: int) -> int:
        """The set of inputs and outputs in some places."""
        if (found := self._sets.get(mask)) is None:
            found = sum(value for value, place in self.places if mask & place)
            self._sets[mask] = found
        return found


@dataclass
class Groups:
    """
    The groups of a problem, each looked at once.

    A structure is found as in colour refinement, with two rounds: a hash of each
    operation and of what it reads inside of the group, then of what reads it. They
    order the operations, and what is told of the group in this order is its form. Where
    the order is not unique, equal groups may have different forms, which costs time;
    two groups of one form are always isomorphic, since it tells everything.
    """

    problem: Problem
    _boundaries: dict[int, Boundary] = field(default_factory=dict[int, Boundary])
    _structures: dict[int, GroupStructure] = field(
        default_factory=dict[int, GroupStructure]
    )
    _forms: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _colours: tuple[list[int], list[int]] = field(init=False)

    def __post_init__(self) -> None:
        numbers: dict[Hashable, int] = {}
        values = [(value.size, value.label) for value in self.problem.values]
        nodes = [node.label for node in self.problem.nodes]
        self._colours = (
            [numbers.setdefault(label, len(numbers)) for label in nodes],
            [numbers.setdefault(label, len(numbers)) for label in values],
        )

    def boundary(self, group: int) -> Boundary:
        """The inputs and outputs of a group."""
        if (found := self._boundaries.get(group)) is None:
            found = self._boundaries[group] = self._find_boundary(group)
        return found

    def structure(self, group: int) -> GroupStructure:
        """The structure of a group."""
        if (found := self._structures.get(group)) is None:
            found = self._structures[group] = self._find_structure(group)
        return found

    def _find_boundary(self, group: int) -> Boundary:
        read = written = 0
        for number in members(group):
            read |= self.problem.reads[number]
            written |= self.problem.writes[number]
        outputs = written & self.problem.outputs
        for value in members(written & ~outputs):
            if self.problem.consumers[value] & ~group:
                outputs |= 1 << value
        return Boundary(read & ~written, outputs)

    def _find_structure(self, group: int) -> GroupStructure:
        order = self._order_by_structure(group)
        outputs = self.boundary(group).outputs
        nodes, values = self._colours
        names: dict[int, int] = {}
        form: list[int] = []
        for number in order:
            node = self.problem.nodes[number]
            form += (-1, nodes[number], len(node.operands))
            for value in (*node.operands, *node.results):
                name = names.setdefault(value, len(names))
                form += (name, values[value], outputs >> value & 1)
        touched = outputs | self.boundary(group).inputs
        places = tuple(
            (1 << value, 1 << name)
            for value, name in names.items()
            if touched >> value & 1
        )
        return GroupStructure(
            self._forms.setdefault(tuple(form), len(self._forms)), places
        )

    def _order_by_structure(self, group: int) -> list[int]:
        """The operations of a group, in an order that follows from its structure."""
        if group & (group - 1) == 0:
            return [group.bit_length() - 1]
        problem, (nodes, values) = self.problem, self._colours
        of: dict[int, int] = {}
        down: dict[int, int] = {}
        for number in members(group):
            node = problem.nodes[number]
            read = tuple(of.get(value, values[value]) for value in node.operands)
            colour = hash((nodes[number], read))
            down[number] = colour
            for position, value in enumerate(node.results):
                of[value] = hash((colour, position))
        if len(set(down.values())) == len(down):
            return sorted(down, key=down.__getitem__)
        up: dict[int, int] = {}
        for number in reversed(down):
            after = sorted(up[n] for n in members(problem.successors[number] & group))
            up[number] = hash((down[number], *after))
        return sorted(down, key=lambda number: (down[number], up[number], number))
