"""Write tensors where indices say, tile by tile."""

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
from tlf.dialects.indexed_write import IndexedWriteInterface
from tlf.dialects.target import Level, Target
from tlf.dialects.tile import Index
from tlf.dialects.types import dtype_of, tensor_type

SHARE = 8
"""Tiles take one part in so many of their level, and twice that while moves overlap."""


@dataclass
class ScatterPattern(RewritePattern):
    """
    Put what is written outside of groups, tile by tile in the order of its axes, into
    the tensor whose elements it replaces or is added to.
    """

    target: Target

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IndexedWriteInterface) or not self._is_moved(op):
            return
        level = self.target.tile_levels[0]
        tiles = _Tiles(op, level, tile_sizes(op, level))
        builder = Builder(InsertPoint.before(op))
        written = tiles.along(builder, op.operands[0], ())
        rewriter.replace(op, (), (written,))

    def _is_moved(self, op: IndexedWriteInterface) -> bool:
        """
        Return `True` if moves of the target do the work of an operation outside of
        groups.
        """
        if isinstance(op.parent_op(), GroupOp) or self.target.indexed_row is None:
            return False
        return op.moved_element == tensor_type(op.results[0]).element_type


def tile_sizes(op: IndexedWriteInterface, level: Level) -> tuple[int, ...]:
    """The extents of tiles of what is written: whole axes, from the last one on."""
    sizes = list(tensor_type(op.operands[2]).get_shape())
    items = [dtype_of(tensor_type(e).element_type).itemsize for e in op.operands[1:]]
    most = max(1, level.capacity // SHARE // sum(items))
    for axis, extent in enumerate(sizes):
        row = prod(sizes[axis + 1 :])
        limit = max(1, min(extent, most // row))
        sizes[axis] = -(-extent // -(-extent // limit))
        if sizes[axis] > 1:
            break
    return tuple(sizes)


@dataclass(frozen=True)
class _Tiles:
    """Builds the loops over tiles of what is written."""

    op: IndexedWriteInterface
    level: Level
    sizes: Sequence[int]

    def along(
        self, builder: Builder, written: SSAValue, offsets: tuple[Index, ...]
    ) -> SSAValue:
        """Write what is at some offsets along the first axes; return what results."""
        axis = len(offsets)
        shape = tensor_type(self.op.operands[2]).get_shape()
        if axis == len(shape):
            return self._put(builder, written, offsets)
        size, whole = self.sizes[axis], shape[axis] // self.sizes[axis]
        if whole > 1:
            written = self._loop(builder, written, offsets, size * whole)
        elif whole:
            written = self.along(builder, written, (*offsets, 0))
        if not (left := shape[axis] - size * whole):
            return written
        sizes = [left if n == axis else each for n, each in enumerate(self.sizes)]
        rest = replace(self, sizes=sizes)
        return rest.along(builder, written, (*offsets, size * whole))

    def _loop(
        self, builder: Builder, written: SSAValue, offsets: tuple[Index, ...], end: int
    ) -> SSAValue:
        """A loop over the tiles along the next axis that are whole."""
        size, axis = self.sizes[len(offsets)], len(offsets)
        shape = tensor_type(self.op.operands[2]).get_shape()
        block = Block(arg_types=[IndexType(), written.type])
        inside = Builder(InsertPoint.at_end(block))
        result = self.along(inside, block.args[1], (*offsets, block.args[0]))
        inside.insert(tile.YieldOp(result))
        inner = zip(self.sizes[axis + 1 :], shape[axis + 1 :], strict=True)
        stages = None if any(size < extent for size, extent in inner) else 2
        loop = tile.WhileOp(
            [0],
            [end],
            [size],
            [written],
            block,
            tile.LoopKind.SEQUENTIAL,
            stages=stages,
        )
        loop.location = self.op.location
        return builder.insert(loop).results[0]

    def _put(
        self, builder: Builder, written: SSAValue, offsets: Sequence[Index]
    ) -> SSAValue:
        """Bring a tile and its indices, and put it where these say."""
        _, indices, updates = self.op.operands
        axis, rank = self.op.written_axis, len(offsets)
        counts = tensor_type(indices).get_shape()
        shared = [n for n, count in enumerate(counts) if count == 1]
        names = self._cut(builder, indices, offsets, shared)
        moved = self._cut(builder, updates, offsets, ())
        maps = _without(rank, (axis,)), _without(rank, shared)
        starts = [0 if n == axis else each for n, each in enumerate(offsets)]
        adds = bool(self.op.sums)
        put = tile.ScatterOp(moved, written, starts, axis, names, maps, adds)
        put.location = self.op.location
        return builder.insert(put).result

    def _cut(
        self,
        builder: Builder,
        value: SSAValue,
        offsets: Sequence[Index],
        shared: Sequence[int],
    ) -> SSAValue:
        """A tile of a value in the level, all of its axes that are `shared`."""
        starts = [0 if n in shared else each for n, each in enumerate(offsets)]
        shape = [1 if n in shared else each for n, each in enumerate(self.sizes)]
        element = tensor_type(value).element_type
        type_ = TensorType(element, shape, tile.EncodingAttr(self.level.name))
        cut = tile.SliceOp(value, starts, type_)
        cut.location = self.op.location
        return builder.insert(cut).result


def _without(rank: int, axes: Sequence[int]) -> AffineMap:
    """The identity, but 0 along some axes."""
    zero = AffineConstantExpr(0)
    dims = (AffineExpr.dimension(each) for each in range(rank))
    return AffineMap(
        rank, 0, tuple(zero if n in axes else dim for n, dim in enumerate(dims))
    )
