"""
Memoized results of the partition's cost model, without IR, shared by isomorphic groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.support.partition.cost_model import CostModel, Option, ResidencyContext
from tlf.support.partition.group_structure import GroupStructures

ResidencyKey = tuple[int, int, int, int]
"""Form of a group, then its resident, retained and stored values in canonical bits."""


@dataclass(frozen=True)
class CachedOptions:
    """
    Options of a group that fit into `free_bytes` bytes; none needs more than
    `max_needed_bytes`. As they are the best of all that fit into `free_bytes`, they are
    also the best of all that fit into fewer bytes, down to `max_needed_bytes`.
    """

    free_bytes: int
    max_needed_bytes: int
    options: tuple[Option, ...]


@dataclass
class CostMemo:
    """
    Memoized queries of a cost model about the groups of a problem: one query for groups
    of the same structure with the same values resident, retained and stored.
    """

    costs: CostModel
    groups: GroupStructures
    queries: int = 0
    """Number of queries of the cost model for options."""
    cache_hits: int = 0
    """Number of queries that the memo answered."""
    has_prefetch: bool = False
    """True if any option of a group has prefetched transfers."""
    _answers: dict[ResidencyKey, list[CachedOptions]] = field(
        default_factory=dict[ResidencyKey, list[CachedOptions]]
    )
    _bounds: dict[ResidencyKey, Option | None] = field(
        default_factory=dict[ResidencyKey, "Option | None"]
    )
    _runnable: dict[int, bool] = field(default_factory=dict[int, bool])
    _objections: dict[int, str | None] = field(default_factory=dict[int, str | None])

    def objection_to_group(self, group: int) -> str | None:
        """Return the cost model's objection to a group, or None if it has none."""
        if group not in self._objections:
            self._objections[group] = self.costs.objection_to_group(group)
        return self._objections[group]

    def is_runnable(self, group: int) -> bool:
        """
        Return `True` if the cost model may have options for a group; memoized by
        structure.
        """
        form = self.groups.structure_of(group).canonical_form
        if form not in self._runnable:
            self._runnable[form] = self.costs.is_runnable(group)
        return self._runnable[form]

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> tuple[Option, ...]:
        """
        Return the memoized options of a group in a context, without dominated ones.
        """
        key = self._residency_key(group, context)
        if (cached := self._find_cached_options(key, context)) is not None:
            self.cache_hits += 1
            return cached
        self.queries += 1
        free = self.groups.problem.capacity - context.occupied_bytes
        options = _prune_dominated_options(
            self.costs.options_of_group(group, context), free
        )
        self.has_prefetch |= any(option.prefetch_cycles for option in options)
        needed = max((option.footprint for option in options), default=0)
        self._answers.setdefault(key, []).append(CachedOptions(free, needed, options))
        return options

    def options_or_bounds(
        self, group: int, context: ResidencyContext
    ) -> tuple[tuple[Option, ...], bool]:
        """
        Return the options of a group and True, if they are cached or the cost model has
        no cheaper bound; else a lower bound on all of them, as one option, and False.
        """
        key = self._residency_key(group, context)
        if (cached := self._find_cached_options(key, context)) is not None:
            self.cache_hits += 1
            return cached, True
        if key not in self._bounds:
            self._bounds[key] = self.costs.bound_of_options(group, context)
        if (bound := self._bounds[key]) is None:
            return self.options_of_group(group, context), True
        return (bound,), False

    def _residency_key(self, group: int, context: ResidencyContext) -> ResidencyKey:
        """
        Return the memo key of a group: its canonical form, and the value sets of
        `context` in canonical bits, without the occupied bytes.
        """
        structure = self.groups.structure_of(group)
        return (
            structure.canonical_form,
            structure.encode_values(context.resident),
            structure.encode_values(context.retained),
            structure.encode_values(context.stored),
        )

    def _find_cached_options(
        self, key: ResidencyKey, context: ResidencyContext
    ) -> tuple[Option, ...] | None:
        """Return the cached options that are valid for the free bytes, or None."""
        free = self.groups.problem.capacity - context.occupied_bytes
        for answer in self._answers.get(key, ()):
            if answer.max_needed_bytes <= free <= answer.free_bytes:
                return answer.options
        return None


def _prune_dominated_options(
    options: Sequence[Option], free_bytes: int
) -> tuple[Option, ...]:
    """
    Return the options that fit into `free_bytes` bytes and that no other one dominates,
    the fastest first.
    """
    best: list[Option] = []
    fitting = (option for option in options if option.footprint <= free_bytes)
    for option in sorted(fitting, key=lambda o: (o.time, o.bytes, o.footprint)):
        if not any(_is_option_dominating(other, option) for other in best):
            best.append(option)
    return tuple(best)


def _is_option_dominating(option: Option, slower_option: Option) -> bool:
    """Return `True` if an option dominates another one that takes at least as long."""
    slack, other_slack = (
        min(each.idle_cycles, each.prefetch_capacity)
        for each in (option, slower_option)
    )
    return (
        option.bytes <= slower_option.bytes
        and option.prefetch_cycles <= slower_option.prefetch_cycles
        and slack >= other_slack
    )
