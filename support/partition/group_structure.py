"""Boundary and canonical structure of groups of the partition, memoized, without IR."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from tlf.support.bit_sets import elements_of_mask
from tlf.support.partition.partition_problem import PartitionProblem


@dataclass(frozen=True)
class GroupBoundary:
    """
    Values that a group reads and does not write, and values it writes that are used
    outside of it.
    """

    inputs: int
    outputs: int


@dataclass(frozen=True)
class GroupStructure:
    """
    Canonical structure of a group, independent of the indices of operations and values.
    Groups of the same `canonical_form` are isomorphic, and `bits_of_values` assigns the
    same bit to corresponding inputs and outputs.
    """

    canonical_form: int
    bits_of_values: tuple[tuple[int, int], ...]
    """Pairs of the set of one value, and of its bit."""
    _sets: dict[int, int] = field(default_factory=dict[int, int], compare=False)

    def encode_values(self, values: int) -> int:
        """
        Return the canonical bit set of those `values` that the group reads or outputs.
        """
        mask = 0
        for value, bit in self.bits_of_values:
            if values & value:
                mask |= bit
        return mask

    def decode_values(self, mask: int) -> int:
        """Return the set of inputs and outputs with the given canonical bits."""
        if (values := self._sets.get(mask)) is None:
            values = sum(value for value, bit in self.bits_of_values if mask & bit)
            self._sets[mask] = values
        return values


@dataclass
class GroupStructures:
    """
    Memoized boundaries and structures of the groups of a problem.

    A structure is found as in colour refinement, with two rounds: a hash of each
    operation and of its operands inside of the group, then of its readers. The hashes
    order the operations, and the description of the group in this order is its form. If
    the order is not unique, isomorphic groups may have different forms, which costs
    time only; two groups of one form are always isomorphic, since the description is
    complete.
    """

    problem: PartitionProblem
    _boundaries: dict[int, GroupBoundary] = field(
        default_factory=dict[int, GroupBoundary]
    )
    _structures: dict[int, GroupStructure] = field(
        default_factory=dict[int, GroupStructure]
    )
    _forms: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _colours: tuple[list[int], list[int]] = field(init=False)

    def __post_init__(self) -> None:
        colours: dict[Hashable, int] = {}
        values = [(value.size, value.label) for value in self.problem.values]
        nodes = [node.label for node in self.problem.nodes]
        self._colours = (
            [colours.setdefault(label, len(colours)) for label in nodes],
            [colours.setdefault(label, len(colours)) for label in values],
        )

    def boundary_of(self, group: int) -> GroupBoundary:
        """Return the inputs and outputs of a group."""
        if (result := self._boundaries.get(group)) is None:
            result = self._boundaries[group] = self._compute_boundary(group)
        return result

    def structure_of(self, group: int) -> GroupStructure:
        """Return the structure of a group."""
        if (result := self._structures.get(group)) is None:
            result = self._structures[group] = self._compute_structure(group)
        return result

    def _compute_boundary(self, group: int) -> GroupBoundary:
        """
        Return the values that a group reads and does not write, and those it writes
        that are graph outputs or have consumers outside.
        """
        read = written = 0
        for index in elements_of_mask(group):
            read |= self.problem.reads[index]
            written |= self.problem.writes[index]
        outputs = written & self.problem.outputs
        for value in elements_of_mask(written & ~outputs):
            if self.problem.consumers[value] & ~group:
                outputs |= 1 << value
        return GroupBoundary(read & ~written, outputs)

    def _compute_structure(self, group: int) -> GroupStructure:
        """
        Return the structure of a group: the number of its description in canonical
        order, and the bits of its inputs and outputs.
        """
        order = self._order_by_structure(group)
        outputs = self.boundary_of(group).outputs
        nodes, values = self._colours
        names: dict[int, int] = {}
        form: list[int] = []
        for index in order:
            node = self.problem.nodes[index]
            form += (-1, nodes[index], len(node.operands))
            for value in (*node.operands, *node.results):
                name = names.setdefault(value, len(names))
                form += (name, values[value], outputs >> value & 1)
        touched = outputs | self.boundary_of(group).inputs
        places = tuple(
            (1 << value, 1 << name)
            for value, name in names.items()
            if touched >> value & 1
        )
        return GroupStructure(
            self._forms.setdefault(tuple(form), len(self._forms)), places
        )

    def _order_by_structure(self, group: int) -> list[int]:
        """
        Return the operations of a group in an order that follows from its structure.
        """
        if group & (group - 1) == 0:
            return [group.bit_length() - 1]
        problem, (nodes, values) = self.problem, self._colours
        colours_of: dict[int, int] = {}
        down: dict[int, int] = {}
        for index in elements_of_mask(group):
            node = problem.nodes[index]
            read = tuple(
                colours_of.get(value, values[value]) for value in node.operands
            )
            colour = hash((nodes[index], read))
            down[index] = colour
            for position, value in enumerate(node.results):
                colours_of[value] = hash((colour, position))
        if len(set(down.values())) == len(down):
            return sorted(down, key=down.__getitem__)
        up: dict[int, int] = {}
        for index in reversed(down):
            after = sorted(
                up[n] for n in elements_of_mask(problem.successors[index] & group)
            )
            up[index] = hash((down[index], *after))
        return sorted(down, key=lambda index: (down[index], up[index], index))
