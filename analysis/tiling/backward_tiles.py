"""
Backward tile analysis of a group: the tile of every value that a tile of its result
needs.

Loops run over the parallel iterators of the operation that computes the first result
(the root). For every other operation, the analysis computes the box that its consumers
in the group need. One accumulating operation (the anchor), usually the last one, may
have a loop over its reduction iterators; operations that only feed this inner loop are
computed inside the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFacts, OpFactsCache
from tlf.analysis.tiling.box_covering import (
    SymbolRanges,
    cover_box_over_iterations,
    hull_of_boxes,
    is_always_covering,
)
from tlf.analysis.tiling.cascade_tiles import computation_order_of, tile_of_cascade_step
from tlf.analysis.tiling.domain_tiling import (
    LoopsByDim,
    box_of_whole_domain,
    reduction_tile_sizes_of,
    tile_iteration_domain,
)
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    ReadDemand,
    ReductionLoop,
    TiledOperation,
    TileLoop,
    TilingError,
    is_box_covering,
    is_initial_value_operand,
    is_same_box,
    operand_boxes_of,
)
from tlf.analysis.tiling.input_slices import add_input_slices
from tlf.analysis.tiling.loop_levels import (
    is_in_reduction_loop,
    is_recomputed_after_loop,
)
from tlf.analysis.tiling.producer_prefetch import (
    order_by_prefetch_distance,
    prefetch_distances_of,
)
from tlf.analysis.tiling.result_tiles import ResultAlignment, result_box_of_root_tile
from tlf.analysis.tiling.rolling_windows import (
    RollingPolicy,
    common_padding_value_of,
    rolling_window_of,
)
from tlf.analysis.tiling.scanned_tiles import check_scanned_tile
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.analysis.tiling.tiled_movements import (
    check_tile_extents,
    is_performed_by_slicing_move,
)
from tlf.analysis.tiling.window_tile import RollingWindow
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    Scalar,
    TilingInterface,
)
from tlf.support.affine.index_access import Box, accessed_box, producing_iterations


def analyze_group_tiles(
    operations: Sequence[TilingInterface],
    results: Sequence[SSAValue],
    tile: Sequence[int],
    reduction_tile: Sequence[int] = (),
    rules: TileRules | None = None,
    rolling: RollingPolicy | None = None,
    op_facts: OpFactsCache | None = None,
    reduction_loop: ReductionLoop | None = None,
    result_alignment: ResultAlignment | None = None,
) -> GroupTiling:
    """
    Compute the tiles of all values of a group from a tile of its root, without changing
    the IR.

    `operations`, in program order, compute `results` from values defined outside.
    `tile` has one size per parallel iterator of the root; `reduction_tile` has one size
    per reduction iterator of the anchor, or is empty. With `rolling`, consecutive tiles
    along one axis share their overlap. `op_facts` caches facts about the operations.
    `reduction_loop` selects the reduction that has a loop; the default is the last one.
    `result_alignment` aligns further results with the first one.

    Raises `TilingError` if the group cannot be tiled with these sizes.
    """
    group = operations, results, tile, reduction_tile, rules, rolling
    return verify_result_tiles(
        analyze_tiles_without_verification(
            *group, op_facts, reduction_loop, result_alignment
        )
    )


def verify_result_tiles(tiling: GroupTiling) -> GroupTiling:
    """
    Return a tiling after adding the boxes of its results that one tile writes. Raises
    `TilingError` if some results are not covered exactly once.
    """
    root = tiling.results[0].owner
    assert isinstance(root, TilingInterface)
    tiling.result_tiles = [
        result_box_of_root_tile(tiling, value, root) for value in tiling.results
    ]
    return tiling


def analyze_tiles_without_verification(
    operations: Sequence[TilingInterface],
    results: Sequence[SSAValue],
    tile: Sequence[int],
    reduction_tile: Sequence[int] = (),
    rules: TileRules | None = None,
    rolling: RollingPolicy | None = None,
    op_facts: OpFactsCache | None = None,
    reduction_loop: ReductionLoop | None = None,
    result_alignment: ResultAlignment | None = None,
) -> GroupTiling:
    """
    Analyze the tiles of a group without checking that each result is covered exactly
    once.
    """
    group = operations, results, rules or TileRules(), op_facts or OpFactsCache()
    return _BackwardAnalysis(
        *group, rolling, reduction_loop, result_alignment
    ).analyze_tiles(tile, reduction_tile)


class _BackwardAnalysis:
    def __init__(
        self,
        operations: Sequence[TilingInterface],
        results: Sequence[SSAValue],
        rules: TileRules,
        op_facts: OpFactsCache,
        rolling: RollingPolicy | None = None,
        reduction_loop: ReductionLoop | None = None,
        result_alignment: ResultAlignment | None = None,
    ) -> None:
        self.rolling = rolling
        self.has_prefetch = rolling is not None and rolling.has_prefetch
        self.looped = reduction_loop or self._loop_over_last_reduction(operations)
        self.operations = operations
        self.results = results
        self.rules = rules
        self.forms = op_facts
        self.beside = result_alignment or ResultAlignment(operations, op_facts)
        self.tiling = GroupTiling(rules, tuple(results), op_facts)
        self.needs: dict[SSAValue, list[ReadDemand]] = {}
        self.members = set[Operation](operations)
        self.root_region: Box = ()
        self._known_ranges: SymbolRanges = {}

    def analyze_tiles(
        self, tile: Sequence[int], reduction_tile: Sequence[int]
    ) -> GroupTiling:
        """
        Return the tiling for some sizes: loops over the root, boxes of all operations
        from the last to the first, inputs and windows.
        """
        root = self._find_root_operation()
        if reduction_tile:
            self.tiling.anchor = self.looped.anchor
        root_box = self._tile_root_domain(root, tile)
        self.tiling.rolling_loop = self._find_rolling_loop(root, reduction_tile)
        self.root_region = accessed_box(self.forms.facts_of(root).result_map, root_box)
        for op in reversed(self.operations):
            form = self.forms.facts_of(op)
            if op is root:
                box = self._verify_root_box(root, root_box)
            else:
                box = self._required_iterations(op, form)
            if box is not None:
                self._add_tiled_operation(op, form, box, op is root, reduction_tile)
        self._order_operations_and_collect_inputs()
        if self.tiling.windows:
            self.tiling.prologue = self._analyze_prologue_tiles()
        else:
            self.tiling.rolling_loop = None
        if not self.rules.has_views:
            self._check_tiles_used_whole()
        return self.tiling

    @staticmethod
    def _loop_over_last_reduction(
        operations: Sequence[TilingInterface],
    ) -> ReductionLoop:
        """Return a loop over the last accumulating operation, without a cascade."""
        backwards = reversed(operations)
        found = (op for op in backwards if isinstance(op, AccumulatingInterface))
        return ReductionLoop(next(found, None))

    def _order_operations_and_collect_inputs(self) -> None:
        """Put operations into execution order, and collect the tiles of inputs."""
        # Operations were visited in reverse order.
        self.tiling.tiles = dict(reversed(self.tiling.tiles.items()))
        if self.tiling.cascade is not None or self.has_prefetch:
            order = computation_order_of(self.tiling, self.operations)
            if self.has_prefetch:
                self.tiling.prefetch_distances = prefetch_distances_of(
                    self.tiling, order
                )
                order = order_by_prefetch_distance(self.tiling, order)
            self.tiling.tiles = {op: self.tiling.tiles[op] for op in order}
        self._collect_input_tiles()

    def _find_rolling_loop(
        self, root: TilingInterface, reduction_tile: Sequence[int]
    ) -> TileLoop | None:
        """
        Return the loop along which tiles roll; None without rolling, or if the axis has
        a single tile.
        """
        if self.rolling is None:
            return None
        if reduction_tile or not self.rules.has_views:
            what = "around the loop of a reduction" if reduction_tile else "of values"
            raise TilingError(root, f"tiles {what} do not roll")
        parallel = self.forms.facts_of(root).parallel_dims
        if not 0 <= self.rolling.axis < len(parallel):
            raise TilingError(
                root, f"expected an axis below {len(parallel)}, got {self.rolling.axis}"
            )
        return self.tiling.loops.get(parallel[self.rolling.axis])

    def _analyze_prologue_tiles(self) -> GroupTiling:
        """
        Analyze the tiles of the prologue, which fills windows before the first
        iteration.
        """
        prologue = _BackwardAnalysis(self.operations, (), self.rules, self.forms)
        prologue.tiling.loops = self.tiling.loops
        for (value, _), window in self.tiling.windows.items():
            box = (
                window.prologue_part
                if value.owner in self.members
                else window.initial_tile
            )
            need = ReadDemand(None, 0, box, LoopLevel.OUTER)
            prologue.needs.setdefault(value, []).append(need)
        for op in reversed(self.operations):
            form = self.forms.facts_of(op)
            if (box := prologue._required_iterations(op, form)) is not None:
                prologue._add_tiled_operation(op, form, box, False, ())
        prologue._order_operations_and_collect_inputs()
        return prologue.tiling

    @property
    def inner_loops(self) -> set[TileLoop]:
        """Loops over the reduction iterators of the anchor."""
        return set(self.tiling.inner_loops.values())

    @property
    def _loop_ranges(self) -> SymbolRanges:
        """Ranges of the induction variables of all loops created so far."""
        tiling = self.tiling
        count = len(tiling.loops) + len(tiling.inner_loops) + len(tiling.nested_loops)
        if len(self._known_ranges) != count:
            self._known_ranges = tiling.ranges
        return self._known_ranges

    def _find_root_operation(self) -> TilingInterface:
        """
        Return the operation that computes the first result. Raises `TilingError` if it
        is not in the group.
        """
        owner = self.results[0].owner
        if not isinstance(owner, TilingInterface) or owner not in self.members:
            at = owner if isinstance(owner, Operation) else self.operations[-1]
            raise TilingError(
                at, "expected the first result to be computed in the group"
            )
        return owner

    def _tile_root_domain(self, root: TilingInterface, tile: Sequence[int]) -> Box:
        """
        Create the loops over the root's parallel iterators, and return the padded
        iterations of one tile. Raises `TilingError`.
        """
        form = self.forms.facts_of(root)
        parallel = form.parallel_dims
        if len(tile) != len(parallel):
            raise TilingError(
                root, f"expected {len(parallel)} tile sizes, got {len(tile)}"
            )
        loops = self.tiling.loops
        box = tile_iteration_domain(
            root, form, box_of_whole_domain(form), parallel, tile, loops
        )
        return self.rules.pad_box_capacities(box)

    def _required_iterations(self, op: TilingInterface, facts: OpFacts) -> Box | None:
        """
        Return the iterations of an operation that the group needs; None if it needs
        none. Raises `TilingError` if consumers need elements beyond an axis that the
        operation does not iterate over.
        """
        if not (needs := self._read_demands_of(op)):
            return None
        boxes = [need.box for need in needs]
        if self.tiling.inner_loops and not is_in_reduction_loop(self.tiling, op, needs):
            boxes = [cover_box_over_iterations(box, self.inner_loops) for box in boxes]
        hull = hull_of_boxes(boxes, self._loop_ranges) if len(boxes) > 1 else boxes[0]
        required = (
            hull
            if self.tiling.rolling_loop is None
            else self._part_to_compute(op, hull)
        )
        box = producing_iterations(facts.result_map, facts.extents, required)
        if not is_always_covering(
            accessed_box(facts.result_map, box), required, self._loop_ranges
        ):
            raise TilingError(
                op,
                "its consumers need elements beyond an axis that it does not iterate "
                "over",
            )
        return self.rules.pad_box_capacities(box)

    def _part_to_compute(self, op: TilingInterface, hull: Box) -> Box:
        """
        Return the box to compute: only the new part if the value has a rolling window,
        else the needed box.
        """
        value = op.results[0]
        if (
            window := self._find_rolling_window(value, hull, self.has_prefetch)
        ) is None:
            return hull
        fill = self._common_padding_of_readers(value, op)
        self.tiling.windows[value, 0] = replace(window, fill=fill)
        return window.new_part

    def _find_rolling_window(
        self, value: SSAValue, hull: Box, is_prefetched: bool = False
    ) -> RollingWindow | None:
        """
        Return the rolling window of a value with tile `hull`; None if the value does
        not roll.
        """
        loop, rolling = self.tiling.rolling_loop, self.rolling
        if loop is None or rolling is None or value in rolling.recomputed_values:
            return None
        return rolling_window_of(hull, loop, is_prefetched)

    def _verify_root_box(self, root: TilingInterface, box: Box) -> Box:
        """
        Return the iterations of the root. Raises `TilingError` if another result needs
        more of the root's result than they compute.
        """
        for need in self.needs.get(root.results[0], []):
            if not is_box_covering(
                self.root_region, cover_box_over_iterations(need.box, self.inner_loops)
            ):
                raise TilingError(root, "another result needs more than one tile of it")
        return box

    def _read_demands_of(self, op: TilingInterface) -> list[ReadDemand]:
        """
        Return the demands on the results of `op`; for a result of the group without
        readers, the box aligned with the root's tile.
        """
        needs: list[ReadDemand] = []
        for result in op.results:
            needs += self.needs.get(result, ())
        if needs or not any(result in self.results for result in op.results):
            return needs
        box = self.beside.align_tile_to_result(op, self.results[0], self.root_region)
        return [ReadDemand(op, 0, box, LoopLevel.OUTER)]

    def _add_tiled_operation(
        self,
        op: TilingInterface,
        facts: OpFacts,
        box: Box,
        is_root: bool,
        reduction_tile: Sequence[int],
    ) -> None:
        """Record the tile and reduction loops of `op`, and its operand demands."""
        scope = self._select_loop_level(op, is_root)
        if op is self.tiling.anchor:
            box = self._tile_reduction(op, box, reduction_tile, self.tiling.inner_loops)
            self._attach_cascade()
        elif self.tiling.is_cascade_step(op):
            box = tile_of_cascade_step(self.tiling, op, box)
        elif scope is LoopLevel.INNER and op in self.looped.nested:
            loops = self.tiling.nested_loops_by_op.setdefault(op, {})
            box = self._tile_reduction(op, box, reduction_tile, loops)
        check_scanned_tile(op, facts, box, self.tiling)
        result = accessed_box(facts.result_map, box)
        windows = self.tiling.windows
        if windows and (window := windows.get((op.results[0], 0))) is not None:
            result = window.whole_tile
        reads = operand_boxes_of(self.rules, op, box, facts)
        inside = scope is LoopLevel.INNER
        is_recomputed = inside and is_recomputed_after_loop(
            self.tiling, op, self._read_demands_of(op)
        )
        is_moved = is_performed_by_slicing_move(op, facts, self.members, self.rules)
        self.tiling.tiles[op] = TiledOperation(
            op, box, result, scope, facts, reads, is_recomputed, is_moved
        )
        if is_moved:
            self._check_not_rolling(op)
            self.tiling.gathered_operations.add(op)
        else:
            check_tile_extents(op, facts, box, self.rules)
        self._record_operand_demands(op, scope, reads)
        if is_recomputed:
            self._record_operand_demands(op, LoopLevel.OUTER, reads)

    def _select_loop_level(self, op: TilingInterface, is_root: bool) -> LoopLevel:
        """
        Return the loop level in which an operation is computed; `OUTER` for the root.
        """
        scope = LoopLevel.OUTER
        if self.tiling.inner_loops and not is_root:
            inside = is_in_reduction_loop(self.tiling, op, self._read_demands_of(op))
            scope = LoopLevel.INNER if inside else scope
        return scope

    def _check_not_rolling(self, op: TilingInterface) -> None:
        """Raise `TilingError` if a gathered result has a rolling window."""
        if self.rules.has_views and (op.results[0], 0) in self.tiling.windows:
            raise TilingError(op, "the result of a gather cannot have a rolling window")

    def _attach_cascade(self) -> None:
        """
        Attach the cascade of the anchor, if the anchor has a loop. Raises `TilingError`
        if the first result is computed by another step of the cascade.
        """
        if not self.tiling.inner_loops or (cascade := self.looped.cascade) is None:
            return
        root = self.results[0].owner
        if root in cascade.steps and root is not cascade.anchor:
            text = (
                "expected the first result to be computed by the last reduction of its "
                "loop"
            )
            raise TilingError(cascade.anchor, text)
        self.tiling.cascade = cascade

    def _record_operand_demands(
        self, op: TilingInterface, scope: LoopLevel, reads: Sequence[Box | None]
    ) -> None:
        """
        Add the boxes `reads` that an operation needs to the demands of its operands.
        """
        is_looped = op is self.tiling.anchor and bool(self.tiling.inner_loops)
        inner = is_looped or self.tiling.is_cascade_step(op)
        is_moved = op in self.tiling.gathered_operations
        outer = LoopLevel.NESTED if self.tiling.nested_loops_by_op.get(op) else scope
        for position, operand in enumerate(op.operands):
            box = reads[position]
            if box is None or (is_moved and position == 0):
                continue
            level = outer
            if inner and not is_initial_value_operand(op, position):
                level = LoopLevel.INNER
            need = ReadDemand(op, position, box, level)
            self.needs.setdefault(operand, []).append(need)

    def _tile_reduction(
        self,
        op: TilingInterface,
        box: Box,
        reduction_tile: Sequence[int],
        loops: LoopsByDim,
    ) -> Box:
        """Return the iterations of an operation with a loop over its own reduction."""
        form = self.forms.facts_of(op)
        sizes = reduction_tile_sizes_of(op, self.looped, self.forms, reduction_tile)
        return self.rules.pad_box_capacities(
            tile_iteration_domain(op, form, box, form.reduction_dims, sizes, loops)
        )

    def _check_tiles_used_whole(self) -> None:
        """
        Check that every tile computed in the group is used as a whole. Raises
        `TilingError`.
        """
        for op, tile in self.tiling.tiles.items():
            for need in (
                demand for value in op.results for demand in self.needs.get(value, [])
            ):
                if not is_same_box(need.box, tile.result):
                    raise TilingError(op, "its consumers need only parts of its tile")

    def _collect_input_tiles(self) -> None:
        """
        Add slices and rolling windows of all tensors that are read from outside of the
        group.
        """
        for value, needs in self.needs.items():
            if value.owner in self.members or not isinstance(value.type, TensorType):
                continue
            add_input_slices(self.tiling, value, needs)
            self._add_input_windows(value)

    def _add_input_windows(self, value: SSAValue) -> None:
        """Add rolling windows for the tiles of an input, where tiles can roll."""
        for index, box in enumerate(
            self.tiling.reads.get((value, LoopLevel.OUTER), [])
        ):
            if (window := self._find_rolling_window(value, box)) is not None:
                fill = self._common_padding_of_readers(value, self.operations[-1])
                window = replace(window, fill=fill)
                self.tiling.windows[value, index] = window

    def _common_padding_of_readers(
        self, value: SSAValue, faulty_op: Operation
    ) -> Scalar | None:
        """
        Return the padding value that all readers of a window need; None if they need
        none. Raises `TilingError` if they need different values.
        """
        padding_values = [
            self.tiling.padding_value(need.consumer, need.operand_index)
            for need in self.needs.get(value, [])
            if need.consumer is not None
        ]
        fill, is_unique = common_padding_value_of(padding_values)
        if not is_unique:
            raise TilingError(
                faulty_op, "readers of its window need different padding values"
            )
        return fill
