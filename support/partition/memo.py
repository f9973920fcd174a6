"""The answers of a cost model, each asked for once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tlf.support.partition.costs import Context, Costs, Option
from tlf.support.partition.groups import Groups

Residency = tuple[int, int, int, int]
"""The form of a group, then what is resident, kept and stored, by place."""


@dataclass(frozen=True)
class Answer:
    """
    The ways to run a group that fit into `free` bytes, which need `needed` at most. As
    they are the best of all that fit, they are also the best of those that fit into
    less, down to `needed`.
    """

    free: int
    needed: int
    options: tuple[Option, ...]


@dataclass
class Memo:
    """
    Asks a cost model about the groups of a problem, once for groups of the same
    structure with the same values resident, kept and stored.
    """

    costs: Costs
    groups: Groups
    asked: int = 0
    """Number of queries of the cost model for options."""
    remembered: int = 0
    """Number of queries whose answer was known."""
    has_early: bool = False
    """True if any option of a group has early moves."""
    _answers: dict[Residency, list[Answer]] = field(
        default_factory=dict[Residency, list[Answer]]
    )
    _bounds: dict[Residency, Option | None] = field(
        default_factory=dict[Residency, "Option | None"]
    )
    _runnable: dict[int, bool] = field(default_factory=dict[int, bool])
    _objections: dict[int, str | None] = field(default_factory=dict[int, str | None])

    def objection(self, group: int) -> str | None:
        """Return the cost model's objection to a group; `None` if it has none."""
        if group not in self._objections:
            self._objections[group] = self.costs.objection(group)
        return self._objections[group]

    def is_runnable(self, group: int) -> bool:
        """Return `True` if the cost model may have options for a group."""
        form = self.groups.structure(group).form
        if form not in self._runnable:
            self._runnable[form] = self.costs.is_runnable(group)
        return self._runnable[form]

    def options(self, group: int, context: Context) -> tuple[Option, ...]:
        """The ways to run a group, none of which another one beats."""
        key = self._residency(group, context)
        if (known := self._known(key, context)) is not None:
            self.remembered += 1
            return known
        self.asked += 1
        free = self.groups.problem.capacity - context.taken
        options = _undominated(self.costs.options(group, context), free)
        self.has_early |= any(option.early for option in options)
        needed = max((option.footprint for option in options), default=0)
        self._answers.setdefault(key, []).append(Answer(free, needed, options))
        return options

    def bounds(self, group: int, context: Context) -> tuple[tuple[Option, ...], bool]:
        """
        The ways to run a group and True, if they are known or as cheap to find as what
        none of them beats; else that, as if it were one, and False.
        """
        key = self._residency(group, context)
        if (known := self._known(key, context)) is not None:
            self.remembered += 1
            return known, True
        if key not in self._bounds:
            self._bounds[key] = self.costs.bound(group, context)
        if (bound := self._bounds[key]) is None:
            return self.options(group, context), True
        return (bound,), False

    def _residency(self, group: int, context: Context) -> Residency:
        structure = self.groups.structure(group)
        return (
            structure.form,
            structure.encode(context.resident),
            structure.encode(context.kept),
            structure.encode(context.stored),
        )

    def _known(self, key: Residency, context: Context) -> tuple[Option, ...] | None:
        """The answer that holds for what is not taken, if there is one."""
        free = self.groups.problem.capacity - context.taken
        for answer in self._answers.get(key, ()):
            if answer.needed <= free <= answer.free:
                return answer.options
        return None


def _undominated(options: Sequence[Option], free: int) -> tuple[Option, ...]:
    """Those that fit and that no other one beats in everything, the fastest first."""
    best: list[Option] = []
    fitting = (option for option in options if option.footprint <= free)
    for option in sorted(fitting, key=lambda o: (o.time, o.bytes, o.footprint)):
        if not any(_beats(other, option) for other in best):
            best.append(option)
    return tuple(best)


def _beats(one: Option, other: Option) -> bool:
    """
    Return `True` if an option is as good as another one that takes as long, or longer.
    """
    hidden, later = (min(each.idle, each.room) for each in (one, other))
    return one.bytes <= other.bytes and one.early <= other.early and hidden >= later
