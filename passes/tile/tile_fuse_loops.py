"""Pass `tile-fuse-loops`: fuses `tile.while` nests of a block that share a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.analysis.affine_loops.fusion_legality import NestFusion
from tlf.analysis.affine_loops.storage_roots import values_used_by
from tlf.dialects import graph, tile
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.description import TARGET_ATTRIBUTE
from tlf.passes.tile.fusing.dead_tiles import (
    erase_overwritten_tiles,
    erase_unread_destinations,
)
from tlf.passes.tile.fusing.nest_fusion import fuse_nests
from tlf.passes.tile.fusing.slice_sinking import hoist_slices, sink_slices


@dataclass
class _NestFuser:
    """Fuses the nests of blocks, and records what prevents that."""

    target: TargetSpec | None
    objections: dict[tuple[tile.WhileOp, tile.WhileOp], str] = field(
        default_factory=dict[tuple[tile.WhileOp, tile.WhileOp], str]
    )
    """Reasons why two nests were not fused."""

    def fuse_block(self, block: Block) -> None:
        """Fuse the nests of a block, then those inside of them."""
        position = {op: number for number, op in enumerate(block.ops)}
        for op in list(block.ops):
            nest: tile.WhileOp | None = op if isinstance(op, tile.WhileOp) else None
            while nest is not None:
                nest = self._fuse_with_earlier(nest, position)
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.fuse_block(inner)

    def _fuse_with_earlier(
        self, second: tile.WhileOp, position: dict[Operation, int]
    ) -> tile.WhileOp | None:
        """
        Fuse a nest with an earlier one; return the result, or None where none can be.
        """
        for first in _fusion_candidates(second, position):
            sunk = sink_slices(first, second)
            fusion = NestFusion(first, second, self._can_take_subviews(first))
            if (reason := fusion.find_objection()) is not None:
                self.objections[first, second] = reason
                hoist_slices(sunk, second)
                continue
            place = position[second]
            made = fuse_nests(fusion)
            erase_overwritten_tiles(made)
            made = erase_unread_destinations(made)
            position[made] = place
            graph.add_remark(made, TileFuseLoopsPass.name, "passed", "nests run as one")
            return made
        return None

    def _can_take_subviews(self, nest: tile.WhileOp) -> bool:
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

    def report_objections(self) -> None:
        """Emit remarks on nests that share a tensor and were not fused."""
        for (first, second), reason in self.objections.items():
            if first.parent is None or second.parent is None:
                continue
            names = [each.name_hint for each in first.results if each.name_hint]
            other = f"%{names[0]}" if names else "the nest before"
            text = f"stays apart from {other}: {reason}"
            graph.add_remark(second, TileFuseLoopsPass.name, "missed", text)


def _fusion_candidates(
    second: tile.WhileOp, position: dict[Operation, int]
) -> Iterator[tile.WhileOp]:
    """Yield the earlier nests that share a tensor with one, the nearest first."""
    found = set[Operation | Block | None]()
    for value in values_used_by(second):
        if isinstance(value.type, TensorType):
            cut = value.owner
            source = cut.source.owner if isinstance(cut, tile.SliceOp) else cut
            users = (
                _ancestor_in_block(use.operation, second.parent) for use in value.uses
            )
            found.update((source, *users))
    before = [
        op
        for op in found
        if isinstance(op, tile.WhileOp)
        and op.parent is second.parent
        and position[op] < position[second]
    ]
    yield from sorted(before, key=lambda op: -position[op])


def _ancestor_in_block(op: Operation, block: Block | None) -> Operation | None:
    """Return the ancestor of an operation in a block, or None."""
    around: Operation | None = op
    while around is not None and around.parent is not block:
        around = around.parent_op()
    return around


@dataclass(frozen=True)
class TileFuseLoopsPass(ModulePass):
    """
    Fuse nests of `tile.while` that share a tensor, one after the other in a block.

    Both nests run as often, loop by loop, and agree in kind, mapping, order and stages.
    Every dependence keeps its direction: in sequential nests, what an iteration of the
    second needs or overwrites the first has written or read by then; in parallel ones,
    all of it is of the same iteration. A tile that the first puts into a tensor and the
    second cuts out of it is used as it is; the tensor is dropped where nothing else
    needs it. Nests inside of nests are fused after those around them.

    Operations between the nests stay in front where they do not need the first, else
    behind; slices of its results go into the second. Remarks tell which nests share a
    tensor and stay apart, and why.
    """

    name = "tile-fuse-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fuser = _NestFuser(
            TargetSpec.of(op) if TARGET_ATTRIBUTE in op.attributes else None
        )
        for region in op.regions:
            for block in region.blocks:
                fuser.fuse_block(block)
        fuser.report_objections()
