"""
Groups that run as one because their reductions do, along one axis, or whole.

What a contraction computes for a reduction or another contraction along one of its own
axes need not be in memory, if all of them are in one loop along this axis, or if a tile
has all of it. Whether that pays is a question of time: the model of the target prices
both ways.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tlf.analysis.operations.form import Forms
from tlf.analysis.tiling.group import Members, members_of
from tlf.analysis.tiling.structure import Structures
from tlf.dialects import tile
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.target import Target
from tlf.planner.estimator import Estimator
from tlf.planner.fusion.leading import Part, leading_to, read_by, reading_with

ALIKE = 0.05
"""By what part one loop may take longer than its parts: it needs less memory."""


@dataclass(frozen=True)
class Price:
    """The cycles of groups as one loop, and apart; None where they have no tiles."""

    together: int | None
    apart: int | None

    @property
    def pays(self) -> bool:
        """True if one loop pays off."""
        if self.together is None or self.apart is None:
            return False
        return self.together < (1 + ALIKE) * self.apart

    @property
    def text(self) -> str:
        """Reason given where they stay apart."""
        if self.together is None or self.apart is None:
            return "no tiles of it fit"
        return f"{self.together:,} cycles by the model, apart {self.apart:,}"


@dataclass
class Cascades:
    """Prices groups that may be joined."""

    target: Target
    estimator: Estimator
    forms: Forms = field(default_factory=Forms)
    _structures: Structures = field(default_factory=Structures)
    _prices: dict[Hashable, Price] = field(default_factory=dict[Hashable, "Price"])

    def pay(self, members: Members, parts: Sequence[Part]) -> bool:
        """
        Return `True` if groups run faster as one loop. It is always taken for the
        pieces of a loop for an outer level, as its tiles leave no room for intermediate
        results between groups.
        """
        if is_piece(members, members.root.parent_op()):
            return True
        return self.price(members, parts).pays

    def price(self, members: Members, parts: Sequence[Part]) -> Price:
        """Return the price of groups as one loop, and apart."""
        key = self._structures.of(members.operations, members.results)
        if key not in self._prices:
            self._prices[key] = self._price(members, parts)
        return self._prices[key]

    def _price(self, members: Members, parts: Sequence[Part]) -> Price:
        if members.cascade is None and members.product is None:
            return Price(None, None)
        if (together := self.estimator.fastest(members)) is None:
            return Price(None, None)
        groups = (members_of(part, self.forms) for part in parts)
        apart = [each for each in map(self.estimator.fastest, groups) if each]
        return Price(together, sum(apart) if len(apart) == len(parts) else None)


def is_piece(members: Members, around: Operation | None) -> bool:
    """
    Return `True` if a cascade is the body of a loop with running totals around it, for
    each piece.
    """
    if not isinstance(around, tile.WhileOp) or around.parallel:
        return False
    return members.cascade is not None


def candidates(groups: Mapping[Operation, Part], forms: Forms) -> Iterator[list[Part]]:
    """
    For each reduction of a block, the last one first, its group and those before it
    that compute along the axis it reduces: for what it reduces, then for all of its
    group; with all that read the same; then each alone that it reads from. Groups
    may be joined on the way.
    """
    for op in reversed(list(groups)):
        if not isinstance(op, AccumulatingInterface):
            continue
        if len(forms.of(op).reductions) != 1:
            continue
        for values in (op.inputs, read_by(groups[op])):
            parts = leading_to(groups[op], values, groups)
            if len(parts) > 1:
                yield parts
        parts = reading_with(groups[op], op.inputs, groups)
        if len(parts) > 1:
            yield parts
        for value in read_by(groups[op]):
            owner = value.owner
            before = groups.get(owner) if isinstance(owner, Operation) else None
            if before is not None and before is not groups[op]:
                yield [groups[op], before]
