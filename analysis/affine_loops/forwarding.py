"""
Handing a tile on within an iteration, instead of by way of the tensor it is put into.

What a slice reads is then the tile that was put there in the same iteration, or a view
of it. Elements outside of the tensor, which read as the slice's fill, are masked.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.affine_loops.boxes import Access, read, written
from tlf.analysis.affine_loops.dependence import Pair
from tlf.analysis.affine_loops.indices import index_of
from tlf.analysis.affine_loops.systems import System, counter, loops_of
from tlf.dialects import tile
from tlf.dialects.rewriting import replace_op
from tlf.dialects.types import scalar_value, tensor_type
from tlf.support.affine.access import Linear


@dataclass(frozen=True)
class Forward:
    """A slice, and the tile that holds what it reads, from `shift` on."""

    cut: tile.SliceOp
    tile: SSAValue
    shift: tuple[Linear, ...]
    is_masked: bool

    @property
    def is_whole(self) -> bool:
        """True if the tile is the whole result of the slice, not a superset of it."""
        return self.tile.type == self.cut.result.type and not any(
            each.terms or each.constant for each in self.shift
        )

    def apply(self) -> None:
        """Replace the slice."""
        builder = Builder(InsertPoint.before(self.cut))
        value, wanted = self.tile, tensor_type(self.cut.result)
        if not self.is_whole:
            offsets = [index_of(builder, each) for each in self.shift]
            view = tile.SliceOp(value, offsets, wanted)
            view.location = self.cut.location
            value = builder.insert(view).result
        if self.is_masked:
            assert self.cut.fill is not None
            bounds = tensor_type(self.cut.source).get_shape()
            valid = None if self.cut.valid is None else self.cut.extents
            fill = scalar_value(self.cut.fill)
            mask = tile.MaskOp(value, self.cut.mixed_offsets, bounds, fill, valid)
            mask.location = self.cut.location
            value = builder.insert(mask).result
        replace_op(self.cut, [], [value])


def forward_of(cut: tile.SliceOp, end: SSAValue, pair: Pair) -> Forward | None:
    """
    Return the forwarding of a slice of the second nest: the tile that the same
    iteration of the first one writes to a tensor, whose last value is `end`, and that
    contains all that the slice reads. None if there is no such tile.
    """
    access = read(cut, cut.source)
    if cut.map is not None or access is None:
        return None
    while isinstance(put := end.owner, tile.DesliceOp):
        if put.parent is not pair.first.body.block:
            return None
        if (found := _forward(cut, access, put, pair)) is not None:
            return found
        if pair.meets_within(written(put), access):
            return None
        end = put.destination
    return None


def _forward(
    cut: tile.SliceOp, access: Access, put: tile.DesliceOp, pair: Pair
) -> Forward | None:
    source, wanted = tensor_type(put.source), tensor_type(cut.result)
    if source.encoding != wanted.encoding:
        return None
    into = written(put)
    shift = tuple(
        at_counters(theirs, pair.second) - at_counters(ours, pair.first)
        for ours, theirs in zip(into.starts, access.starts, strict=True)
    )
    system = System()
    for axis, each in enumerate(shift):
        if any(isinstance(symbol, tuple) for symbol, _ in each.terms):
            return None
        form = system.placed(each, pair.second, "")
        low, high = form.bounds(system.domains)
        room = high + wanted.get_shape()[axis] <= source.get_shape()[axis]
        if low < 0 or high + access.extents[axis] > into.extents[axis] or not room:
            return None
    masked = cut.fill is not None and not _is_inside(cut, access, pair)
    return Forward(cut, put.source, shift, masked)


def at_counters(form: Linear, nest: tile.WhileOp) -> Linear:
    """A form by how often the loops of a nest ran before, and by values inside."""
    loops = zip(nest.induction_variables, loops_of(nest), strict=True)
    values: dict[Hashable, Linear] = {
        variable: loop.lower + Linear.of(counter(number, "")) * loop.step
        for number, (variable, loop) in enumerate(loops)
    }
    return form.substitute(values)


def _is_inside(cut: tile.SliceOp, access: Access, pair: Pair) -> bool:
    """
    Return `True` if a slice reads nothing outside of its tensor or of its own extents.
    """
    if access.extents != tensor_type(cut.result).get_shape():
        return False
    system = System()
    for start, extent, bound in zip(
        access.starts, access.extents, access.shape, strict=True
    ):
        form = system.placed(start, pair.second, "")
        low, high = form.bounds(system.domains)
        if low < 0 or high + extent > bound:
            return False
    return True
