"""Lowering of sorts outside of groups to tiles of whole rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph, tile
from tlf.dialects.argsort_operation import is_sortable_in_words
from tlf.dialects.sort_interface import SortInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import Index
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.lowering.graph_to_tile.scatter_lowering import identity_map_with_zeros
from tlf.lowering.graph_to_tile.tile_grid import build_tile_grid
from tlf.planner.tile_sizes.row_tiles import select_row_tile_sizes
from tlf.planner.tile_sizes.update_tiles import next_power_of_two

MIN_RESULTS = 2
"""Least number of results of a row that `tl.topk` computes."""


@dataclass
class SortPattern(RewritePattern):
    """
    Replace a sort along the last axis, outside of groups, by a grid of programs that
    sort the rows of a tile each.
    """

    target: TargetSpec

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SortInterface) or isinstance(
            op.parent_op(), graph.GroupOp
        ):
            return
        operand = tensor_type(op.operands[0])
        if not op.is_along_last_axis or not is_sortable_in_words(operand.element_type):
            return
        if op.sorted_extent > self.target.sortable_extent:
            return
        rewriter.replace(op, (), self._build_sorted_rows(op, operand.get_shape()))

    def _build_sorted_rows(
        self, op: SortInterface, shape: Sequence[int]
    ) -> list[SSAValue | None]:
        """Build the grid, and return the results of the sort; None for unused ones."""
        builder = Builder(InsertPoint.before(op))
        destinations = [
            builder.insert(tile.EmptyOp(tensor_type(result))).result
            for result in op.results
            if result.uses
        ]
        sizes = select_row_tile_sizes(shape, self.target)
        tiles = _RowTiles(op, self.target.tile_levels[0].name, sizes)
        results = iter(
            build_tile_grid(op, shape, sizes, destinations, tiles.build_sorted_tiles)
        )
        return [next(results) if each.uses else None for each in op.results]


@dataclass(frozen=True)
class _RowTiles:
    """Builder of the results of a sort from tiles of its rows."""

    op: SortInterface
    level: str
    sizes: Sequence[int]
    """Extents of a tile of the operand: powers of two, the last at least the axis."""

    @property
    def result_sizes(self) -> tuple[int, ...]:
        """Extents of a tile of a result, which are powers of two, the last above 1."""
        *rows, row = self.sizes
        first = max(MIN_RESULTS, next_power_of_two(self.op.result_extent))
        return (*rows, min(row, first))

    def build_sorted_tiles(
        self,
        builder: Builder,
        offsets: Sequence[Index],
        destinations: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Sort the rows of a tile, and insert the results that are used."""
        operand, op = self.op.operands[0], self.op
        element = tensor_type(operand).element_type
        source_type = self._tile_type(element, self.sizes)
        source = builder.insert(tile.SliceOp(operand, offsets, source_type)).result
        order_type = self._tile_type(i32, self.result_sizes)
        order = builder.insert(
            tile.ArgsortOp(source, op.sorted_extent, op.is_descending, order_type)
        ).result
        builders = (self._build_elements, self._build_indices)
        tiles = [
            build(builder, offsets, order)
            for build, result in zip(builders, op.results, strict=True)
            if result.uses
        ]
        valid = (*self.sizes[:-1], op.result_extent)
        return [
            builder.insert(tile.DesliceOp(each, destination, offsets, valid)).result
            for each, destination in zip(tiles, destinations, strict=True)
        ]

    def _build_elements(
        self, builder: Builder, offsets: Sequence[Index], order: SSAValue
    ) -> SSAValue:
        """Build the tile of the elements at the sorted indices."""
        operand, rank = self.op.operands[0], len(offsets)
        type_ = self._tile_type(tensor_type(operand).element_type, self.result_sizes)
        maps = (identity_map_with_zeros(rank, (rank - 1,)), AffineMap.identity(rank))
        gather = tile.GatherOp(operand, offsets, rank - 1, order, maps, type_)
        return builder.insert(gather).result

    def _build_indices(
        self, builder: Builder, _: Sequence[Index], order: SSAValue
    ) -> SSAValue:
        """Build the tile of the sorted indices, in the type of the result."""
        element = tensor_type(self.op.results[1]).element_type
        type_ = self._tile_type(element, self.result_sizes)
        cast = graph.CastOp.create(operands=[order], result_types=[type_])
        return builder.insert(cast).result

    def _tile_type(self, element: Attribute, shape: Sequence[int]) -> AnyTensor:
        return TensorType(element, shape, tile.EncodingAttr(self.level))
