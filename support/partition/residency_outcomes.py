"""Residency outcomes of a group: values that stay in the retained memory after it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from tlf.support.partition.bit_sets import members
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import Context, Option

Residency: TypeAlias = tuple[int, int]
"""Values that stay, and outputs that are stored, as sets of them."""


class Outcome(NamedTuple):
    """The ways to run a group that leave the same values behind; sets of values."""

    retained: int
    """The values of the group that stay."""
    dirty: int
    """Those of them that are nowhere else."""
    stored: int
    """The outputs that are stored."""
    options: tuple[Option, ...]
    has_exact_cost: bool = True
    """
    True if these are the actual options, rather than a lower bound on all of them.
    """


class FutureUses(NamedTuple):
    """Possible later uses of the values of a group, as sets of values."""

    reused_inputs: int
    """Inputs that are read later."""
    reused_outputs: int
    """Outputs that are read later."""
    multi_use_outputs: int
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

    memo: CostMemo
    max_residency_sets: int
    """The most sets of values of a group that may stay, before some are left out."""
    retain: bool = True
    """True if values may stay resident at all."""
    has_exact_costs: bool = True
    """
    True if all options are asked for, rather than only bounds where these are known.
    """
    too_many: bool = False
    """True if some sets of values were left out."""
    _known: dict[tuple[int, ...], list[Outcome]] = field(
        default_factory=dict[tuple[int, ...], list[Outcome]]
    )

    def future_uses(self, group: int, after: int) -> FutureUses:
        """
        Return the later uses of the values of a group that leaves `after` all done.
        """
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
        return FutureUses(*sets, (structure.form, *map(structure.encode, sets)))

    def outcomes_of(
        self, group: int, fates: FutureUses, resident: int, only: int, taken: int
    ) -> list[Outcome]:
        """
        The outcomes of a group. `resident` are the inputs that are there, `only` those
        of them that are nowhere else, and `taken` the bytes of other values.
        """
        structure = self.memo.groups.structure(group)
        encode, decode = structure.encode, structure.decode
        key = (*fates.key, encode(resident), encode(only), taken)
        if (known := self._known.get(key)) is None:
            found = list(self._find_outcomes(group, fates, resident, only, taken))
            self._known[key] = [
                Outcome(encode(kept), encode(nowhere), encode(stored), options, priced)
                for kept, nowhere, stored, options, priced in found
            ]
            return found
        self.memo.cache_hits += len(known)
        return [
            Outcome(decode(kept), decode(nowhere), decode(stored), options, priced)
            for kept, nowhere, stored, options, priced in known
        ]

    def _find_outcomes(
        self, group: int, fates: FutureUses, resident: int, only: int, taken: int
    ) -> Iterator[Outcome]:
        """The outcomes of a group, of a structure not met before."""
        if not self.memo.is_runnable(group):
            return
        problem = self.memo.groups.problem
        outputs = self.memo.groups.boundary(group).outputs
        for kept, stored in self._enumerate_residency(outputs, fates, only):
            if problem.size_of(kept) + taken > problem.capacity:
                continue
            context = Context(resident, kept, stored, taken)
            options, is_priced = self._evaluate_options(group, context)
            if options:
                nowhere = kept & (only | (outputs & ~stored))
                yield Outcome(kept, nowhere, stored, options, is_priced)

    def _enumerate_residency(
        self, outputs: int, fates: FutureUses, only: int
    ) -> Iterator[Residency]:
        """Sets of values that stay, and of outputs that are stored."""
        if not self.retain:
            yield 0, outputs
            return
        ways = _residency_candidates(outputs, fates, only)
        found: Iterable[tuple[Residency, ...]] = product(*ways)
        if prod(map(len, ways)) > self.max_residency_sets:
            self.too_many = True
            found = dict.fromkeys(_prune_candidates(ways))
        for choice in found:
            yield sum(kept for kept, _ in choice), sum(stored for _, stored in choice)

    def _evaluate_options(
        self, group: int, context: Context
    ) -> tuple[tuple[Option, ...], bool]:
        """The ways to run a group, or what none of them beats; which of the two."""
        if self.has_exact_costs:
            return self.memo.options(group, context), True
        return self.memo.bounds(group, context)


def _residency_candidates(
    outputs: int, fates: FutureUses, only: int
) -> list[list[Residency]]:
    """For each value of a group, what may become of it."""
    ways: list[list[Residency]] = []
    for number in members(fates.reused_inputs):
        value = 1 << number
        ways.append([(value, 0)] if only & value else [(0, 0), (value, 0)])
    for number in members(outputs):
        value = 1 << number
        found = [(0, value)]
        if fates.reused_outputs & ~fates.returned & value:
            found.append((value, 0))
        if fates.reused_outputs & (fates.returned | fates.multi_use_outputs) & value:
            found.append((value, value))
        ways.append(found)
    return ways


def _prune_candidates(
    ways: Sequence[Sequence[Residency]],
) -> Iterator[tuple[Residency, ...]]:
    """None that need not stay, all, each of them alone, and all but each."""
    none = tuple(each[0] for each in ways)
    every = tuple(each[min(1, len(each) - 1)] for each in ways)
    yield none
    yield every
    for place, each in enumerate(ways):
        if len(each) > 1:
            yield (*none[:place], every[place], *none[place + 1 :])
            yield (*every[:place], none[place], *every[place + 1 :])
