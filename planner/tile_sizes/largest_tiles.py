"""
Planning of tile sizes without a cost model: the largest of a group that fit, or those
its target prefers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod

from xdsl.ir import SSAValue

from tlf.analysis.tiling.group_analysis import GroupMembers, can_tiles_fit
from tlf.analysis.tiling.group_tiling import GroupTiling, TileLoop, TilingError
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.dialects.interfaces import AccumulatingInterface, ContractionInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import element_count_of, itemsize_of, tensor_type
from tlf.support.affine.index_access import Box


@dataclass(frozen=True)
class TileSizes:
    """Tile sizes of the parallel axes, and of the reduction axes if they have loops."""

    parallel_sizes: tuple[int, ...]
    reduction_sizes: tuple[int, ...]

    def with_size_along_axis(self, axis: int, size: int) -> TileSizes:
        """Return the sizes with another one along an axis, parallel axes first."""
        sizes = [*self.parallel_sizes, *self.reduction_sizes]
        sizes[axis] = size
        count = len(self.parallel_sizes)
        return TileSizes(tuple(sizes[:count]), tuple(sizes[count:]))

    def halve_axis(self, axis: int) -> TileSizes:
        """Return the sizes with one axis halved, rounded up."""
        return self.with_size_along_axis(
            axis, ((*self.parallel_sizes, *self.reduction_sizes)[axis] + 1) // 2
        )


@dataclass(frozen=True)
class TileSizeSelector:
    """Selection of tile sizes: start from the largest and halve axes until they fit."""

    members: GroupMembers
    axes: TileableAxes
    level: Level
    target: TargetSpec
    rules: TileRules
    stages: int = 1
    preferred_product: ContractionInterface | None = None
    """
    Contraction whose preferred tile is used; the first accumulating operation by
    default.
    """
    _tilings: dict[TileSizes, GroupTiling | TilingError] = field(
        init=False,
        default_factory=dict[TileSizes, "GroupTiling | TilingError"],
        compare=False,
        repr=False,
    )
    """Tilings of the sizes examined so far, or the errors of illegal sizes."""

    def select_sizes(self) -> TileSizes:
        """Return the tile sizes. Raises TilingError if not even the smallest fit."""
        sizes, smallest = self._start_sizes(), self._min_sizes()
        while not can_tiles_fit(
            tiling := self.tiling_with(sizes), self.level, self.target, self.stages
        ):
            if not (
                candidates := list(self._find_smaller_sizes(sizes))
                or self._fallback_sizes(smallest, sizes)
            ):
                raise TilingError(
                    self.members.root,
                    f"its smallest tiles need {tiling.bytes_of_all_tiles(self.stages)} "
                    "bytes, and "
                    f"{self.level.name} has {self.level.capacity}",
                )
            sizes = min(candidates, key=self._footprint_with)
        return sizes

    def max_stages_that_fit(self) -> int:
        """
        Return the largest number of stages that fits with the smallest tiles, at least
        one; `stages` if these tiles are not legal.
        """
        smallest = self._min_sizes()
        if not self._is_legal(smallest):
            return self.stages
        tiling, stages = self.tiling_with(smallest), self.stages
        while stages > 1 and not can_tiles_fit(tiling, self.level, self.target, stages):
            stages -= 1
        return stages

    def _start_sizes(self) -> TileSizes:
        """
        Return the preferred sizes if they are legal, else the smallest, with which
        `graph-group` checked the group.
        """
        try:
            self.tiling_with(sizes := self.preferred_sizes())
        except TilingError:
            return self._min_sizes()
        return sizes

    def _min_sizes(self) -> TileSizes:
        return TileSizes(self.axes.min_tile(), self.axes.min_reduction_tile())

    def _fallback_sizes(
        self, min_sizes: TileSizes, sizes: TileSizes
    ) -> list[TileSizes]:
        """
        Return the smallest sizes if they are legal and differ from `sizes`, which
        cannot be reduced axis by axis.
        """
        return [min_sizes] if sizes != min_sizes and self._is_legal(min_sizes) else []

    def tiling_with(self, sizes: TileSizes) -> GroupTiling:
        """
        Return the tiling with the given sizes, which is shared. Raises `TilingError`.
        """
        if (tiling := self._tilings.get(sizes)) is None:
            tiling = self._tilings[sizes] = self._analyze_sizes(sizes)
        if isinstance(tiling, TilingError):
            raise tiling.with_traceback(None)
        return tiling

    def _analyze_sizes(self, sizes: TileSizes) -> GroupTiling | TilingError:
        """Return the tiling with the given sizes, or the error if it is illegal."""
        try:
            return self.members.analyze_tiles_of_sizes(
                sizes.parallel_sizes, sizes.reduction_sizes, self.rules
            )
        except TilingError as error:
            return error

    def preferred_sizes(self) -> TileSizes:
        """Return the initial sizes: whole axes, or the preferred tile of the target."""
        sizes = TileSizes(self.axes.parallel, self.axes.reduction)
        if self.target.tiling.power_of_two:
            sizes = TileSizes(
                tuple(
                    self.rules.padded_tile_extent(size) for size in sizes.parallel_sizes
                ),
                tuple(
                    self.rules.padded_tile_extent(size)
                    for size in sizes.reduction_sizes
                ),
            )
        preferred = self._preferred_matrix_product_sizes(sizes)
        if preferred is not None and self._is_legal(preferred):
            return preferred
        limit = self._preferred_element_count()
        while (
            limit is not None
            and (largest := self._largest_value_elements(sizes)) > limit
        ):
            smaller = (
                each
                for each in self._find_smaller_sizes(sizes)
                if self._largest_value_elements(each) < largest
            )
            if (first := next(smaller, None)) is None:
                break
            sizes = first
        return sizes

    def _preferred_element_count(self) -> int | None:
        """Return the preferred maximum number of elements of a tile, if any."""
        tiling, members = self.target.tiling, self.members
        limits = [] if tiling.tile_elements is None else [tiling.tile_elements]
        if tiling.tile_bytes is not None and not members.accumulating_operations:
            results = set[SSAValue](members.results)
            moved = [
                value
                for op in members.operations
                for value in (*op.operands, *op.results)
                if value in results or value.owner not in members.operations
            ]
            # Rows and scalars that are broadcast take few bytes.
            largest = max(map(element_count_of, moved))
            wide = [each for each in moved if element_count_of(each) == largest]
            limits.append(max(1, tiling.tile_bytes // max(map(itemsize_of, wide))))
        return min(limits, default=None)

    def _largest_value_elements(self, sizes: TileSizes) -> int:
        return self.tiling_with(sizes).max_tile_elements

    def _preferred_matrix_product_sizes(self, sizes: TileSizes) -> TileSizes | None:
        """
        Return the preferred tile of a matrix product, along its rows, columns and
        depth, or None if there is none.
        """
        contraction = self._select_matrix_product()
        if (
            not isinstance(contraction, ContractionInterface)
            or not sizes.reduction_sizes
        ):
            return None
        element = str(tensor_type(contraction.operands[0]).element_type)
        if (preferred := self.target.tiling.preferred_tile(element)) is None:
            return None
        rows, columns, depth = preferred
        if (axis_roles := self._product_roles_of_axes(contraction)) is None:
            return None
        roles, inner_roles = axis_roles
        budgets = {"rows": rows, "columns": columns, "batch": 1}
        budgets |= dict.fromkeys(inner_roles, 1)
        tile_sizes = list(sizes.parallel_sizes)
        for axis in reversed(range(len(tile_sizes))):
            if not self.axes.free[axis]:
                continue
            role = roles.get(axis, "batch")
            tile_sizes[axis] = self._limit_extent_to_budget(
                tile_sizes[axis], budgets[role]
            )
            budgets[role] = max(1, budgets[role] // tile_sizes[axis])
        own_count = len(sizes.reduction_sizes) - self.axes.nested
        nested = [
            self._limit_extent_to_budget(size, depth)
            for size in sizes.reduction_sizes[own_count:]
        ]
        reduce = (
            *self._reduction_sizes(sizes.reduction_sizes[:own_count], depth),
            *nested,
        )
        return self._halve_until_enough_programs(TileSizes(tuple(tile_sizes), reduce))

    def _select_matrix_product(self) -> AccumulatingInterface | None:
        """Return the preferred product, or the first accumulating operation."""
        return self.preferred_product or next(
            iter(self.members.accumulating_operations), None
        )

    def _limit_extent_to_budget(self, size: int, budget: int) -> int:
        """Return the extent of a tile along an axis, given a budget of elements."""
        return min(_raise_size_to_min(size, self.target.tiling.matrix_minimum), budget)

    def _reduction_sizes(self, sizes: Sequence[int], depth: int) -> tuple[int, ...]:
        """
        Return the tile sizes of a reduction over several axes: the longest axis first,
        then as much of the others as needs no padding.
        """
        steps = list(sizes)
        order = sorted(range(len(steps)), key=lambda axis: -steps[axis])
        for position, axis in enumerate(order):
            if not self.axes.reduction_free[axis]:
                continue
            extent = self.axes.reduction[axis]
            power_of_two = extent & -extent
            steps[axis] = (
                self._limit_extent_to_budget(steps[axis], depth)
                if position == 0
                else power_of_two
            )
            steps[axis] = min(steps[axis], depth)
            depth = max(1, depth // steps[axis])
        return tuple(steps)

    def _halve_until_enough_programs(self, sizes: TileSizes) -> TileSizes:
        """
        Halve the largest axis until there are enough programs for all cores of the
        target.
        """
        min_size = 4 * self.target.tiling.matrix_minimum
        while self._program_count(sizes) < self.target.tiling.programs:
            splittable = [
                axis
                for axis, size in enumerate(sizes.parallel_sizes)
                if size > min_size and self.axes.free[axis]
            ]
            if not splittable:
                break
            sizes = sizes.halve_axis(
                max(splittable, key=lambda axis: sizes.parallel_sizes[axis])
            )
        return sizes

    def _program_count(self, sizes: TileSizes) -> int:
        pairs = zip(self.axes.parallel, sizes.parallel_sizes, strict=True)
        return prod(ceil(extent / size) for extent, size in pairs)

    def _product_roles_of_axes(
        self, contraction: ContractionInterface
    ) -> tuple[dict[int, str], set[str]] | None:
        """
        Return the role of each axis of the root that is one of rows or columns of the
        contraction, and the roles of the loops over reductions inside; None if no
        result depends on the contraction.
        """
        rules = replace(self.rules, power_of_two=False, has_views=True)
        smallest = self._min_sizes()
        unit = self.members.analyze_tiles_of_sizes(
            smallest.parallel_sizes, smallest.reduction_sizes, rules
        )
        if (tiled := unit.tiles.get(contraction)) is None:
            return None
        box = tiled.box
        roles = {
            axis: role
            for axis, loop in unit.loops.items()
            if (role := _product_side_of_loop(contraction, box, loop)) is not None
        }
        inner = (
            _product_side_of_loop(contraction, box, loop)
            for loop in unit.inner_loops.values()
        )
        return roles, {role for role in inner if role is not None}

    def _find_smaller_sizes(self, sizes: TileSizes) -> Iterator[TileSizes]:
        """
        Yield the sizes with one axis halved or reduced further, for each axis that
        allows it.
        """
        is_free = [*self.axes.free, *self.axes.reduction_free]
        for axis, size in enumerate((*sizes.parallel_sizes, *sizes.reduction_sizes)):
            if size <= 1 or not is_free[axis]:
                continue
            if (smaller := self._shrink_tile_along(sizes, axis, size)) is not None:
                yield smaller

    def _shrink_tile_along(
        self, sizes: TileSizes, axis: int, size: int
    ) -> TileSizes | None:
        """
        Return the sizes with an axis halved, or with the next divisor of its extent if
        only full tiles are legal.
        """
        if self._is_legal(halved := sizes.halve_axis(axis)):
            return halved
        extent = (*self.axes.parallel, *self.axes.reduction)[axis]
        divisors = (n for n in range(size - 1, 0, -1) if extent % n == 0)
        divided = sizes.with_size_along_axis(axis, next(divisors, 1))
        return divided if self._is_legal(divided) else None

    def _is_legal(self, sizes: TileSizes) -> bool:
        """Return `True` if tiling the group with `sizes` is legal, even if too big."""
        try:
            self.tiling_with(sizes)
        except TilingError:
            return False
        return True

    def _footprint_with(self, sizes: TileSizes) -> tuple[int, int]:
        return self.tiling_with(sizes).bytes_of_all_tiles(self.stages), -min(
            (*sizes.parallel_sizes, *sizes.reduction_sizes), default=0
        )


def _product_side_of_loop(
    contraction: ContractionInterface, box: Box, loop: TileLoop
) -> str | None:
    """
    Return the side of a matrix product that a loop iterates over, `rows` or `columns`;
    None if neither or both.
    """
    iterators = {
        iterator
        for iterator, interval in enumerate(box)
        if any(symbol is loop for symbol, _ in interval.offset.terms)
    }
    in_left, in_right = (
        any(access.depends_on(iterators) for access in accesses or ())
        for accesses in contraction.indexing_maps()[:2]
    )
    if in_left == in_right:
        return None
    return "rows" if in_left else "columns"


def _raise_size_to_min(size: int, min_size: int) -> int:
    """Return the size of an axis, raised to a minimum; an axis of 1 is unchanged."""
    return max(size, min_size) if size > 1 else size
