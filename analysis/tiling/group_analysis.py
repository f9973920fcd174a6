"""
Analysis of a candidate group: its reduction loop, tileable axes and smallest tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.analysis.operations.op_facts import OpFacts, OpFactsCache
from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.analysis.recurrence.cascade import Cascade, find_cascade
from tlf.analysis.recurrence.cascade_anchor import find_longest_cascade
from tlf.analysis.tiling.backward_tiles import (
    analyze_group_tiles,
    analyze_tiles_without_verification,
    verify_result_tiles,
)
from tlf.analysis.tiling.chained_products import find_chained_product
from tlf.analysis.tiling.group_results import (
    find_leading_result,
    move_producers_last,
    results_used_outside,
)
from tlf.analysis.tiling.group_tiling import GroupTiling, ReductionLoop, TilingError
from tlf.analysis.tiling.parametric_tiling import ParametricTiling
from tlf.analysis.tiling.result_tiles import ResultAlignment
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine

MIN_NESTED_TERMS = 512
"""
Minimum number of terms of a contraction with a loop nested in the loop of a cascade.
"""

MIN_BYTES_RATIO = 2
"""
Minimum ratio of the footprints of two reduction loops at which the shorter one, with
smaller tiles, is selected.
"""


UNTILEABLE = "no tile of one is computed from a tile of the other"
"""Reason why no tiles of two operations run in one group."""


def tile_rules_of(target: TargetSpec, level: str) -> TileRules:
    """Return the constraints on tiles in a memory level of the target."""
    spec = target.levels.get(level)
    innermost = next(iter(target.levels.values()))
    is_intermediate = (
        spec is not None and spec.kind == "buffer" and spec is not innermost
    )
    is_innermost = spec is not None and spec.kind == "buffer" and spec is innermost
    return TileRules(
        power_of_two=target.tiling.power_of_two,
        has_views=spec is None or spec.kind == "buffer",
        has_gather_moves=spec is not None and spec.kind == "value",
        has_indexed_moves=spec is not None and spec.has_indexed_moves,
        is_axis_ordered=is_intermediate,
        has_cascades=spec is not None,
        has_nested_loops=spec is not None and spec.kind == "value",
        has_variable_trips=spec is not None and spec.kind == "value",
        is_retiled=is_intermediate,
        alignment=1 if spec is None else spec.alignment,
        array=SystolicArray.of(build_npu_machine(target)) if is_innermost else None,
    )


@dataclass(frozen=True)
class _LoopChoice:
    """Reduction that has a loop, and the tileable axes of the group with this loop."""

    loop: ReductionLoop
    axes: TileableAxes
    min_tiling: GroupTiling | None = None
    """Smallest tiles, if a reduction has a loop."""

    @cached_property
    def min_bytes(self) -> int:
        """Total bytes of the smallest tiles."""
        return 0 if self.min_tiling is None else self.min_tiling.bytes_of_all_tiles()


_ParametricKey: TypeAlias = "tuple[TileRules, int, bool, RollingPolicy | None]"
"""Rules, number of parallel axes, presence of a reduction loop, and rolling policy."""


@dataclass(frozen=True)
class GroupMembers:
    """Operations of a candidate group, in program order, and their results."""

    operations: tuple[TilingInterface, ...]
    results: tuple[SSAValue, ...]
    op_facts: OpFactsCache = field(
        default_factory=OpFactsCache, compare=False, repr=False
    )
    """
    Cached facts about the operations, valid as long as the operations do not change.
    """
    _parametric_tilings: dict[_ParametricKey, ParametricTiling] = field(
        default_factory=dict["_ParametricKey", "ParametricTiling"],
        compare=False,
        repr=False,
    )
    _choices: dict[TileRules, _LoopChoice] = field(
        default_factory=dict["TileRules", "_LoopChoice"], compare=False, repr=False
    )
    _unit_tilings: dict[TileRules, GroupTiling] = field(
        default_factory=dict["TileRules", GroupTiling], compare=False, repr=False
    )

    @property
    def root(self) -> TilingInterface:
        """
        Operation whose parallel iterators become the loops of the group. Raises
        `TilingError` if the first result is not computed by an operation that can be
        tiled.
        """
        owner = self.results[0].owner
        if not isinstance(owner, TilingInterface):
            raise TilingError(self.operations[0], "expected a result of the group")
        return owner

    @cached_property
    def accumulating_operations(self) -> tuple[AccumulatingInterface, ...]:
        """Operations that combine many values into one."""
        return tuple(
            op for op in self.operations if isinstance(op, AccumulatingInterface)
        )

    @cached_property
    def cascade(self) -> Cascade | None:
        """Longest cascade of the reductions of the group; None if there is none."""
        if len(self.accumulating_operations) < 2:
            return None
        return find_longest_cascade(self.operations, self.op_facts, self.axis_classes)

    @cached_property
    def axis_classes(self) -> AxisClasses:
        """Classes of iterators that run along the same axis."""
        return AxisClasses.of(self.operations, self.op_facts)

    @property
    def _candidate_cascades(self) -> Iterator[Cascade]:
        """
        Longest cascade, then the cascade of the last reduction if that is a different
        one.
        """
        if (longest := self.cascade) is None:
            return
        yield longest
        if longest.anchor is not self.accumulating_operations[-1]:
            last = find_cascade(self.operations, self.op_facts, axes=self.axis_classes)
            yield from () if last is None else (last,)

    def analyze_tiles_of_sizes(
        self,
        tile: Sequence[int],
        reduction_tile: Sequence[int],
        rules: TileRules,
        rolling: RollingPolicy | None = None,
    ) -> GroupTiling:
        """
        Return the tiles of the group for the given tile sizes. Raises `TilingError`.
        """
        parametric = self.parametric_tiling(
            rules, len(tile), bool(reduction_tile), rolling
        )
        return parametric.tiling_of((*tile, *reduction_tile))

    def parametric_tiling(
        self,
        rules: TileRules,
        parallel_count: int,
        has_loop: bool,
        rolling: RollingPolicy | None = None,
    ) -> ParametricTiling:
        """
        Return the tiling for all sizes, of the parallel axes first, then of the
        reductions if they have a loop (cached).
        """
        key = rules, parallel_count, has_loop, rolling
        if (known := self._parametric_tilings.get(key)) is not None:
            return known
        looped = self._cached_loop_choice(rules).loop if has_loop else None

        def analyze(sizes: Sequence[int]) -> GroupTiling:
            tile, reduction_tile = sizes[:parallel_count], sizes[parallel_count:]
            return self._analyze_with_reduction_loop(
                tile, reduction_tile, rules, looped, rolling
            )

        found = self._parametric_tilings[key] = ParametricTiling(analyze)
        return found

    def _analyze_with_reduction_loop(
        self,
        tile: Sequence[int],
        reduction_tile: Sequence[int],
        rules: TileRules,
        looped_reduction: ReductionLoop | None,
        rolling: RollingPolicy | None = None,
    ) -> GroupTiling:
        """
        Return the tiles of the group for given sizes and a given reduction loop. Raises
        `TilingError`.
        """
        group = self.operations, self.results, tile, reduction_tile, rules, rolling
        return analyze_group_tiles(
            *group, self.op_facts, looped_reduction, self._result_alignment
        )

    @cached_property
    def _result_alignment(self) -> ResultAlignment:
        """Alignment of further results with the first one."""
        about = self.operations, self.op_facts, self._contractions_in_cascade_loop
        return ResultAlignment(*about, lambda: self.axis_classes)

    def _contractions_in_cascade_loop(self) -> AbstractSet[Operation]:
        """
        Return the contractions that accumulate in the loop of the cascade, if there are
        several.
        """
        steps = () if self.cascade is None else self.cascade.steps
        found = {op for op in steps if isinstance(op, ContractionInterface)}
        return found if len(found) > 1 else set()

    def reduction_loop(self, rules: TileRules) -> ReductionLoop:
        """
        Return the reduction that has a loop. Raises `TilingError` if the group cannot
        be tiled.
        """
        return self._cached_loop_choice(rules).loop

    def tileable_axes(self, rules: TileRules) -> TileableAxes:
        """
        Return the axes that can be tiled. Raises `TilingError` if the group cannot be
        tiled.
        """
        return self._cached_loop_choice(rules).axes

    def min_tiling(self, rules: TileRules) -> GroupTiling:
        """
        Return the smallest tiles. Raises `TilingError` if the group cannot be tiled.
        """
        choice = self._cached_loop_choice(rules)
        if choice.min_tiling is not None:
            return choice.min_tiling
        tile = choice.axes.min_tile()
        if rules.has_views and tile == self._unit_sizes:
            return verify_result_tiles(self._tiling_of_unit_sizes(rules))
        return self.analyze_tiles_of_sizes(
            tile, choice.axes.min_reduction_tile(), rules
        )

    def _cached_loop_choice(self, rules: TileRules) -> _LoopChoice:
        """
        Return the reduction that has a loop, and the tileable axes with this loop
        (cached).
        """
        if rules not in self._choices:
            self._choices[rules] = self._choose_reduction_loop(rules)
        return self._choices[rules]

    def _choose_reduction_loop(self, rules: TileRules) -> _LoopChoice:
        """
        Return the loop of the first of two chained products if it is legal; or else the
        first legal reduction loop, or one with smaller tiles by over `MIN_BYTES_RATIO`;
        no loop if none is legal.
        """
        if (chained := self._evaluate_chained_product(rules)) is not None:
            return chained
        evaluated = map(
            partial(self._evaluate_reduction_loop, rules),
            self._candidate_reduction_loops(rules),
        )
        legal = [each for each in evaluated if each is not None]
        if not legal:
            return _LoopChoice(
                ReductionLoop(), self._tileable_parallel_axes(rules, ReductionLoop())
            )
        first, *remaining = legal
        smaller = (
            each
            for each in remaining
            if MIN_BYTES_RATIO * each.min_bytes < first.min_bytes
        )
        return next(smaller, first)

    def _candidate_reduction_loops(self, rules: TileRules) -> Iterator[ReductionLoop]:
        """
        Yield the candidates for the reduction loop: the only accumulating operation; or
        the anchors of the longest and of the last cascade, with their nested
        contractions, then the only contraction, with all other reductions untiled.
        """
        if len(self.accumulating_operations) == 1:
            yield ReductionLoop(self.accumulating_operations[0])
        if len(self.accumulating_operations) < 2 or not rules.has_cascades:
            return
        for cascade in self._candidate_cascades:
            nested = (
                self._nested_contractions(cascade) if rules.has_nested_loops else ()
            )
            yield ReductionLoop(cascade.anchor, cascade, nested)
        if (product := self.only_contraction) is not None:
            yield ReductionLoop(product)

    def _nested_contractions(
        self, cascade: Cascade
    ) -> tuple[AccumulatingInterface, ...]:
        """
        Return the long contractions of group inputs that run in the loop of a cascade.
        """
        return tuple(
            op
            for op in self.accumulating_operations
            if isinstance(op, ContractionInterface)
            and op not in (*cascade.steps, *cascade.independent_reductions)
            and not any(operand.owner in self.operations for operand in op.operands)
            and prod(self.op_facts.facts_of(op).reduction_extents) >= MIN_NESTED_TERMS
        )

    @property
    def only_contraction(self) -> ContractionInterface | None:
        """Contraction of the group; None if it has none or several."""
        found = [
            op
            for op in self.accumulating_operations
            if isinstance(op, ContractionInterface)
        ]
        return found[0] if len(found) == 1 else None

    def _evaluate_chained_product(self, rules: TileRules) -> _LoopChoice | None:
        """
        Return the tileable axes with a loop over the first of two chained products;
        None if there are none.
        """
        if not rules.has_nested_loops:
            return None
        product = find_chained_product(self.operations, self.op_facts)
        if product is None:
            return None
        return self._evaluate_reduction_loop(rules, ReductionLoop(product))

    def _evaluate_reduction_loop(
        self, rules: TileRules, looped_reduction: ReductionLoop
    ) -> _LoopChoice | None:
        """
        Return the tileable axes with a given reduction loop; None if its smallest tiles
        are illegal.
        """
        parallel_axes = self._tileable_parallel_axes(rules, looped_reduction)
        axes = self._add_reduction_axes(parallel_axes, looped_reduction)
        min_sizes = axes.min_tile(), axes.min_reduction_tile()
        try:
            tiling = self._analyze_with_reduction_loop(
                *min_sizes, rules, looped_reduction
            )
        except TilingError:
            return None
        return _LoopChoice(looped_reduction, axes, tiling)

    def _tileable_parallel_axes(
        self, rules: TileRules, looped_reduction: ReductionLoop
    ) -> TileableAxes:
        """Return the tileable parallel axes, with all reductions untiled."""
        form = self.op_facts.facts_of(self.root)
        parallel = form.parallel_extents
        tiling = self._tiling_of_unit_sizes(rules)
        recomputable = self._recomputable_reductions(looped_reduction)
        free = tuple(
            position in tiling.loops
            and self._has_axis_moving_all_tiles(tiling, position, recomputable)
            for position in form.parallel_dims
        )
        return TileableAxes(parallel, free, (), ())

    def _tiling_of_unit_sizes(self, rules: TileRules) -> GroupTiling:
        """
        Return the tiles with the smallest parallel sizes, all reductions untiled
        (cached).
        """
        if (known := self._unit_tilings.get(rules)) is not None:
            return known
        views = replace(rules, has_views=True)
        group = self.operations, self.results, self._unit_sizes, (), views
        found = self._unit_tilings[rules] = analyze_tiles_without_verification(
            *group, op_facts=self.op_facts, result_alignment=self._result_alignment
        )
        return found

    @cached_property
    def _unit_sizes(self) -> tuple[int, ...]:
        """Smallest parallel sizes, regardless of the other operations."""
        form = self.op_facts.facts_of(self.root)
        untileable = _untileable_iterator_positions(form, form.parallel_dims)
        return tuple(
            extent if position in untileable else 1
            for position, extent in enumerate(form.parallel_extents)
        )

    def _add_reduction_axes(
        self, axes: TileableAxes, looped_reduction: ReductionLoop
    ) -> TileableAxes:
        """
        Return a copy of `axes` with the reductions of a reduction loop and its nested
        loops.
        """
        assert looped_reduction.anchor is not None
        nested = sum(
            len(self.op_facts.facts_of(op).reduction_dims)
            for op in looped_reduction.nested
        )
        extents, free = list[int](), list[bool]()
        for op in (looped_reduction.anchor, *looped_reduction.nested):
            form = self.op_facts.facts_of(op)
            untileable = _untileable_iterator_positions(form, form.reduction_dims)
            extents += form.reduction_extents
            free += (
                position not in untileable
                for position in range(len(form.reduction_dims))
            )
        return replace(
            axes,
            reduction=tuple(extents),
            reduction_free=tuple(free),
            nested=nested,
        )

    def _has_axis_moving_all_tiles(
        self, tiling: GroupTiling, loop_index: int, recomputed: AbstractSet[Operation]
    ) -> bool:
        """
        Return `True` if the tiles of all results, and of all accumulating operations
        except the `recomputed` ones, move along an axis. Each element of a result must
        be written by one tile.
        """
        loop = tiling.loops[loop_index]
        bound = {result.owner for result in self.results}
        bound |= set(self.accumulating_operations) - recomputed
        return all(
            any(symbol is loop for each in tiled.box for symbol, _ in each.offset.terms)
            for op, tiled in tiling.tiles.items()
            if op in bound
        )

    def _recomputable_reductions(
        self, looped_reduction: ReductionLoop
    ) -> set[Operation]:
        """
        Return the reductions of the cascade, except the anchor, that do not depend on a
        contraction.
        """
        if (cascade := looped_reduction.cascade) is None:
            return set()
        costly = set[Operation]()
        for op in self.operations:
            owners = [operand.owner for operand in op.operands]
            if any(e in costly or isinstance(e, ContractionInterface) for e in owners):
                costly.add(op)
        return (
            {*cascade.steps, *cascade.independent_reductions}
            - costly
            - {cascade.anchor}
        )


def _untileable_iterator_positions(
    facts: OpFacts, positions: Sequence[int]
) -> set[int]:
    """
    Return the indices in `positions` of the iterators that cannot be tiled, except for
    that of a scan, whose loop carries a total.
    """
    untileable = facts.untileable_dims.keys() - {facts.scan_iterator}
    return {at for at, position in enumerate(positions) if position in untileable}


def can_tiles_fit(
    tiling: GroupTiling, level: Level, target: TargetSpec, stages: int = 1
) -> bool:
    """
    Return `True` if the tiles of a group fit in a memory level. In a buffer level this
    counts all tiles, with loaded and stored tiles once per stage; in a value level only
    the tiles being loaded.
    """
    limit = target.tiling.max_elements
    if limit is not None and tiling.max_tile_elements > limit:
        return False
    return _bytes_required_by_tiles(tiling, level, stages) <= level.capacity


def _bytes_required_by_tiles(tiling: GroupTiling, level: Level, stages: int = 1) -> int:
    """Return the bytes that the tiles of a group need in a memory level."""
    return (
        tiling.bytes_of_all_tiles(stages)
        if level.kind == "buffer"
        else tiling.bytes_of_input_tiles()
    )


def find_group_objection(
    members: GroupMembers, level: Level, target: TargetSpec
) -> str | None:
    """Return the reason why operations do not form a group; None if they form one."""
    if not members.results:
        return "its results are not used"
    if (tiling := smallest_tiling_of(members, level, target)) is None:
        return UNTILEABLE
    if can_tiles_fit(tiling, level, target):
        return None
    needed, limit = _bytes_required_by_tiles(tiling, level), target.tiling.max_elements
    if needed > level.capacity or limit is None:
        return describe_capacity_overflow(needed, level)
    return (
        f"its smallest tiles have up to {tiling.max_tile_elements:,} elements, and "
        f"{level.name} takes {limit:,}"
    )


def describe_capacity_overflow(needed: int, level: Level) -> str:
    """
    Return the message for a group whose smallest tiles exceed the capacity of a level.
    """
    return (
        f"the smallest tiles of both need {needed:,} bytes, and {level.name} has "
        f"{level.capacity:,}"
    )


def smallest_tiling_of(
    members: GroupMembers, level: Level, target: TargetSpec
) -> GroupTiling | None:
    """Return the smallest tiles of a group; None if it cannot be tiled."""
    try:
        return members.min_tiling(tile_rules_of(target, level.name))
    except TilingError:
        return None


def group_members_of(
    operations: Sequence[TilingInterface], op_facts: OpFactsCache | None = None
) -> GroupMembers:
    """
    Return the group of some operations of one block, in program order. Its results are
    the values used outside, those of the last operation first. If another result leads
    the loops, its producers are moved last. `op_facts` caches facts about the
    operations.
    """
    results = results_used_outside(operations)
    if (leading := find_leading_result(results, operations)) is not None:
        operations = move_producers_last(leading, operations)
        results = results_used_outside(operations)
    return GroupMembers(tuple(operations), tuple(results), op_facts or OpFactsCache())
