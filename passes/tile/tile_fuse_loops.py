"""Pass `tile-fuse-loops`: fuses `tile.while` nests of a block that share a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.analysis.affine_loops.fusion_legality import NestFusion
from tlf.analysis.affine_loops.storage_roots import outside_values_used_by
from tlf.dialects import graph, tile
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.description import TARGET_ATTRIBUTE
from tlf.passes.tile.fusing.dead_tiles import (
    erase_overwritten_tiles,
    erase_unread_destinations,
)
from tlf.passes.tile.fusing.nest_fusion import fuse_nests
from tlf.passes.tile.fusing.slice_sinking import (
    hoist_slices_above_nest,
    sink_slices_into_later_nest,
)


@dataclass
class _NestFuser:
    """Fusion of the nests of blocks, with the reasons that prevent it."""

    target: TargetSpec | None
    reasons_not_fused: dict[tuple[tile.WhileOp, tile.WhileOp], str] = field(
        default_factory=dict[tuple[tile.WhileOp, tile.WhileOp], str]
    )
    """Reasons why two nests were not fused."""

    def fuse_nests_of_block(self, block: Block) -> None:
        """
        Fuse the `tile.while` nests of a block in place, then those of nested blocks.
        """
        position = {op: index for index, op in enumerate(block.ops)}
        for op in list(block.ops):
            nest: tile.WhileOp | None = op if isinstance(op, tile.WhileOp) else None
            while nest is not None:
                nest = self._fuse_with_earlier_nest(nest, position)
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.fuse_nests_of_block(inner)

    def _fuse_with_earlier_nest(
        self, later_nest: tile.WhileOp, block_positions: dict[Operation, int]
    ) -> tile.WhileOp | None:
        """
        Fuse a nest with an earlier nest, and return the fused nest; None if no earlier
        nest can be fused.
        """
        for first in _earlier_nests_sharing_tensor(later_nest, block_positions):
            sunk = sink_slices_into_later_nest(first, later_nest)
            fusion = NestFusion(
                first, later_nest, self._can_take_subviews_of_tiles(first)
            )
            if (reason := fusion.find_fusion_objection()) is not None:
                self.reasons_not_fused[first, later_nest] = reason
                hoist_slices_above_nest(sunk, later_nest)
                continue
            index = block_positions[later_nest]
            fused = fuse_nests(fusion)
            erase_overwritten_tiles(fused)
            fused = erase_unread_destinations(fused)
            block_positions[fused] = index
            graph.add_remark(
                fused, TileFuseLoopsPass.name, "passed", "nests run as one"
            )
            return fused
        return None

    def _can_take_subviews_of_tiles(self, nest: tile.WhileOp) -> bool:
        """Return `True` if subviews of the tiles in a nest can be taken."""
        levels = {
            tile.level_of(value.type)
            for op in nest.body.block.ops
            for value in op.results
        }
        return self.target is None or not any(
            level.kind == "value" and level.name in levels
            for level in self.target.levels.values()
        )

    def remark_unfused_nests(self) -> None:
        """Emit remarks on nests that share a tensor and were not fused."""
        for (first, second), reason in self.reasons_not_fused.items():
            if first.parent is None or second.parent is None:
                continue
            names = [each.name_hint for each in first.results if each.name_hint]
            other = f"%{names[0]}" if names else "the nest before"
            text = f"not fused with {other}: {reason}"
            graph.add_remark(second, TileFuseLoopsPass.name, "missed", text)


def _earlier_nests_sharing_tensor(
    later_nest: tile.WhileOp, block_positions: dict[Operation, int]
) -> Iterator[tile.WhileOp]:
    """
    Yield the earlier nests that share a tensor with `later_nest`, last nest first.
    """
    block = later_nest.parent
    assert block is not None
    related = set[Operation | Block | None]()
    for value in outside_values_used_by(later_nest):
        if isinstance(value.type, TensorType):
            definition = value.owner
            source = (
                definition.source.owner
                if isinstance(definition, tile.SliceOp)
                else definition
            )
            users = (
                block.find_ancestor_op_in_block(use.operation) for use in value.uses
            )
            related.update((source, *users))
    earlier = [
        op
        for op in related
        if isinstance(op, tile.WhileOp)
        and op.parent is block
        and block_positions[op] < block_positions[later_nest]
    ]
    yield from sorted(earlier, key=lambda op: -block_positions[op])


@dataclass(frozen=True)
class TileFuseLoopsPass(ModulePass):
    """
    Fuse `tile.while` nests of a block that share a tensor.

    Both nests must have equal trip counts, kind, mapping, order and stages. All
    dependences are preserved: in sequential nests, elements that an iteration of the
    second nest reads or overwrites must have been written or read by the first nest in
    the same or an earlier iteration; in parallel nests, in the same iteration. A tile
    that the first nest writes to a tensor and the second slices from the tensor is
    forwarded; the tensor is erased if it has no other uses. Outer nests are fused
    before inner ones.

    Operations between the nests remain before the fused nest if they do not depend on
    the first nest, else they move after it; slices of its results sink into the second.
    Remarks name nests that share a tensor but are not fused, and the reason.
    """

    name = "tile-fuse-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fuser = _NestFuser(
            TargetSpec.read_from_module(op)
            if TARGET_ATTRIBUTE in op.attributes
            else None
        )
        for region in op.regions:
            for block in region.blocks:
                fuser.fuse_nests_of_block(block)
        fuser.remark_unfused_nests()
