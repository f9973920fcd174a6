"""What may stay in the retained memory once a group has run."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tlf.passes.search.bits import members
from tlf.passes.search.costs import Context, Option
from tlf.passes.search.memo import Memo


class Outcome(NamedTuple):
    """The ways to run a group that leave the same values behind; sets of values."""

    kept: int
    """The values of the group that stay."""
    only: int
    """Those of them that are nowhere else."""
    stored: int
    """The outputs that are stored."""
    options: tuple[Option, ...]
    is_priced: bool = True
    """Whether these are the ways, rather than one that none of them beats."""


class Fates(NamedTuple):
    """What may become of the values of a group, as sets of them."""

    needed: int
    """Inputs that are read later."""
    wanted: int
    """Outputs that are read later."""
    shared: int
    """Outputs that more than one operation reads later."""
    returned: int
    """Outputs that the graph returns."""
    key: tuple[int, ...]
    """The form of the group, then the above by places."""


@dataclass
class Outcomes:
    """
    Finds the outcomes of groups. A value stays in the retained memory from a group that
    reads or writes it to the next one that reads it, or longer, in steps of this kind.

    - An input that later operations read may stay, be it there already or loaded. It
      has to stay if it is nowhere else.
    - An output that later operations read stays or is stored. Both, if the graph
      returns it or if more than one operation is to read it.

    Groups of one structure with values of the same fates have the same outcomes, which
    are found once and told by places.
    """

    memo: Memo
    retain: bool = True
    """Whether anything stays at all."""
    prices: bool = True
    """Whether all ways are asked for, or only bounds where these are known."""
    _known: dict[tuple[int, ...], list[Outcome]] = field(
        default_factory=dict[tuple[int, ...], list[Outcome]]
    )

    def fates(self, group: int, after: int) -> Fates:
        """What may become of the values of a group that leaves `after` all done."""
        problem = self.memo.groups.problem
        boundary = self.memo.groups.boundary(group)
        needed = wanted = shared = 0
        for value in members(boundary.inputs):
            if problem.consumers[value] & ~after:
                needed |= 1 << value
        for value in members(boundary.outputs):
            if later := problem.consumers[value] & ~after:
                wanted |= 1 << value
                shared |= (1 << value) if later & (later - 1) else 0
        sets = (needed, wanted, shared, boundary.outputs & problem.outputs)
        structure = self.memo.groups.structure(group)
        return Fates(*sets, (structure.form, *map(structure.encode, sets)))

    def of(
        self, group: int, fates: Fates, resident: int, only: int, taken: int
    ) -> list[Outcome]:
        """
        The outcomes of a group. `resident` are the inputs that are there, `only` those
        of them that are nowhere else, and `taken` the bytes of other values.
        """
        structure = self.memo.groups.structure(group)
        encode, decode = structure.encode, structure.decode
        key = (*fates.key, encode(resident), encode(only), taken)
        if (known := self._known.get(key)) is None:
            found = list(self._find(group, fates, resident, only, taken))
            self._known[key] = [
                Outcome(encode(kept), encode(nowhere), encode(stored), options, priced)
                for kept, nowhere, stored, options, priced in found
            ]
            return found
        self.memo.remembered += len(known)
        return [
            Outcome(decode(kept), decode(nowhere), decode(stored), options, priced)
            for kept, nowhere, stored, options, priced in known
        ]

    def _find(
        self, group: int, fates: Fates, resident: int, only: int, taken: int
    ) -> Iterator[Outcome]:
        """The outcomes of a group, of a structure not met before."""
        problem = self.memo.groups.problem
        outputs = self.memo.groups.boundary(group).outputs
        choices = _choices(outputs, fates, only) if self.retain else [(0, outputs)]
        for kept, stored in choices:
            if problem.size_of(kept) + taken > problem.capacity:
                continue
            context = Context(resident, kept, stored, taken)
            options, is_priced = self._ways(group, context)
            if options:
                nowhere = kept & (only | (outputs & ~stored))
                yield Outcome(kept, nowhere, stored, options, is_priced)

    def _ways(self, group: int, context: Context) -> tuple[tuple[Option, ...], bool]:
        """The ways to run a group, or what none of them beats; which of the two."""
        if self.prices:
            return self.memo.options(group, context), True
        return self.memo.bounds(group, context)


def _choices(outputs: int, fates: Fates, only: int) -> list[tuple[int, int]]:
    """Sets of values that stay, and of outputs that are stored."""
    choices = [(0, 0)]
    for number in members(fates.needed):
        value = 1 << number
        ways = [value] if only & value else [0, value]
        choices = [(k | keep, s) for k, s in choices for keep in ways]
    for number in members(outputs):
        value = 1 << number
        ways = [(0, value)]
        if fates.wanted & ~fates.returned & value:
            ways.append((value, 0))
        if fates.wanted & (fates.returned | fates.shared) & value:
            ways.append((value, value))
        choices = [(k | keep, s | store) for k, s in choices for keep, store in ways]
    return choices
