"""
The named pipelines: what `-p NAME` stands for, written as `-p` would take it.

A pipeline may name others; its options are those of the passes inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tlf.dialects.target import Target

GIVEN = "tlf-inline,tile-verify-levels,tile-verify-coverage"
"""
The passes that inline what a program calls, and check tiles that it brings along.
"""


def tiling(level: str, merge: str = "", mark: str = "") -> str:
    """
    The passes that bring the program's tiles to one more memory level, with others
    before tiles are chosen and before groups become loops.
    """
    return (
        f"graph-group{{level={level}}},{merge}graph-copy-joined,"
        f"graph-choose-tiles{{level={level}}},dce,{mark}convert-graph-to-tile"
    )


def npu_pipeline(levels: Sequence[str], cores: int = 1) -> str:
    """
    From whole tensors to instructions: one level of tiles after the other, outermost
    first, then buffers, addresses and instructions.
    """
    outermost, *nearer = levels
    merge = (
        f"graph-partition{{level={outermost}}},"
        f"graph-choose-layouts{{level={outermost}}},"
    )
    first = tiling(outermost, merge, "graph-mark-in-place,")
    steps = ",tlf-cse,".join(
        (first, *(tiling(each, "graph-collapse-axes,") for each in nearer))
    )
    deal = "mem-assign-cores," if cores > 1 else ""
    return (
        f"{GIVEN},graph-pipeline,graph-verify-types,graph-copy-written,{steps},tidy,convert-tile-to-mem,tidy,"
        f"mem-fold-fills,mem-fold-casts,{deal}mem-pipeline,mem-split-maps,mem-prefetch,"
        "mem-chunk-loads,mem-chunk-stores,mem-plan,convert-mem-to-npu,tidy"
    )


PIPELINES: Mapping[str, str] = {
    "tidy": "canonicalize,tlf-cse,dce",
    # Whole tensors: composites become simple operations.
    "graph-pipeline": (
        "graph-simplify,tidy,graph-fold-ramps,tidy,"
        "graph-move-factors,graph-fold-batch-norm,"
        "graph-merge-products,graph-fold-constants,graph-split-joined,graph-decompose,"
        "tidy,graph-fold-comparisons,graph-narrow-integers,graph-share-joined,"
        "graph-hoist-reshapes,tidy,graph-move-factors,"
        "graph-fold-movements,graph-move-factors,graph-fold-constants,tidy,"
        "graph-expose-cascades,tidy,"
        "graph-split-reductions,tidy,graph-outline-prepare,tidy"
    ),
    "npu-pipeline": npu_pipeline(["L2", "L1"]),
    # One kernel per group, its tiles values that Triton manages.
    "triton-pipeline": (
        f"{GIVEN},graph-pipeline,graph-unfold-windows,tidy,graph-group,graph-keep-wide,"
        "graph-choose-tiles,dce,graph-mark-in-place,convert-graph-to-tile,tidy,"
        "convert-tile-to-mem,tidy,mem-fold-unit-extents,tidy,mem-schedule-moves,"
        "convert-mem-to-triton"
    ),
}
"""The pipelines for a chip with the three levels that the presets have."""


def pipelines_for(target: Target | None) -> Mapping[str, str]:
    """The pipelines for a target, whose levels `npu-pipeline` follows."""
    if target is None:
        return PIPELINES
    levels = [level.name for level in target.tile_levels]
    return {**PIPELINES, "npu-pipeline": npu_pipeline(levels, target.cores)}
