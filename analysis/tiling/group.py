"""Members of a group, their shared axes, and their smallest tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.bands import SystolicArray
from tlf.analysis.operations.form import Form, Forms
from tlf.analysis.recurrence.anchors import longest_cascade
from tlf.analysis.recurrence.axes import AxisClasses
from tlf.analysis.recurrence.cascade import Cascade, cascade_of
from tlf.analysis.tiling.analysis import analyse, outline
from tlf.analysis.tiling.axes import Axes
from tlf.analysis.tiling.model import GroupTiling, Looped, TilingError
from tlf.analysis.tiling.pieces import Beside
from tlf.analysis.tiling.results import leading_of, led_by, results_of
from tlf.analysis.tiling.rolling import Rolling
from tlf.analysis.tiling.rules import Rules
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.target import Level, Target
from tlf.dialects.target.machine import machine_of

LONG = 512
"""Contractions of so many terms may have a loop of their own in that of a cascade."""

LESS = 2
"""A loop is built instead of a longer one whose tiles need so many times more bytes."""


def rules_of(target: Target, level: str) -> Rules:
    """Return the constraints on tiles in a memory level of the target."""
    found = target.levels.get(level)
    nearest = next(iter(target.levels.values()))
    is_between = found is not None and found.kind == "buffer" and found is not nearest
    is_nearest = found is not None and found.kind == "buffer" and found is nearest
    return Rules(
        power_of_two=target.tiling.power_of_two,
        views=found is None or found.kind == "buffer",
        gathers=found is not None and found.kind == "value",
        indexed=found is not None and found.follows_indices,
        ordered=is_between,
        cascades=found is not None,
        nests=found is not None and found.kind == "value",
        again=is_between,
        alignment=1 if found is None else found.alignment,
        array=SystolicArray.of(machine_of(target)) if is_nearest else None,
    )


@dataclass(frozen=True)
class _Choice:
    """The reduction that has a loop, and the axes of the group with it."""

    loop: Looped
    axes: Axes
    smallest: GroupTiling | None = None
    """Its smallest tiles, where a reduction has a loop."""

    @cached_property
    def bytes(self) -> int:
        """Those of its smallest tiles."""
        return 0 if self.smallest is None else self.smallest.bytes()


@dataclass(frozen=True)
class Members:
    """Operations that might become a group, in program order, and their results."""

    operations: tuple[TilingInterface, ...]
    results: tuple[SSAValue, ...]
    forms: Forms = field(default_factory=Forms, compare=False, repr=False)
    """Cached forms of the operations, valid as long as these do not change."""
    _choices: dict[Rules, _Choice] = field(
        default_factory=dict["Rules", "_Choice"], compare=False, repr=False
    )

    @property
    def root(self) -> TilingInterface:
        """The operation that loops are built for."""
        owner = self.results[0].owner
        if not isinstance(owner, TilingInterface):
            raise TilingError(self.operations[0], "expected a result of the group")
        return owner

    @property
    def accumulating(self) -> tuple[AccumulatingInterface, ...]:
        """The operations that combine many values into one."""
        return tuple(
            op for op in self.operations if isinstance(op, AccumulatingInterface)
        )

    @cached_property
    def cascade(self) -> Cascade | None:
        """The operations that may accumulate in one loop, if there are several."""
        if len(self.accumulating) < 2:
            return None
        return longest_cascade(self.operations, self.forms, self.classes)

    @cached_property
    def classes(self) -> AxisClasses:
        """Classes of iterators that run along the same axis."""
        return AxisClasses.of(self.operations, self.forms)

    @property
    def _cascades(self) -> Iterator[Cascade]:
        """The longest one, and that of the last reduction, if it is another one."""
        if (longest := self.cascade) is None:
            return
        yield longest
        if longest.anchor is not self.accumulating[-1]:
            last = cascade_of(self.operations, self.forms, axes=self.classes)
            yield from () if last is None else (last,)

    def tiling(
        self,
        tile: Sequence[int],
        reduce: Sequence[int],
        rules: Rules,
        rolling: Rolling | None = None,
    ) -> GroupTiling:
        """The tiles of the group, were it tiled like this."""
        looped = self._looped(rules).loop if reduce else None
        return self._tiled(tile, reduce, rules, looped, rolling)

    def _tiled(
        self,
        tile: Sequence[int],
        reduce: Sequence[int],
        rules: Rules,
        looped: Looped | None,
        rolling: Rolling | None = None,
    ) -> GroupTiling:
        group = self.operations, self.results, tile, reduce, rules, rolling
        return analyse(*group, self.forms, looped, self._beside)

    @cached_property
    def _beside(self) -> Beside:
        """Analysis of the results beside the first one."""
        about = self.operations, self.forms, self._products_beside
        return Beside(*about, lambda: self.classes)

    def _products_beside(self) -> AbstractSet[Operation]:
        """The contractions of one loop, if it adds up several."""
        steps = () if self.cascade is None else self.cascade.steps
        found = {op for op in steps if isinstance(op, ContractionInterface)}
        return found if len(found) > 1 else set()

    def loop(self, rules: Rules) -> Looped:
        """
        Return the reduction that has a loop. Raises `TilingError` if the group does not
        tile.
        """
        return self._looped(rules).loop

    def axes(self, rules: Rules) -> Axes:
        """
        The axes that can be tiled. Raises `TilingError` where the group does not tile.
        """
        return self._looped(rules).axes

    def smallest(self, rules: Rules) -> GroupTiling:
        """The smallest tiles. Raises `TilingError` where the group does not tile."""
        choice = self._looped(rules)
        if choice.smallest is not None:
            return choice.smallest
        axes = choice.axes
        return self.tiling(axes.least(), axes.least_reduction(), rules)

    def _looped(self, rules: Rules) -> _Choice:
        """Return the reduction that has a loop, and the axes with it."""
        if rules not in self._choices:
            self._choices[rules] = self._chosen(rules)
        return self._choices[rules]

    def _chosen(self, rules: Rules) -> _Choice:
        found = map(partial(self._choice, rules), self._anchors(rules))
        legal = [each for each in found if each is not None]
        if not legal:
            return _Choice(Looped(), self._parallel_axes(rules, Looped()))
        first, *others = legal
        smaller = (each for each in others if LESS * each.bytes < first.bytes)
        return next(smaller, first)

    def _anchors(self, rules: Rules) -> Iterator[Looped]:
        """
        Yield the candidates for the loop over a reduction: the only one; or the anchors
        of cascades with all that run along, for the longest and the last one, and the
        only contraction, where the others run whole behind.
        """
        if len(self.accumulating) == 1:
            yield Looped(self.accumulating[0])
        if len(self.accumulating) < 2 or not rules.cascades:
            return
        for cascade in self._cascades:
            nested = self._nested(cascade) if rules.nests else ()
            yield Looped(cascade.anchor, cascade, nested)
        if (product := self.product) is not None:
            yield Looped(product)

    def _nested(self, cascade: Cascade) -> tuple[AccumulatingInterface, ...]:
        """Long contractions of nothing but inputs that run in the loop of a cascade."""
        return tuple(
            op
            for op in self.accumulating
            if isinstance(op, ContractionInterface)
            and op not in (*cascade.steps, *cascade.before)
            and not any(operand.owner in self.operations for operand in op.operands)
            and prod(self.forms.of(op).reduction_extents) >= LONG
        )

    @property
    def product(self) -> ContractionInterface | None:
        """The contraction, if there is one."""
        found = [op for op in self.accumulating if isinstance(op, ContractionInterface)]
        return found[0] if len(found) == 1 else None

    def _choice(self, rules: Rules, looped: Looped) -> _Choice | None:
        """The axes if a reduction has a loop, where its smallest tiles are legal."""
        whole = self._parallel_axes(rules, looped)
        axes = self._with_reduction(whole, looped)
        least = axes.least(), axes.least_reduction()
        try:
            tiling = self._tiled(*least, rules, looped)
        except TilingError:
            return None
        return _Choice(looped, axes, tiling)

    def _parallel_axes(self, rules: Rules, looped: Looped) -> Axes:
        """The axes, were reductions to run whole."""
        root = self.root
        form = self.forms.of(root)
        parallel = form.parallel_extents
        whole = _untileable(form, form.parallel)
        unit = [
            extent if position in whole else 1
            for position, extent in enumerate(parallel)
        ]
        views = replace(rules, views=True)
        group = self.operations, self.results, unit, (), views
        tiling = outline(*group, forms=self.forms, beside=self._beside)
        repeated = self._repeatable(looped)
        free = tuple(
            position in tiling.loops and self._all_move(tiling, position, repeated)
            for position in form.parallel
        )
        return Axes(parallel, free, (), ())

    def _with_reduction(self, axes: Axes, looped: Looped) -> Axes:
        """The axes with those of a reduction that has a loop."""
        assert looped.anchor is not None
        nested = sum(len(self.forms.of(op).reductions) for op in looped.nested)
        extents, free = list[int](), list[bool]()
        for op in (looped.anchor, *looped.nested):
            form = self.forms.of(op)
            kept = _untileable(form, form.reductions)
            extents += form.reduction_extents
            free += (at not in kept for at in range(len(form.reductions)))
        return replace(
            axes,
            reduction=tuple(extents),
            reduction_free=tuple(free),
            nested=nested,
        )

    def _all_move(
        self, tiling: GroupTiling, position: int, repeated: AbstractSet[Operation]
    ) -> bool:
        """
        Return `True` if all results, each of whose elements one tile writes, move along
        an axis, and so do all accumulating operations, except those that may be
        repeated.
        """
        loop = tiling.loops[position]
        bound = {result.owner for result in self.results}
        bound |= set(self.accumulating) - repeated
        return all(
            any(symbol is loop for each in tiled.box for symbol, _ in each.offset.terms)
            for op, tiled in tiling.tiles.items()
            if op in bound
        )

    def _repeatable(self, looped: Looped) -> set[Operation]:
        """
        Return the reductions beside the anchor that do not depend on another
        contraction.
        """
        if (cascade := looped.cascade) is None:
            return set()
        costly = set[Operation]()
        for op in self.operations:
            owners = [operand.owner for operand in op.operands]
            if any(e in costly or isinstance(e, ContractionInterface) for e in owners):
                costly.add(op)
        return {*cascade.steps, *cascade.before} - costly - {cascade.anchor}


def _untileable(form: Form, positions: Sequence[int]) -> set[int]:
    """Return the indices of those iterators that cannot be tiled."""
    found = enumerate(positions)
    return {at for at, position in found if position in form.untileable}


def fits(tiling: GroupTiling, level: Level, target: Target, stages: int = 1) -> bool:
    """
    Return `True` if the tiles of a group fit in a memory level at once: in a level of
    buffers all of them, those that are loaded and stored once for each stage; in a
    level of values those that are being loaded.
    """
    limit = target.tiling.max_elements
    if limit is not None and tiling.largest() > limit:
        return False
    return _needed(tiling, level, stages) <= level.capacity


def _needed(tiling: GroupTiling, level: Level, stages: int = 1) -> int:
    """The bytes of a memory level that the tiles of a group take."""
    return tiling.bytes(stages) if level.kind == "buffer" else tiling.read_bytes()


def misfit(members: Members, level: Level, target: Target) -> str | None:
    """
    Return why operations are not a group: its results are not used, it cannot be tiled,
    or its smallest tiles do not fit in the level. None if they are one.
    """
    if not members.results:
        return "nothing uses what it computes"
    if (tiling := smallest(members, level, target)) is None:
        return "no tile of one is computed from a tile of the other"
    if fits(tiling, level, target):
        return None
    needed, limit = _needed(tiling, level), target.tiling.max_elements
    if needed > level.capacity or limit is None:
        return too_large(needed, level)
    return (
        f"a tile of it has {tiling.largest():,} elements at least, and {level.name} "
        f"takes {limit:,}"
    )


def too_large(needed: int, level: Level) -> str:
    """
    Return the message for a group whose smallest tiles need more bytes than a level
    has.
    """
    return (
        f"the smallest tiles of both need {needed:,} bytes, and {level.name} has "
        f"{level.capacity:,}"
    )


def smallest(members: Members, level: Level, target: Target) -> GroupTiling | None:
    """The smallest tiles of a group, or None where it cannot be tiled."""
    try:
        return members.smallest(rules_of(target, level.name))
    except TilingError:
        return None


def members_of(
    operations: Sequence[TilingInterface], forms: Forms | None = None
) -> Members:
    """
    The group of some operations of one block, given in program order: its results are
    the values that others use, that of the last operation first. The one that loops are
    built for is computed last. `forms` are what is known of operations.
    """
    results = results_of(operations)
    if (leading := leading_of(results, operations)) is not None:
        operations = led_by(leading, operations)
        results = results_of(operations)
    return Members(tuple(operations), tuple(results), forms or Forms())
