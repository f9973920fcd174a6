"""
Backward analysis of a group: the tile that it needs of every value, from its result.

Loops run over the parallel iterators of the operation that computes the first result
(the root). Every other operation computes what its consumers in the group need of it.
One accumulating operation (the anchor), most often the last, may have a loop over its
reduction iterators; operations that only feed this inner loop are computed inside of
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.form import Form, Forms
from tlf.analysis.tiling.boxes import (
    Ranges,
    always_covers,
    covering_all,
    hull_of,
)
from tlf.analysis.tiling.cascading import order_of, step_box
from tlf.analysis.tiling.cut import Loops, cut_box, sizes_of, whole_box
from tlf.analysis.tiling.leads import leads_of, led_order
from tlf.analysis.tiling.model import (
    GroupTiling,
    Loop,
    Looped,
    Read,
    Scope,
    TiledOperation,
    TilingError,
    boxes_read,
    covers,
    is_init,
    same_box,
)
from tlf.analysis.tiling.movements import check_rooms, is_gathered
from tlf.analysis.tiling.pieces import Beside, piece_of
from tlf.analysis.tiling.reads import add_reads
from tlf.analysis.tiling.rolling import Rolling, only_fill, window_of
from tlf.analysis.tiling.rules import Rules
from tlf.analysis.tiling.scopes import is_again, is_inner
from tlf.analysis.tiling.window import Window
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    Scalar,
    TilingInterface,
)
from tlf.support.affine.access import Box, iterations, region


def analyse(
    operations: Sequence[TilingInterface],
    results: Sequence[SSAValue],
    tile: Sequence[int],
    reduce: Sequence[int] = (),
    rules: Rules | None = None,
    rolling: Rolling | None = None,
    forms: Forms | None = None,
    looped: Looped | None = None,
    beside: Beside | None = None,
) -> GroupTiling:
    """
    Work out the tiles of a group.

    `operations` in program order compute `results` from values of outside. `tile` has
    one size for each parallel iterator of the root, `reduce` one for each reduction
    iterator of the anchor, or none. With `rolling`, tiles keep what they share with
    those before along one axis. `forms` are what is known of the operations, `looped`
    says which reduction has a loop, the last one unless given, and `beside` what goes
    along with the first result.

    Raises `TilingError` where the group cannot be tiled like this.
    """
    group = operations, results, tile, reduce, rules, rolling
    tiling = outline(*group, forms, looped, beside)
    root = results[0].owner
    assert isinstance(root, TilingInterface)
    tiling.pieces = [piece_of(tiling, value, root) for value in results]
    return tiling


def outline(
    operations: Sequence[TilingInterface],
    results: Sequence[SSAValue],
    tile: Sequence[int],
    reduce: Sequence[int] = (),
    rules: Rules | None = None,
    rolling: Rolling | None = None,
    forms: Forms | None = None,
    looped: Looped | None = None,
    beside: Beside | None = None,
) -> GroupTiling:
    """
    The tiles of a group without the pieces of its results: several tiles may write the
    same elements.
    """
    group = operations, results, rules or Rules(), forms or Forms()
    return _Analysis(*group, rolling, looped, beside).run(tile, reduce)


class _Analysis:
    def __init__(
        self,
        operations: Sequence[TilingInterface],
        results: Sequence[SSAValue],
        rules: Rules,
        forms: Forms,
        rolling: Rolling | None = None,
        looped: Looped | None = None,
        beside: Beside | None = None,
    ) -> None:
        self.rolling = rolling
        self.leads = rolling is not None and rolling.leads
        self.looped = looped or self._last(operations)
        self.operations = operations
        self.results = results
        self.rules = rules
        self.forms = forms
        self.beside = beside or Beside(operations, forms)
        self.tiling = GroupTiling(rules, tuple(results), forms)
        self.needs: dict[SSAValue, list[Read]] = {}
        self.members = set[Operation](operations)
        self.root_region: Box = ()
        self._known_ranges: Ranges = {}

    def run(self, tile: Sequence[int], reduce: Sequence[int]) -> GroupTiling:
        root = self._root()
        if reduce:
            self.tiling.anchor = self.looped.anchor
        root_box = self._root_box(root, tile)
        self.tiling.rolled = self._rolled_loop(root, reduce)
        self.root_region = region(self.forms.of(root).result, root_box)
        for op in reversed(self.operations):
            form = self.forms.of(op)
            if op is root:
                box = self._checked_root(root, root_box)
            else:
                box = self._wanted(op, form)
            if box is not None:
                self._compute(op, form, box, op is root, reduce)
        self._finish()
        if self.tiling.windows:
            self.tiling.start = self._start()
        else:
            self.tiling.rolled = None
        if not self.rules.views:
            self._check_no_views()
        return self.tiling

    @staticmethod
    def _last(operations: Sequence[TilingInterface]) -> Looped:
        """The last operation that may have a loop over its reduction."""
        backwards = reversed(operations)
        found = (op for op in backwards if isinstance(op, AccumulatingInterface))
        return Looped(next(found, None))

    def _finish(self) -> None:
        """Put operations into the order in which they run, and find what they read."""
        # Operations were looked at backwards.
        self.tiling.tiles = dict(reversed(self.tiling.tiles.items()))
        if self.tiling.cascade is not None or self.leads:
            order = order_of(self.tiling, self.operations)
            if self.leads:
                self.tiling.ahead = leads_of(self.tiling, order)
                order = led_order(self.tiling, order)
            self.tiling.tiles = {op: self.tiling.tiles[op] for op in order}
        self._collect_reads()

    def _rolled_loop(self, root: TilingInterface, reduce: Sequence[int]) -> Loop | None:
        """The loop along which tiles roll, or None where there is only one tile."""
        if self.rolling is None:
            return None
        if reduce or not self.rules.views:
            what = "around the loop of a reduction" if reduce else "of values"
            raise TilingError(root, f"tiles {what} do not roll")
        parallel = self.forms.of(root).parallel
        if not 0 <= self.rolling.axis < len(parallel):
            raise TilingError(
                root, f"expected an axis below {len(parallel)}, got {self.rolling.axis}"
            )
        return self.tiling.loops.get(parallel[self.rolling.axis])

    def _start(self) -> GroupTiling:
        """
        Return the tiles of the windows before the first iteration, analysed like a
        group.
        """
        before = _Analysis(self.operations, (), self.rules, self.forms)
        before.tiling.loops = self.tiling.loops
        for (value, _), window in self.tiling.windows.items():
            box = window.kept if value.owner in self.members else window.initial
            need = Read(None, 0, box, Scope.OUTER)
            before.needs.setdefault(value, []).append(need)
        for op in reversed(self.operations):
            form = self.forms.of(op)
            if (box := before._wanted(op, form)) is not None:
                before._compute(op, form, box, False, ())
        before._finish()
        return before.tiling

    @property
    def inner(self) -> set[Loop]:
        """The loops over the anchor's reduction iterators."""
        return set(self.tiling.inner_loops.values())

    @property
    def _ranges(self) -> Ranges:
        """The values of induction variables, for all loops that there are so far."""
        tiling = self.tiling
        count = len(tiling.loops) + len(tiling.inner_loops) + len(tiling.nested_loops)
        if len(self._known_ranges) != count:
            self._known_ranges = tiling.ranges
        return self._known_ranges

    def _root(self) -> TilingInterface:
        owner = self.results[0].owner
        if not isinstance(owner, TilingInterface) or owner not in self.members:
            at = owner if isinstance(owner, Operation) else self.operations[-1]
            raise TilingError(
                at, "expected the first result to be computed in the group"
            )
        return owner

    def _root_box(self, root: TilingInterface, tile: Sequence[int]) -> Box:
        form = self.forms.of(root)
        parallel = form.parallel
        if len(tile) != len(parallel):
            raise TilingError(
                root, f"expected {len(parallel)} tile sizes, got {len(tile)}"
            )
        loops = self.tiling.loops
        box = cut_box(root, form, whole_box(form), parallel, tile, loops)
        return self.rules.widen(box)

    def _wanted(self, op: TilingInterface, form: Form) -> Box | None:
        """The iterations that compute what the group needs of an operation."""
        if not (needs := self._needs(op)):
            return None
        boxes = [need.box for need in needs]
        if self.tiling.inner_loops and not is_inner(self.tiling, op, needs):
            boxes = [covering_all(box, self.inner) for box in boxes]
        hull = hull_of(boxes, self._ranges) if len(boxes) > 1 else boxes[0]
        wanted = hull if self.tiling.rolled is None else self._fresh(op, hull)
        box = iterations(form.result, form.extents, wanted)
        if not always_covers(region(form.result, box), wanted, self._ranges):
            raise TilingError(
                op, "its consumers reach beyond an axis that it does not iterate over"
            )
        return self.rules.widen(box)

    def _fresh(self, op: TilingInterface, hull: Box) -> Box:
        """
        Return the box to compute of the needed one: only the new part if it rolls.
        """
        value = op.results[0]
        if (window := self._window(value, hull, self.leads)) is None:
            return hull
        fill = self._common_fill(value, op)
        self.tiling.windows[value, 0] = replace(window, fill=fill)
        return window.fresh

    def _window(self, value: SSAValue, hull: Box, leads: bool = False) -> Window | None:
        """Return the rolling window of a tile, if it rolls."""
        loop, rolling = self.tiling.rolled, self.rolling
        if loop is None or rolling is None or value in rolling.recomputed:
            return None
        return window_of(hull, loop, leads)

    def _checked_root(self, root: TilingInterface, box: Box) -> Box:
        """The root's iterations, once no one needs more of it than they compute."""
        for need in self.needs.get(root.results[0], []):
            if not covers(self.root_region, covering_all(need.box, self.inner)):
                raise TilingError(root, "another result needs more than one tile of it")
        return box

    def _needs(self, op: TilingInterface) -> list[Read]:
        needs: list[Read] = []
        for result in op.results:
            needs += self.needs.get(result, ())
        if needs or not any(result in self.results for result in op.results):
            return needs
        piece = self.beside.piece(op, self.results[0], self.root_region)
        return [Read(op, 0, piece, Scope.OUTER)]

    def _compute(
        self,
        op: TilingInterface,
        form: Form,
        box: Box,
        is_root: bool,
        reduce: Sequence[int],
    ) -> None:
        scope = Scope.OUTER
        if self.tiling.inner_loops and not is_root:
            inside = is_inner(self.tiling, op, self._needs(op))
            scope = Scope.INNER if inside else scope
        if op is self.tiling.anchor:
            box = self._reduced_box(op, box, reduce, self.tiling.inner_loops)
            self._let_run_along()
        elif self.tiling.is_step(op):
            box = step_box(self.tiling, op, box)
        elif scope is Scope.INNER and op in self.looped.nested:
            loops = self.tiling.nested.setdefault(op, {})
            box = self._reduced_box(op, box, reduce, loops)
        result = region(form.result, box)
        windows = self.tiling.windows
        if windows and (window := windows.get((op.results[0], 0))) is not None:
            result = window.whole
        reads = boxes_read(self.rules, op, box, form)
        inside = scope is Scope.INNER
        again = inside and is_again(self.tiling, op, self._needs(op))
        moved = is_gathered(op, form, self.members, self.rules)
        self.tiling.tiles[op] = TiledOperation(
            op, box, result, scope, form, reads, again, moved
        )
        if moved:
            self._check_still(op)
            self.tiling.gathered.add(op)
        else:
            check_rooms(op, form, box, self.rules)
        self._ask(op, scope, reads)
        if again:
            self._ask(op, Scope.OUTER, reads)

    def _check_still(self, op: TilingInterface) -> None:
        """Check that nothing rolls of what a move brings into a buffer."""
        if self.rules.views and (op.results[0], 0) in self.tiling.windows:
            raise TilingError(op, "what a move finds by indices cannot roll")

    def _let_run_along(self) -> None:
        """Let others accumulate in the loop of the anchor, if it has one."""
        if not self.tiling.inner_loops or (cascade := self.looped.cascade) is None:
            return
        root = self.results[0].owner
        if root in cascade.steps and root is not cascade.anchor:
            text = "expected the first result to be of the last reduction of its loop"
            raise TilingError(cascade.anchor, text)
        self.tiling.cascade = cascade

    def _ask(
        self, op: TilingInterface, scope: Scope, reads: Sequence[Box | None]
    ) -> None:
        """Record the needs of an operation for its operands."""
        is_looped = op is self.tiling.anchor and bool(self.tiling.inner_loops)
        inner = is_looped or self.tiling.is_step(op)
        is_moved = op in self.tiling.gathered
        for position, operand in enumerate(op.operands):
            part = reads[position]
            if part is None or (is_moved and position == 0):
                continue
            needed = Scope.NESTED if self.tiling.nested.get(op) else scope
            if inner and not is_init(op, position):
                needed = Scope.INNER
            need = Read(op, position, part, needed)
            self.needs.setdefault(operand, []).append(need)

    def _reduced_box(
        self, op: TilingInterface, box: Box, reduce: Sequence[int], loops: Loops
    ) -> Box:
        """The iterations of what has a loop over its own reduction."""
        form = self.forms.of(op)
        sizes = sizes_of(op, self.looped, self.forms, reduce)
        return self.rules.widen(cut_box(op, form, box, form.reductions, sizes, loops))

    def _check_no_views(self) -> None:
        """Every tile computed in the group is used whole."""
        for op, tile in self.tiling.tiles.items():
            for need in (n for value in op.results for n in self.needs.get(value, [])):
                if not same_box(need.box, tile.result):
                    raise TilingError(op, "its consumers need only parts of its tile")

    def _collect_reads(self) -> None:
        for value, needs in self.needs.items():
            if value.owner in self.members or not isinstance(value.type, TensorType):
                continue
            add_reads(self.tiling, value, needs)
            self._roll_reads(value)

    def _roll_reads(self, value: SSAValue) -> None:
        """Let the tiles that are cut from an input roll where they can."""
        for number, box in enumerate(self.tiling.reads.get((value, Scope.OUTER), [])):
            if (window := self._window(value, box)) is not None:
                fill = self._common_fill(value, self.operations[-1])
                window = replace(window, fill=fill)
                self.tiling.windows[value, number] = window

    def _common_fill(self, value: SSAValue, at: Operation) -> Scalar | None:
        """
        Return the value that all readers of a window need outside of the tensor. Raises
        `TilingError` if they need several.
        """
        borders = [
            self.tiling.border(need.consumer, need.operand)
            for need in self.needs.get(value, [])
            if need.consumer is not None
        ]
        fill, agree = only_fill(borders)
        if not agree:
            raise TilingError(at, "what reads its window wants several values outside")
        return fill
