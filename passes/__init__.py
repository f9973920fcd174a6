"""The TLF passes: they improve a program and leave it in the dialects it came in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PASSES: Mapping[str, tuple[str, str]] = {
    "graph-analyze": ("graph_analyze", "GraphAnalyzePass"),
    "graph-bound": ("graph_bound", "GraphBoundPass"),
    "graph-choose-layouts": ("graph_choose_layouts", "GraphChooseLayoutsPass"),
    "graph-share-joined": ("graph_share_joined", "GraphShareJoinedPass"),
    "graph-collapse-axes": ("graph_collapse_axes", "GraphCollapseAxesPass"),
    "graph-copy-joined": ("graph_copy_joined", "GraphCopyJoinedPass"),
    "graph-copy-written": ("graph_copy_written", "GraphCopyWrittenPass"),
    "graph-choose-tiles": ("graph_choose_tiles", "GraphChooseTilesPass"),
    "graph-decompose": ("graph_decompose", "GraphDecomposePass"),
    "graph-expose-cascades": ("graph_expose_cascades", "GraphExposeCascadesPass"),
    "graph-split-reductions": ("graph_split_reductions", "GraphSplitReductionsPass"),
    "graph-keep-wide": ("graph_keep_wide", "GraphKeepWidePass"),
    "graph-fold-batch-norm": ("graph_fold_batch_norm", "GraphFoldBatchNormPass"),
    "graph-fold-comparisons": ("graph_fold_comparisons", "GraphFoldComparisonsPass"),
    "graph-fold-constants": ("graph_fold_constants", "GraphFoldConstantsPass"),
    "graph-fold-movements": ("graph_fold_movements", "GraphFoldMovementsPass"),
    "graph-fold-ramps": ("graph_fold_ramps", "GraphFoldRampsPass"),
    "graph-free-layouts": ("graph_free_layouts", "GraphFreeLayoutsPass"),
    "graph-group": ("graph_group", "GraphGroupPass"),
    "graph-hoist-reshapes": ("graph_hoist_reshapes", "GraphHoistReshapesPass"),
    "graph-mark-in-place": ("graph_mark_in_place", "GraphMarkInPlacePass"),
    "graph-merge-products": ("graph_merge_products", "GraphMergeProductsPass"),
    "graph-simplify": ("graph_simplify", "GraphSimplifyPass"),
    "graph-move-factors": ("graph_move_factors", "GraphMoveFactorsPass"),
    "graph-narrow-integers": ("graph_narrow_integers", "GraphNarrowIntegersPass"),
    "graph-outline-prepare": ("graph_outline_prepare", "GraphOutlinePreparePass"),
    "graph-partition": ("graph_partition", "GraphPartitionPass"),
    "graph-split-joined": ("graph_split_joined", "GraphSplitJoinedPass"),
    "graph-unfold-windows": ("graph_unfold_windows", "GraphUnfoldWindowsPass"),
    "mem-assign-cores": ("mem_assign_cores", "MemAssignCoresPass"),
    "mem-chunk-loads": ("mem_chunk_loads", "MemChunkLoadsPass"),
    "mem-chunk-stores": ("mem_chunk_stores", "MemChunkStoresPass"),
    "mem-fold-casts": ("mem_fold_casts", "MemFoldCastsPass"),
    "mem-fold-fills": ("mem_fold_fills", "MemFoldFillsPass"),
    "mem-fold-unit-extents": ("mem_fold_unit_extents", "MemFoldUnitExtentsPass"),
    "mem-schedule-moves": ("mem_schedule_moves", "MemScheduleMovesPass"),
    "mem-pipeline": ("mem_pipeline", "MemPipelinePass"),
    "mem-check-copies": ("mem_check_copies", "MemCheckCopiesPass"),
    "mem-plan": ("mem_plan", "MemPlanPass"),
    "mem-prefetch": ("mem_prefetch", "MemPrefetchPass"),
    "mem-split-maps": ("mem_split_maps", "MemSplitMapsPass"),
    "tile-fuse-loops": ("tile_fuse_loops", "TileFuseLoopsPass"),
    "tile-predict": ("tile_predict", "TilePredictPass"),
    "tile-verify-coverage": ("tile_verify_coverage", "TileVerifyCoveragePass"),
    "tile-verify-levels": ("tile_verify_levels", "TileVerifyLevelsPass"),
    "tlf-cse": ("cse", "CsePass"),
    "tlf-inline": ("inline", "InlinePass"),
}
"""The module and the class of each pass."""


def _load(module: str, name: str) -> type[ModulePass]:
    return getattr(import_module(f"tlf.passes.{module}"), name)


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return all TLF passes by name. Each is imported when it is first needed."""
    return {name: partial(_load, *where) for name, where in PASSES.items()}
