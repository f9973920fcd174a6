"""
Names of pass pipelines, such as the lowering to NPU or Triton, expanded to text from
`-p NAME`, without IR.

A pipeline may contain other pipelines; its options are the options of its passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tlf.dialects.target import TargetSpec

INPUT_PASSES = "tlf-inline,tile-verify-levels,tile-verify-coverage"
"""Passes that inline calls and verify tiles present in the input program."""


def tile_level_passes(level: str, merge_passes: str = "", mark_passes: str = "") -> str:
    """Return the passes that tile a program for one more memory level."""
    return (
        f"graph-group{{level={level}}},{merge_passes}graph-materialize-concat-operands,"
        f"graph-select-tile-sizes{{level={level}}},dce,{mark_passes}convert-graph-to-tile"
    )


def npu_pipeline(levels: Sequence[str], cores: int = 1) -> str:
    """Return the NPU pipeline, with one tiling step per level, outermost first."""
    outermost, *inner = levels
    merge = (
        f"graph-partition{{level={outermost}}},"
        f"graph-assign-layouts{{level={outermost}}},"
    )
    first = tile_level_passes(outermost, merge, "graph-mark-in-place,")
    steps = ",tlf-cse,".join(
        (first, *(tile_level_passes(each, "graph-collapse-dims,") for each in inner))
    )
    distribute = "mem-distribute-to-cores," if cores > 1 else ""
    return (
        f"{INPUT_PASSES},graph-pipeline,graph-verify-types,graph-copy-written,{steps},tidy,convert-tile-to-mem,tidy,"
        f"mem-fold-fills,mem-fold-casts,{distribute}mem-pipeline,mem-split-maps,mem-prefetch,"
        "mem-chunk-loads,mem-chunk-stores,mem-plan,convert-mem-to-npu,tidy"
    )


PIPELINES: Mapping[str, str] = {
    "tidy": "canonicalize,tlf-cse,dce",
    # Full tensors: composite operations are decomposed.
    "graph-pipeline": (
        "graph-simplify,tidy,graph-fold-affine-indices,tidy,"
        "graph-hoist-scales,graph-fold-batch-norm,"
        "graph-merge-convolutions,graph-merge-matmuls,graph-fold-constants,"
        "graph-distribute-over-concat,graph-decompose,"
        "tidy,graph-fold-comparisons,graph-int-range-narrowing,graph-reuse-concat,"
        "graph-convert-to-channels-last,tidy,"
        "graph-hoist-reshapes,tidy,graph-hoist-scales,"
        "graph-fold-transposes,graph-hoist-scales,graph-fold-constants,tidy,"
        "graph-recompute-rows,graph-expose-cascaded-reductions,tidy,"
        "graph-split-scans,tidy,graph-select-precision,"
        "graph-split-k-reductions,tidy,graph-round-factors,"
        "graph-pad-factors,graph-transpose-weights,tidy,"
        "graph-outline-prepare,tidy"
    ),
    "npu-pipeline": npu_pipeline(["L2", "L1"]),
    # One kernel per group; tiles are SSA values managed by Triton.
    "triton-pipeline": (
        f"{INPUT_PASSES},graph-normalize-layouts,graph-pipeline,graph-unfold-windows,tidy,"
        "graph-copy-written{constants=true},"
        "graph-group,graph-promote-intermediates,graph-materialize-concat-operands,"
        "graph-select-tile-sizes,dce,graph-mark-in-place,graph-outline-groups,"
        "convert-graph-to-tile,tidy,"
        "convert-tile-to-mem,tidy,mem-fold-unit-dims,mem-unroll-and-jam,"
        "mem-peel-iterations,"
        "mem-split-accumulations,tidy,mem-widen-accumulators,mem-narrow-arithmetic,"
        "mem-schedule-moves,"
        "convert-mem-to-triton"
    ),
}
"""Pipelines by name, for the three memory levels of the target presets."""


def pipelines_for(target: TargetSpec | None) -> Mapping[str, str]:
    """Return the pipelines for a target; `npu-pipeline` tiles once per memory level."""
    if target is None:
        return PIPELINES
    levels = [level.name for level in target.tile_levels]
    return {**PIPELINES, "npu-pipeline": npu_pipeline(levels, target.cores)}
