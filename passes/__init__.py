"""The TLF passes: they improve a program and leave it in the dialects it came in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PASSES: Mapping[str, tuple[str, str]] = {
    "graph-analyze": ("report.graph_analyze", "GraphAnalyzePass"),
    "graph-bound": ("report.graph_bound", "GraphBoundPass"),
    "graph-choose-layouts": ("plan.graph_choose_layouts", "GraphChooseLayoutsPass"),
    "graph-share-joined": ("plan.graph_share_joined", "GraphShareJoinedPass"),
    "graph-collapse-axes": ("plan.graph_collapse_axes", "GraphCollapseAxesPass"),
    "graph-copy-joined": ("plan.graph_copy_joined", "GraphCopyJoinedPass"),
    "graph-copy-written": ("plan.graph_copy_written", "GraphCopyWrittenPass"),
    "graph-choose-tiles": ("plan.graph_choose_tiles", "GraphChooseTilesPass"),
    "graph-decompose": ("graph.graph_decompose", "GraphDecomposePass"),
    "graph-expose-cascades": ("graph.graph_expose_cascades", "GraphExposeCascadesPass"),
    "graph-split-reductions": (
        "graph.graph_split_reductions",
        "GraphSplitReductionsPass",
    ),
    "graph-keep-wide": ("plan.graph_keep_wide", "GraphKeepWidePass"),
    "graph-fold-batch-norm": ("graph.graph_fold_batch_norm", "GraphFoldBatchNormPass"),
    "graph-fold-comparisons": (
        "graph.graph_fold_comparisons",
        "GraphFoldComparisonsPass",
    ),
    "graph-fold-constants": ("graph.graph_fold_constants", "GraphFoldConstantsPass"),
    "graph-fold-movements": ("graph.graph_fold_movements", "GraphFoldMovementsPass"),
    "graph-fold-ramps": ("graph.graph_fold_ramps", "GraphFoldRampsPass"),
    "graph-free-layouts": ("plan.graph_free_layouts", "GraphFreeLayoutsPass"),
    "graph-group": ("plan.graph_group", "GraphGroupPass"),
    "graph-hoist-reshapes": ("graph.graph_hoist_reshapes", "GraphHoistReshapesPass"),
    "graph-mark-in-place": ("plan.graph_mark_in_place", "GraphMarkInPlacePass"),
    "graph-merge-products": ("graph.graph_merge_products", "GraphMergeProductsPass"),
    "graph-simplify": ("graph.graph_simplify", "GraphSimplifyPass"),
    "graph-move-factors": ("graph.graph_move_factors", "GraphMoveFactorsPass"),
    "graph-narrow-integers": ("graph.graph_narrow_integers", "GraphNarrowIntegersPass"),
    "graph-outline-prepare": ("graph.graph_outline_prepare", "GraphOutlinePreparePass"),
    "graph-partition": ("plan.graph_partition", "GraphPartitionPass"),
    "graph-split-joined": ("graph.graph_split_joined", "GraphSplitJoinedPass"),
    "graph-unfold-windows": ("graph.graph_unfold_windows", "GraphUnfoldWindowsPass"),
    "mem-assign-cores": ("mem.mem_assign_cores", "MemAssignCoresPass"),
    "mem-chunk-loads": ("mem.mem_chunk_loads", "MemChunkLoadsPass"),
    "mem-chunk-stores": ("mem.mem_chunk_stores", "MemChunkStoresPass"),
    "mem-fold-casts": ("mem.mem_fold_casts", "MemFoldCastsPass"),
    "mem-fold-fills": ("mem.mem_fold_fills", "MemFoldFillsPass"),
    "mem-fold-unit-extents": ("mem.mem_fold_unit_extents", "MemFoldUnitExtentsPass"),
    "mem-schedule-moves": ("mem.mem_schedule_moves", "MemScheduleMovesPass"),
    "mem-pipeline": ("mem.mem_pipeline", "MemPipelinePass"),
    "mem-check-copies": ("report.mem_check_copies", "MemCheckCopiesPass"),
    "mem-plan": ("mem.mem_plan", "MemPlanPass"),
    "mem-prefetch": ("mem.mem_prefetch", "MemPrefetchPass"),
    "mem-split-maps": ("mem.mem_split_maps", "MemSplitMapsPass"),
    "tile-fuse-loops": ("tile.tile_fuse_loops", "TileFuseLoopsPass"),
    "tile-predict": ("report.tile_predict", "TilePredictPass"),
    "tile-verify-coverage": ("report.tile_verify_coverage", "TileVerifyCoveragePass"),
    "tile-verify-levels": ("report.tile_verify_levels", "TileVerifyLevelsPass"),
    "tlf-cse": ("graph.cse", "CsePass"),
    "tlf-inline": ("graph.inline", "InlinePass"),
}
"""The module and the class of each pass."""


def _load(module: str, name: str) -> type[ModulePass]:
    return getattr(import_module(f"tlf.passes.{module}"), name)


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return all TLF passes by name. Each is imported when it is first needed."""
    return {name: partial(_load, *where) for name, where in PASSES.items()}
