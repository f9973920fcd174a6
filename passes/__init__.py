"""The TLF passes: they improve a program and leave it in the dialects it came in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return all TLF passes by name. Each is imported when it is first needed."""

    def get_graph_analyze():
        from tlf.passes.graph_analyze import GraphAnalyzePass

        return GraphAnalyzePass

    def get_graph_choose_tiles():
        from tlf.passes.graph_choose_tiles import GraphChooseTilesPass

        return GraphChooseTilesPass

    def get_graph_decompose():
        from tlf.passes.graph_decompose import GraphDecomposePass

        return GraphDecomposePass

    def get_graph_fold_movements():
        from tlf.passes.graph_fold_movements import GraphFoldMovementsPass

        return GraphFoldMovementsPass

    def get_graph_group():
        from tlf.passes.graph_group import GraphGroupPass

        return GraphGroupPass

    def get_graph_unfold_windows():
        from tlf.passes.graph_unfold_windows import GraphUnfoldWindowsPass

        return GraphUnfoldWindowsPass

    def get_mem_plan():
        from tlf.passes.mem_plan import MemPlanPass

        return MemPlanPass

    def get_mem_split_maps():
        from tlf.passes.mem_split_maps import MemSplitMapsPass

        return MemSplitMapsPass

    def get_tlf_cse():
        from tlf.passes.cse import CsePass

        return CsePass

    return {
        "graph-analyze": get_graph_analyze,
        "graph-choose-tiles": get_graph_choose_tiles,
        "graph-decompose": get_graph_decompose,
        "graph-fold-movements": get_graph_fold_movements,
        "graph-group": get_graph_group,
        "graph-unfold-windows": get_graph_unfold_windows,
        "mem-plan": get_mem_plan,
        "mem-split-maps": get_mem_split_maps,
        "tlf-cse": get_tlf_cse,
    }
