"""Fuse nests of loops that stand one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.analysis.affine_loops.fusion import Fusion
from tlf.analysis.affine_loops.storage import used_by
from tlf.dialects import graph, tile
from tlf.dialects.target import Target
from tlf.dialects.target.description import ATTRIBUTE
from tlf.passes.tile.fusing.fuse import fuse
from tlf.passes.tile.fusing.sinking import lift, sink
from tlf.passes.tile.fusing.unused import drop_overwritten, drop_unread


@dataclass
class _Fuser:
    """Fuses the nests of one block after the other."""

    target: Target | None
    apart: dict[tuple[tile.WhileOp, tile.WhileOp], str] = field(
        default_factory=dict[tuple[tile.WhileOp, tile.WhileOp], str]
    )
    """Reasons why two nests were not fused."""

    def run(self, block: Block) -> None:
        """Fuse the nests of a block, then those inside of them."""
        position = {op: number for number, op in enumerate(block.ops)}
        for op in list(block.ops):
            nest: tile.WhileOp | None = op if isinstance(op, tile.WhileOp) else None
            while nest is not None:
                nest = self._step(nest, position)
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.run(inner)

    def _step(
        self, second: tile.WhileOp, position: dict[Operation, int]
    ) -> tile.WhileOp | None:
        """Fuse a nest with one before it; the result, or None where none can be."""
        for first in _candidates(second, position):
            sunk = sink(first, second)
            fusion = Fusion(first, second, self._has_views(first))
            if (reason := fusion.objection()) is not None:
                self.apart[first, second] = reason
                lift(sunk, second)
                continue
            place = position[second]
            made = fuse(fusion)
            drop_overwritten(made)
            made = drop_unread(made)
            position[made] = place
            graph.remark(made, TileFuseLoopsPass.name, "passed", "nests run as one")
            return made
        return None

    def _has_views(self, nest: tile.WhileOp) -> bool:
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

    def explain(self) -> None:
        """Leave remarks on what stays apart."""
        for (first, second), reason in self.apart.items():
            if first.parent is None or second.parent is None:
                continue
            names = [each.name_hint for each in first.results if each.name_hint]
            other = f"%{names[0]}" if names else "the nest before"
            text = f"stays apart from {other}: {reason}"
            graph.remark(second, TileFuseLoopsPass.name, "missed", text)


def _candidates(
    second: tile.WhileOp, position: dict[Operation, int]
) -> Iterator[tile.WhileOp]:
    """The nests before one that share a tensor with it, the nearest first."""
    found = set[Operation | Block | None]()
    for value in used_by(second):
        if isinstance(value.type, TensorType):
            cut = value.owner
            source = cut.source.owner if isinstance(cut, tile.SliceOp) else cut
            users = (_in_block(use.operation, second.parent) for use in value.uses)
            found.update((source, *users))
    before = [
        op
        for op in found
        if isinstance(op, tile.WhileOp)
        and op.parent is second.parent
        and position[op] < position[second]
    ]
    yield from sorted(before, key=lambda op: -position[op])


def _in_block(op: Operation, block: Block | None) -> Operation | None:
    """The operation of a block that another is, or is inside of."""
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
        fuser = _Fuser(Target.of(op) if ATTRIBUTE in op.attributes else None)
        for region in op.regions:
            for block in region.blocks:
                fuser.run(block)
        fuser.explain()
