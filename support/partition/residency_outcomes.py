"""
Residency outcomes of a group, without IR: values that stay in the inner level after it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from tlf.support.bit_sets import elements_of_mask
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import Option, ResidencyContext

Residency: TypeAlias = tuple[int, int]
"""Retained values and stored outputs, as sets."""


class ResidencyOutcome(NamedTuple):
    """Options of a group with the same values retained and stored; sets of values."""

    retained: int
    """Values of the group that are retained."""
    dirty: int
    """Retained values that are in no other level."""
    stored: int
    """Outputs that are stored to the outermost level."""
    options: tuple[Option, ...]
    has_exact_cost: bool = True
    """
    True if these are the actual options, rather than a lower bound on all of them.
    """


class FutureUses(NamedTuple):
    """Uses of the values of a group after it has run, as bit sets of values."""

    reused_inputs: int
    """Inputs that are read later."""
    reused_outputs: int
    """Outputs that are read later."""
    multi_use_outputs: int
    """Outputs that more than one operation reads later."""
    returned: int
    """Outputs that the graph returns."""
    key: tuple[int, ...]
    """Form of the group, then the sets above in canonical bits."""


@dataclass
class ResidencyOutcomes:
    """
    Enumeration of the residency outcomes of groups. A value is resident in the inner
    level from a group that reads or writes it to the next group that reads it, or
    longer, in steps of this kind.

    - An input with later uses may be retained, resident or loaded before. It must be
      retained if it is in no other level.
    - An output with later uses is retained or stored; both, if the graph returns it or
      if more than one operation uses it.

    Groups of one structure whose values have the same later uses have the same
    outcomes, which are memoized in canonical bits.
    """

    memo: CostMemo
    max_residency_sets: int
    """Maximum number of residency sets of a group, above which some are dropped."""
    retain: bool = True
    """True if values may stay resident at all."""
    has_exact_costs: bool = True
    """
    True if all options are queried, False if bounds are enough where they are cheaper.
    """
    has_dropped_residencies: bool = False
    """True if some residency sets were dropped."""
    _known: dict[tuple[int, ...], list[ResidencyOutcome]] = field(
        default_factory=dict[tuple[int, ...], list[ResidencyOutcome]]
    )

    def future_uses(self, group: int, downset: int) -> FutureUses:
        """
        Return the uses of the values of a group after the downset `downset`, which
        includes the group.
        """
        problem = self.memo.groups.problem
        boundary = self.memo.groups.boundary_of(group)
        reused_inputs = reused_outputs = multi_use = 0
        for value in elements_of_mask(boundary.inputs):
            if problem.consumers[value] & ~downset:
                reused_inputs |= 1 << value
        for value in elements_of_mask(boundary.outputs):
            if users := problem.consumers[value] & ~downset:
                reused_outputs |= 1 << value
                multi_use |= (1 << value) if users & (users - 1) else 0
        sets = (
            reused_inputs,
            reused_outputs,
            multi_use,
            boundary.outputs & problem.outputs,
        )
        structure = self.memo.groups.structure_of(group)
        return FutureUses(
            *sets, (structure.canonical_form, *map(structure.encode_values, sets))
        )

    def outcomes_of(
        self,
        group: int,
        uses: FutureUses,
        resident: int,
        dirty_inputs: int,
        occupied_bytes: int,
    ) -> list[ResidencyOutcome]:
        """
        Return the outcomes of a group. `resident` are the inputs in the inner level,
        `dirty_inputs` those of them that are in no other level, and `occupied_bytes`
        the bytes of other values.
        """
        structure = self.memo.groups.structure_of(group)
        encode, decode = structure.encode_values, structure.decode_values
        key = (*uses.key, encode(resident), encode(dirty_inputs), occupied_bytes)
        if (cached := self._known.get(key)) is None:
            outcomes = list(
                self._enumerate_outcomes(
                    group, uses, resident, dirty_inputs, occupied_bytes
                )
            )
            self._known[key] = [
                ResidencyOutcome(
                    encode(retained), encode(dirty), encode(stored), options, is_exact
                )
                for retained, dirty, stored, options, is_exact in outcomes
            ]
            return outcomes
        self.memo.cache_hits += len(cached)
        return [
            ResidencyOutcome(
                decode(retained), decode(dirty), decode(stored), options, is_exact
            )
            for retained, dirty, stored, options, is_exact in cached
        ]

    def _enumerate_outcomes(
        self,
        group: int,
        uses: FutureUses,
        resident: int,
        dirty_inputs: int,
        occupied_bytes: int,
    ) -> Iterator[ResidencyOutcome]:
        """Yield the outcomes of a group whose structure is not memoized yet."""
        if not self.memo.is_runnable(group):
            return
        problem = self.memo.groups.problem
        outputs = self.memo.groups.boundary_of(group).outputs
        for retained, stored in self._enumerate_residency(outputs, uses, dirty_inputs):
            if problem.size_of(retained) + occupied_bytes > problem.capacity:
                continue
            context = ResidencyContext(resident, retained, stored, occupied_bytes)
            options, is_exact = self._options_or_bounds(group, context)
            if options:
                dirty = retained & (dirty_inputs | (outputs & ~stored))
                yield ResidencyOutcome(retained, dirty, stored, options, is_exact)

    def _enumerate_residency(
        self, outputs: int, uses: FutureUses, dirty_inputs: int
    ) -> Iterator[Residency]:
        """Yield pairs of bit sets: the values to retain, and the outputs to store."""
        if not self.retain:
            yield 0, outputs
            return
        candidates = _residency_candidates(outputs, uses, dirty_inputs)
        choices: Iterable[tuple[Residency, ...]] = product(*candidates)
        if prod(map(len, candidates)) > self.max_residency_sets:
            self.has_dropped_residencies = True
            choices = dict.fromkeys(_limited_residency_combinations(candidates))
        for choice in choices:
            yield (
                sum(retained for retained, _ in choice),
                sum(stored for _, stored in choice),
            )

    def _options_or_bounds(
        self, group: int, context: ResidencyContext
    ) -> tuple[tuple[Option, ...], bool]:
        """
        Return the options of a group or a lower bound on them, and True if they are
        exact.
        """
        if self.has_exact_costs:
            return self.memo.options_of_group(group, context), True
        return self.memo.options_or_bounds(group, context)


def _residency_candidates(
    outputs: int, uses: FutureUses, dirty_inputs: int
) -> list[list[Residency]]:
    """
    Return, for each reused input and each output, its possible pairs of a retained and
    a stored bit set.
    """
    candidates: list[list[Residency]] = []
    for index in elements_of_mask(uses.reused_inputs):
        value = 1 << index
        candidates.append(
            [(value, 0)] if dirty_inputs & value else [(0, 0), (value, 0)]
        )
    for index in elements_of_mask(outputs):
        value = 1 << index
        residencies = [(0, value)]
        if uses.reused_outputs & ~uses.returned & value:
            residencies.append((value, 0))
        if uses.reused_outputs & (uses.returned | uses.multi_use_outputs) & value:
            residencies.append((value, value))
        candidates.append(residencies)
    return candidates


def _limited_residency_combinations(
    candidates_by_value: Sequence[Sequence[Residency]],
) -> Iterator[tuple[Residency, ...]]:
    """
    Yield these combinations: retain no value that need not be, all values, each one
    only, and all but each one.
    """
    none = tuple(each[0] for each in candidates_by_value)
    every = tuple(each[min(1, len(each) - 1)] for each in candidates_by_value)
    yield none
    yield every
    for position, each in enumerate(candidates_by_value):
        if len(each) > 1:
            yield (*none[:position], every[position], *none[position + 1 :])
            yield (*every[:position], none[position], *every[position + 1 :])
