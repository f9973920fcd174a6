"""Lowering of scatters outside of groups to parallel combinations of update tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tlf.dialects import tile
from tlf.dialects.graph import CastOp, GroupOp
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import Index
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.scatter_lowering import identity_map_with_zeros
from tlf.lowering.graph_to_tile.tile_grid import build_tile_grid
from tlf.planner.tile_sizes.update_tiles import select_update_tile_sizes

NO_POSITION = -1
"""Index of the elements of a tile that are beyond the updates; it writes nothing."""


@dataclass
class CombinedWritePattern(RewritePattern):
    """
    Replace a scatter outside of groups, whose updates are combined in any order, by a
    grid of programs that combine one tile of updates each.
    """

    target: TargetSpec

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not self.target.has_atomics or not isinstance(op, IndexedWriteInterface):
            return
        if isinstance(op.parent_op(), GroupOp) or op.combining_kind is None:
            return
        extents = tensor_type(op.operands[2]).get_shape()
        sizes = select_update_tile_sizes(extents, self.target)
        tiles = _UpdateTiles(op, self.target.tile_levels[0].name, sizes)
        written = build_tile_grid(
            op, extents, sizes, op.operands[:1], tiles.build_combination
        )
        rewriter.replace(op, (), written)


@dataclass(frozen=True)
class _UpdateTiles:
    """Builder of the combinations of tiles of the updates of a scatter."""

    op: IndexedWriteInterface
    level: str
    sizes: Sequence[int]

    def build_combination(
        self,
        builder: Builder,
        offsets: Sequence[Index],
        destinations: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Slice a tile of updates and its indices, and build the combination."""
        _, indices, updates = self.op.operands
        axis, rank, kind = self.op.scatter_axis, len(offsets), self.op.combining_kind
        assert kind is not None
        counts = tensor_type(indices).get_shape()
        shared = [n for n, count in enumerate(counts) if count == 1]
        neutral = kind.neutral_element_of(tensor_type(updates).element_type)
        scatter = tile.ScatterOp(
            self._build_widened_tile(
                builder, self._slice_tile(builder, updates, offsets, (), neutral)
            ),
            destinations[0],
            [0 if n == axis else each for n, each in enumerate(offsets)],
            axis,
            self._slice_tile(builder, indices, offsets, shared, NO_POSITION),
            (
                identity_map_with_zeros(rank, (axis,)),
                identity_map_with_zeros(rank, shared),
            ),
            combine=kind,
        )
        return [builder.insert(scatter).result]

    def _build_widened_tile(self, builder: Builder, value: SSAValue) -> SSAValue:
        """Cast a tile of updates to the type in which they are combined, if needed."""
        element = tensor_type(self.op.operands[0]).element_type
        if tensor_type(value).element_type == element:
            return value
        shape = tensor_type(value).get_shape()
        type_ = TensorType(element, shape, tile.EncodingAttr(self.level))
        cast = CastOp.create(operands=[value], result_types=[type_])
        return builder.insert(cast).result

    def _slice_tile(
        self,
        builder: Builder,
        value: SSAValue,
        offsets: Sequence[Index],
        shared_axes: Sequence[int],
        fill: float,
    ) -> SSAValue:
        """
        Slice a tile of a value, `fill` beyond its extents; `shared_axes` have extent 1.
        """
        starts = [0 if n in shared_axes else each for n, each in enumerate(offsets)]
        shape = [1 if n in shared_axes else each for n, each in enumerate(self.sizes)]
        type_ = TensorType(
            tensor_type(value).element_type, shape, tile.EncodingAttr(self.level)
        )
        return builder.insert(tile.SliceOp(value, starts, type_, fill)).result
