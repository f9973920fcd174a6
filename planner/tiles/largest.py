"""The largest tiles of a group that fit, or those that its target likes best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

from tlf.analysis.tiling.axes import Axes
from tlf.analysis.tiling.group import Members, fits
from tlf.analysis.tiling.model import GroupTiling, Loop, TilingError
from tlf.analysis.tiling.rules import Rules
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, Target
from tlf.dialects.types import tensor_type
from tlf.support.affine.access import Box


@dataclass(frozen=True)
class Sizes:
    """Tile sizes: of the parallel axes, and of the reduction if it has a loop."""

    tile: tuple[int, ...]
    reduce: tuple[int, ...]

    def cut(self, axis: int, size: int) -> Sizes:
        """The sizes with another one along an axis, parallel ones counted first."""
        sizes = [*self.tile, *self.reduce]
        sizes[axis] = size
        count = len(self.tile)
        return Sizes(tuple(sizes[:count]), tuple(sizes[count:]))

    def halved(self, axis: int) -> Sizes:
        """The sizes with one axis cut in half."""
        return self.cut(axis, ((*self.tile, *self.reduce)[axis] + 1) // 2)


@dataclass(frozen=True)
class Chooser:
    """Starts from the largest tiles, and halves axes until everything fits."""

    members: Members
    axes: Axes
    level: Level
    target: Target
    rules: Rules
    stages: int = 1
    product: ContractionInterface | None = None
    """
    The product whose preferred tile they are; the first that accumulates unless given.
    """

    def choose(self) -> Sizes:
        """The tile sizes, or an error where not even the smallest fit."""
        sizes, least = self._first(), self._least()
        while not fits(
            tiling := self.tiling(sizes), self.level, self.target, self.stages
        ):
            if not (candidates := self._smaller(sizes) or self._only(least, sizes)):
                raise TilingError(
                    self.members.root,
                    f"its smallest tiles need {tiling.bytes(self.stages)} bytes, and "
                    f"{self.level.name} has {self.level.capacity}",
                )
            sizes = min(candidates, key=self._footprint)
        return sizes

    def most_stages(self) -> int:
        """As many stages as fit with the smallest tiles, or one."""
        least = self._least()
        if not self._is_legal(least):
            return self.stages
        tiling, stages = self.tiling(least), self.stages
        while stages > 1 and not fits(tiling, self.level, self.target, stages):
            stages -= 1
        return stages

    def _first(self) -> Sizes:
        """The preferred sizes, or the smallest, which `graph-group` asked for."""
        try:
            self.tiling(sizes := self.preferred())
        except TilingError:
            return self._least()
        return sizes

    def _least(self) -> Sizes:
        return Sizes(self.axes.least(), self.axes.least_reduction())

    def _only(self, least: Sizes, sizes: Sizes) -> list[Sizes]:
        """The smallest sizes, where there is no legal way to them from others."""
        return [least] if sizes != least and self._is_legal(least) else []

    def tiling(self, sizes: Sizes) -> GroupTiling:
        """The tiles that result from sizes."""
        return self.members.tiling(sizes.tile, sizes.reduce, self.rules)

    def preferred(self) -> Sizes:
        """The sizes to start from: whole axes, or what the target likes best."""
        sizes = Sizes(self.axes.parallel, self.axes.reduction)
        if self.target.tiling.power_of_two:
            sizes = Sizes(
                tuple(self.rules.capacity(size) for size in sizes.tile),
                tuple(self.rules.capacity(size) for size in sizes.reduce),
            )
        preferred = self._matrix_sizes(sizes)
        if preferred is not None and self._is_legal(preferred):
            return preferred
        limit = self.target.tiling.tile_elements
        while limit is not None and (largest := self._largest(sizes)) > limit:
            smaller = [c for c in self._smaller(sizes) if self._largest(c) < largest]
            if not smaller:
                break
            sizes = smaller[0]
        return sizes

    def _largest(self, sizes: Sizes) -> int:
        return self.tiling(sizes).largest()

    def _matrix_sizes(self, sizes: Sizes) -> Sizes | None:
        """The preferred tile of a matrix product, along its rows, columns and depth."""
        contraction = self.product or next(iter(self.members.accumulating), None)
        if not isinstance(contraction, ContractionInterface) or not sizes.reduce:
            return None
        element = str(tensor_type(contraction.operands[0]).element_type)
        if (wanted := self.target.tiling.preferred_tile(element)) is None:
            return None
        rows, columns, depth = wanted
        if (found := self._roles(contraction)) is None:
            return None
        roles, looped = found
        budgets = {"rows": rows, "columns": columns, "batch": 1}
        budgets |= dict.fromkeys(looped, 1)
        tile_sizes = list(sizes.tile)
        for axis in reversed(range(len(tile_sizes))):
            if not self.axes.free[axis]:
                continue
            role = roles.get(axis, "batch")
            tile_sizes[axis] = self._share(tile_sizes[axis], budgets[role])
            budgets[role] = max(1, budgets[role] // tile_sizes[axis])
        own = len(sizes.reduce) - self.axes.nested
        nested = [self._share(size, depth) for size in sizes.reduce[own:]]
        reduce = (*self._depths(sizes.reduce[:own], depth), *nested)
        return self._spread(Sizes(tuple(tile_sizes), reduce))

    def _share(self, size: int, budget: int) -> int:
        """The part of an axis that a tile of so many elements takes."""
        return min(_at_least(size, self.target.tiling.matrix_minimum), budget)

    def _depths(self, sizes: Sequence[int], depth: int) -> tuple[int, ...]:
        """
        The steps of a reduction over several axes: of the longest first, then as many
        of the others as need no filling up.
        """
        steps = list(sizes)
        order = sorted(range(len(steps)), key=lambda axis: -steps[axis])
        for place, axis in enumerate(order):
            if not self.axes.reduction_free[axis]:
                continue
            extent = self.axes.reduction[axis]
            exact = extent & -extent
            steps[axis] = self._share(steps[axis], depth) if place == 0 else exact
            steps[axis] = min(steps[axis], depth)
            depth = max(1, depth // steps[axis])
        return tuple(steps)

    def _spread(self, sizes: Sizes) -> Sizes:
        """Halve the largest axis until there are programs for the whole chip."""
        least = 4 * self.target.tiling.matrix_minimum
        while self._programs(sizes) < self.target.tiling.programs:
            free = [
                axis
                for axis, size in enumerate(sizes.tile)
                if size > least and self.axes.free[axis]
            ]
            if not free:
                break
            sizes = sizes.halved(max(free, key=lambda axis: sizes.tile[axis]))
        return sizes

    def _programs(self, sizes: Sizes) -> int:
        pairs = zip(self.axes.parallel, sizes.tile, strict=True)
        return prod(ceil(extent / size) for extent, size in pairs)

    def _roles(
        self, contraction: ContractionInterface
    ) -> tuple[dict[int, str], set[str]] | None:
        """
        For each axis of the root, whether it is one of rows, columns or a batch; and
        which of these loops over reductions go along. None where no result needs it.
        """
        rules = replace(self.rules, power_of_two=False, views=True)
        least = self._least()
        unit = self.members.tiling(least.tile, least.reduce, rules)
        if (tiled := unit.tiles.get(contraction)) is None:
            return None
        box = tiled.box
        roles = {
            axis: role
            for axis, loop in unit.loops.items()
            if (role := _role(contraction, box, loop)) is not None
        }
        inner = (_role(contraction, box, loop) for loop in unit.inner_loops.values())
        return roles, {role for role in inner if role is not None}

    def _smaller(self, sizes: Sizes) -> list[Sizes]:
        """The sizes with one axis halved or less, for each axis that can be."""
        free = [*self.axes.free, *self.axes.reduction_free]
        smaller = [
            self._less(sizes, axis, size)
            for axis, size in enumerate((*sizes.tile, *sizes.reduce))
            if size > 1 and free[axis]
        ]
        return [each for each in smaller if each is not None]

    def _less(self, sizes: Sizes, axis: int, size: int) -> Sizes | None:
        """
        The sizes with half of an axis, or with the next divisor of its extent where
        only tiles that fill it are legal.
        """
        if self._is_legal(halved := sizes.halved(axis)):
            return halved
        extent = (*self.axes.parallel, *self.axes.reduction)[axis]
        divisors = (n for n in range(size - 1, 0, -1) if extent % n == 0)
        cut = sizes.cut(axis, next(divisors, 1))
        return cut if self._is_legal(cut) else None

    def _is_legal(self, sizes: Sizes) -> bool:
        """Return `True` if the group can be tiled with some sizes."""
        try:
            self.tiling(sizes)
        except TilingError:
            return False
        return True

    def _footprint(self, sizes: Sizes) -> tuple[int, int]:
        return self.tiling(sizes).bytes(self.stages), -min(
            (*sizes.tile, *sizes.reduce), default=0
        )


def _role(contraction: ContractionInterface, box: Box, loop: Loop) -> str | None:
    """
    Return the side of a product that a loop goes along, `rows` or `columns`; `None` if
    along neither or both.
    """
    moved = {
        iterator
        for iterator, interval in enumerate(box)
        if any(symbol is loop for symbol, _ in interval.offset.terms)
    }
    in_left, in_right = (
        any(access.uses(moved) for access in accesses or ())
        for accesses in contraction.operand_accesses()[:2]
    )
    if in_left == in_right:
        return None
    return "rows" if in_left else "columns"


def _at_least(size: int, least: int) -> int:
    """A size along an axis of a matrix product; an axis of 1 stays."""
    return max(size, least) if size > 1 else size
