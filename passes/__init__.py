"""
Registry of the passes that rewrite a program within its dialects, imported lazily.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PASSES: Mapping[str, tuple[str, str]] = {
    "graph-annotate-roofline": (
        "report.graph_annotate_roofline",
        "GraphAnnotateRooflinePass",
    ),
    "graph-annotate-lower-bound": (
        "report.graph_annotate_lower_bound",
        "GraphAnnotateLowerBoundPass",
    ),
    "graph-assign-layouts": ("plan.graph_assign_layouts", "GraphAssignLayoutsPass"),
    "graph-reuse-concat": ("plan.graph_reuse_concat", "GraphReuseConcatPass"),
    "graph-collapse-dims": ("plan.graph_collapse_dims", "GraphCollapseDimsPass"),
    "graph-materialize-concat-operands": (
        "plan.graph_materialize_concat_operands",
        "GraphMaterializeConcatOperandsPass",
    ),
    "graph-copy-written": ("plan.graph_copy_written", "GraphCopyWrittenPass"),
    "graph-select-tile-sizes": (
        "plan.graph_select_tile_sizes",
        "GraphSelectTileSizesPass",
    ),
    "graph-decompose": ("graph.graph_decompose", "GraphDecomposePass"),
    "graph-expose-cascaded-reductions": (
        "graph.graph_expose_cascaded_reductions",
        "GraphExposeCascadedReductionsPass",
    ),
    "graph-split-k-reductions": (
        "graph.graph_split_k_reductions",
        "GraphSplitKReductionsPass",
    ),
    "graph-split-scans": ("graph.graph_split_scans", "GraphSplitScansPass"),
    "graph-promote-intermediates": (
        "plan.graph_promote_intermediates",
        "GraphPromoteIntermediatesPass",
    ),
    "graph-fold-batch-norm": ("graph.graph_fold_batch_norm", "GraphFoldBatchNormPass"),
    "graph-fold-comparisons": (
        "graph.graph_fold_comparisons",
        "GraphFoldComparisonsPass",
    ),
    "graph-fold-constants": ("graph.graph_fold_constants", "GraphFoldConstantsPass"),
    "graph-fold-transposes": ("graph.graph_fold_transposes", "GraphFoldTransposesPass"),
    "graph-fold-affine-indices": (
        "graph.graph_fold_affine_indices",
        "GraphFoldAffineIndicesPass",
    ),
    "graph-normalize-layouts": (
        "graph.graph_normalize_layouts",
        "GraphNormalizeLayoutsPass",
    ),
    "graph-relax-io-layouts": (
        "plan.graph_relax_io_layouts",
        "GraphRelaxIoLayoutsPass",
    ),
    "graph-group": ("plan.graph_group", "GraphGroupPass"),
    "graph-hoist-reshapes": ("graph.graph_hoist_reshapes", "GraphHoistReshapesPass"),
    "graph-mark-in-place": ("plan.graph_mark_in_place", "GraphMarkInPlacePass"),
    "graph-merge-convolutions": (
        "graph.graph_merge_convolutions",
        "GraphMergeConvolutionsPass",
    ),
    "graph-merge-matmuls": ("graph.graph_merge_matmuls", "GraphMergeMatmulsPass"),
    "graph-recompute-rows": ("graph.graph_recompute_rows", "GraphRecomputeRowsPass"),
    "graph-simplify": ("graph.graph_simplify", "GraphSimplifyPass"),
    "graph-hoist-scales": ("graph.graph_hoist_scales", "GraphHoistScalesPass"),
    "graph-int-range-narrowing": (
        "graph.graph_int_range_narrowing",
        "GraphIntRangeNarrowingPass",
    ),
    "graph-outline-prepare": ("graph.graph_outline_prepare", "GraphOutlinePreparePass"),
    "graph-outline-groups": ("plan.graph_outline_groups", "GraphOutlineGroupsPass"),
    "graph-partition": ("plan.graph_partition", "GraphPartitionPass"),
    "graph-distribute-over-concat": (
        "graph.graph_distribute_over_concat",
        "GraphDistributeOverConcatPass",
    ),
    "graph-convert-to-channels-last": (
        "graph.graph_convert_to_channels_last",
        "GraphConvertToChannelsLastPass",
    ),
    "graph-round-factors": ("graph.graph_round_factors", "GraphRoundFactorsPass"),
    "graph-select-precision": (
        "graph.graph_select_precision",
        "GraphSelectPrecisionPass",
    ),
    "graph-pad-factors": ("graph.graph_pad_factors", "GraphPadFactorsPass"),
    "graph-transpose-weights": (
        "graph.graph_transpose_weights",
        "GraphTransposeWeightsPass",
    ),
    "graph-unfold-windows": ("graph.graph_unfold_windows", "GraphUnfoldWindowsPass"),
    "mem-distribute-to-cores": (
        "mem.mem_distribute_to_cores",
        "MemDistributeToCoresPass",
    ),
    "mem-chunk-loads": ("mem.mem_chunk_loads", "MemChunkLoadsPass"),
    "mem-chunk-stores": ("mem.mem_chunk_stores", "MemChunkStoresPass"),
    "mem-fold-casts": ("mem.mem_fold_casts", "MemFoldCastsPass"),
    "mem-fold-fills": ("mem.mem_fold_fills", "MemFoldFillsPass"),
    "mem-fold-unit-dims": ("mem.mem_fold_unit_dims", "MemFoldUnitDimsPass"),
    "mem-narrow-arithmetic": (
        "mem.mem_narrow_arithmetic",
        "MemNarrowArithmeticPass",
    ),
    "mem-schedule-moves": ("mem.mem_schedule_moves", "MemScheduleMovesPass"),
    "mem-pipeline": ("mem.mem_pipeline", "MemPipelinePass"),
    "mem-report-copies": ("report.mem_report_copies", "MemReportCopiesPass"),
    "mem-peel-iterations": ("mem.mem_peel_iterations", "MemPeelIterationsPass"),
    "mem-plan": ("mem.mem_plan", "MemPlanPass"),
    "mem-unroll-and-jam": ("mem.mem_unroll_and_jam", "MemUnrollAndJamPass"),
    "mem-widen-accumulators": (
        "mem.mem_widen_accumulators",
        "MemWidenAccumulatorsPass",
    ),
    "mem-prefetch": ("mem.mem_prefetch", "MemPrefetchPass"),
    "mem-split-accumulations": (
        "mem.mem_split_accumulations",
        "MemSplitAccumulationsPass",
    ),
    "mem-split-maps": ("mem.mem_split_maps", "MemSplitMapsPass"),
    "tile-fuse-loops": ("tile.tile_fuse_loops", "TileFuseLoopsPass"),
    "tile-estimate-cycles": ("report.tile_estimate_cycles", "TileEstimateCyclesPass"),
    "tile-verify-coverage": ("report.tile_verify_coverage", "TileVerifyCoveragePass"),
    "tile-verify-levels": ("report.tile_verify_levels", "TileVerifyLevelsPass"),
    "tlf-cse": ("graph.cse", "CsePass"),
    "tlf-inline": ("graph.inline", "InlinePass"),
}
"""The module and the class of each pass."""


def _import_pass_class(module: str, name: str) -> type[ModulePass]:
    return getattr(import_module(f"tlf.passes.{module}"), name)


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return all TLF passes by name. Each is imported when it is first needed."""
    return {name: partial(_import_pass_class, *where) for name, where in PASSES.items()}
