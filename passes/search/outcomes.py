"""What may stay in the retained memory once a group has run."""

from collections.abc import Iterator
from dataclasses import dataclass

from tlf.passes.search.bits import members
from tlf.passes.search.costs import Context
from tlf.passes.search.groups import Boundary
from tlf.passes.search.memo import Memo
from tlf.passes.search.schedule import Step


@dataclass(frozen=True)
class Outcome:
    """The ways to run a group that leave the same values behind."""

    kept: int
    """The values of the group that stay."""
    only: int
    """Those of them that are nowhere else."""
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Outcomes:
    """
    Finds the outcomes of groups. A value stays in the retained memory from a group that
    reads or writes it to the next one that reads it, or longer, in steps of this kind.

    - An input that later operations read may stay, be it there already or loaded. It
      has to stay if it is nowhere else.
    - An output that later operations read stays or is stored. Both, if the graph
      returns it or if more than one operation is to read it.
    """

    memo: Memo
    retain: bool = True
    """Whether anything stays at all."""

    def of(
        self, group: int, after: int, resident: int, only: int, taken: int
    ) -> list[Outcome]:
        """
        The outcomes of a group. `after` is all that is done once it has run, `resident`
        the inputs that are there, `only` those of them that are nowhere else, and
        `taken` the bytes of other values.
        """
        problem = self.memo.groups.problem
        boundary = self.memo.groups.boundary(group)
        room = problem.capacity - taken
        found: list[Outcome] = []
        for kept, stored in self._choices(boundary, after, only):
            if problem.size_of(kept) > room:
                continue
            context = Context(resident, kept, stored, taken)
            options = self.memo.options(group, context)
            if options:
                steps = tuple(Step(group, context, option) for option in options)
                nowhere = kept & (only | (boundary.outputs & ~stored))
                found.append(Outcome(kept, nowhere, steps))
        return found

    def _choices(
        self, boundary: Boundary, after: int, only: int
    ) -> Iterator[tuple[int, int]]:
        """Sets of values that stay, and of outputs that are stored."""
        if not self.retain:
            yield 0, boundary.outputs
            return
        consumers = self.memo.groups.problem.consumers
        outputs = self.memo.groups.problem.outputs
        choices = [(0, 0)]
        for number in members(boundary.inputs):
            value = 1 << number
            if consumers[number] & ~after:
                ways = [value] if only & value else [0, value]
                choices = [(k | keep, s) for k, s in choices for keep in ways]
        for number in members(boundary.outputs):
            value, later = 1 << number, consumers[number] & ~after
            ways = [(0, value)]
            if later and not outputs & value:
                ways.append((value, 0))
            if later and (outputs & value or later & (later - 1)):
                ways.append((value, value))
            choices = [
                (k | keep, s | store) for k, s in choices for keep, store in ways
            ]
        yield from choices
