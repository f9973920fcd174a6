"""Lowering of scatters outside of groups to indexed moves of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import tile
from tlf.dialects.graph import GroupOp
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.tile import Index
from tlf.dialects.types import itemsize_of, tensor_type

LEVEL_FRACTION = 8
"""A tile uses 1 / LEVEL_FRACTION of its level, twice that with double buffering."""


@dataclass
class ScatterPattern(RewritePattern):
    """
    Replace a scatter outside groups by loops of indexed moves of update tiles, in
    order.
    """

    target: TargetSpec

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(
            op, IndexedWriteInterface
        ) or not self._is_lowered_to_indexed_moves(op):
            return
        level = self.target.tile_levels[0]
        tiles = _ScatterLoops(op, level, scatter_update_tile_sizes(op, level))
        builder = Builder(InsertPoint.before(op))
        written = tiles.build_loops_over_remaining_axes(builder, op.operands[0], ())
        rewriter.replace(op, (), (written,))

    def _is_lowered_to_indexed_moves(self, op: IndexedWriteInterface) -> bool:
        """
        Return `True` if an operation is outside groups and indexed moves of the target
        implement it.
        """
        if (
            isinstance(op.parent_op(), GroupOp)
            or self.target.indexed_row_cycles is None
        ):
            return False
        return op.element_type_of_moves == tensor_type(op.results[0]).element_type


def scatter_update_tile_sizes(
    op: IndexedWriteInterface, level: Level
) -> tuple[int, ...]:
    """Return the tile extents of the updates: inner axes in full, outer axes split."""
    sizes = list(tensor_type(op.operands[2]).get_shape())
    items = [itemsize_of(e) for e in op.operands[1:]]
    max_elements = max(1, level.capacity // LEVEL_FRACTION // sum(items))
    for axis, extent in enumerate(sizes):
        row = prod(sizes[axis + 1 :])
        limit = max(1, min(extent, max_elements // row))
        sizes[axis] = -(-extent // -(-extent // limit))
        if sizes[axis] > 1:
            break
    return tuple(sizes)


@dataclass(frozen=True)
class _ScatterLoops:
    """Builder of the loops over update tiles."""

    op: IndexedWriteInterface
    level: Level
    sizes: Sequence[int]

    def build_loops_over_remaining_axes(
        self, builder: Builder, destination: SSAValue, offsets: tuple[Index, ...]
    ) -> SSAValue:
        """Build the scatter over the remaining axes, at `offsets` along outer axes."""
        axis = len(offsets)
        shape = tensor_type(self.op.operands[2]).get_shape()
        if axis == len(shape):
            return self._build_scatter_of_tile(builder, destination, offsets)
        size, full_tiles = self.sizes[axis], shape[axis] // self.sizes[axis]
        if full_tiles > 1:
            destination = self._build_full_tile_loop(
                builder, destination, offsets, size * full_tiles
            )
        elif full_tiles:
            destination = self.build_loops_over_remaining_axes(
                builder, destination, (*offsets, 0)
            )
        if not (remainder := shape[axis] - size * full_tiles):
            return destination
        sizes = [remainder if n == axis else each for n, each in enumerate(self.sizes)]
        remainder_loops = replace(self, sizes=sizes)
        return remainder_loops.build_loops_over_remaining_axes(
            builder, destination, (*offsets, size * full_tiles)
        )

    def _build_full_tile_loop(
        self,
        builder: Builder,
        destination: SSAValue,
        offsets: tuple[Index, ...],
        end: int,
    ) -> SSAValue:
        """
        Build the loop over the full tiles along the first remaining axis, and return
        the written destination.
        """
        size, axis = self.sizes[len(offsets)], len(offsets)
        shape = tensor_type(self.op.operands[2]).get_shape()
        block = Block(arg_types=[IndexType(), destination.type])
        body_builder = Builder(InsertPoint.at_end(block))
        result = self.build_loops_over_remaining_axes(
            body_builder, block.args[1], (*offsets, block.args[0])
        )
        body_builder.insert(tile.YieldOp(result))
        inner = zip(self.sizes[axis + 1 :], shape[axis + 1 :], strict=True)
        stages = None if any(size < extent for size, extent in inner) else 2
        loop = tile.WhileOp(
            [0],
            [end],
            [size],
            [destination],
            block,
            tile.LoopKind.SEQUENTIAL,
            stages=stages,
        )
        loop.location = self.op.location
        return builder.insert(loop).results[0]

    def _build_scatter_of_tile(
        self, builder: Builder, destination: SSAValue, offsets: Sequence[Index]
    ) -> SSAValue:
        """Slice a tile of updates and its indices, and build the scatter."""
        _, indices, updates = self.op.operands
        axis, rank = self.op.scatter_axis, len(offsets)
        counts = tensor_type(indices).get_shape()
        shared = [n for n, count in enumerate(counts) if count == 1]
        index_tile = self._slice_tile_to_level(builder, indices, offsets, shared)
        update_tile = self._slice_tile_to_level(builder, updates, offsets, ())
        maps = (
            identity_map_with_zeros(rank, (axis,)),
            identity_map_with_zeros(rank, shared),
        )
        starts = [0 if n == axis else each for n, each in enumerate(offsets)]
        adds = bool(self.op.is_scatter_add)
        scatter = tile.ScatterOp(
            update_tile, destination, starts, axis, index_tile, maps, adds
        )
        scatter.location = self.op.location
        return builder.insert(scatter).result

    def _slice_tile_to_level(
        self,
        builder: Builder,
        value: SSAValue,
        offsets: Sequence[Index],
        broadcast_axes: Sequence[int],
    ) -> SSAValue:
        """
        Slice a tile of a value into the level; `broadcast_axes` axes have extent 1.
        """
        starts = [0 if n in broadcast_axes else each for n, each in enumerate(offsets)]
        shape = [
            1 if n in broadcast_axes else each for n, each in enumerate(self.sizes)
        ]
        element = tensor_type(value).element_type
        type_ = TensorType(element, shape, tile.EncodingAttr(self.level.name))
        slice_op = tile.SliceOp(value, starts, type_)
        slice_op.location = self.op.location
        return builder.insert(slice_op).result


def identity_map_with_zeros(rank: int, zero_axes: Sequence[int]) -> AffineMap:
    """Return the identity map with 0 as the result for `zero_axes`."""
    zero = AffineConstantExpr(0)
    dims = (AffineExpr.dimension(each) for each in range(rank))
    return AffineMap(
        rank, 0, tuple(zero if n in zero_axes else dim for n, dim in enumerate(dims))
    )
