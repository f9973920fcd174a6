"""Lowering between dialects (graph, tile, mem, npu, triton), and the output targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass
    from xdsl.utils.target import Target


def get_all_conversions() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return all TLF conversions by name, imported when first needed."""

    def get_convert_graph_to_tile():
        from tlf.lowering.graph_to_tile.convert_graph_to_tile import (
            ConvertGraphToTilePass,
        )

        return ConvertGraphToTilePass

    def get_convert_tile_to_mem():
        from tlf.lowering.tile_to_mem.convert_tile_to_mem import ConvertTileToMemPass

        return ConvertTileToMemPass

    def get_convert_mem_to_npu():
        from tlf.lowering.mem_to_npu.convert_mem_to_npu import ConvertMemToNpuPass

        return ConvertMemToNpuPass

    def get_convert_mem_to_triton():
        from tlf.lowering.mem_to_triton.convert_mem_to_triton import (
            ConvertMemToTritonPass,
        )

        return ConvertMemToTritonPass

    def get_graph_verify_types():
        from tlf.lowering.mem_to_npu.graph_verify_types import GraphVerifyTypesPass

        return GraphVerifyTypesPass

    return {
        "graph-verify-types": get_graph_verify_types,
        "convert-graph-to-tile": get_convert_graph_to_tile,
        "convert-mem-to-npu": get_convert_mem_to_npu,
        "convert-mem-to-triton": get_convert_mem_to_triton,
        "convert-tile-to-mem": get_convert_tile_to_mem,
    }


def get_all_targets() -> dict[str, Callable[[], type[Target]]]:
    """Return all TLF output targets by name, imported when first needed."""

    def get_analysis():
        from tlf.lowering.analysis_target import AnalysisTarget

        return AnalysisTarget

    def get_buffers():
        from tlf.lowering.buffers_target import BuffersTarget

        return BuffersTarget

    def get_npu():
        from tlf.lowering.mem_to_npu.npu_target import NpuTarget

        return NpuTarget

    def get_triton():
        from tlf.lowering.mem_to_triton.triton_target import TritonTarget

        return TritonTarget

    return {
        "analysis": get_analysis,
        "buffers": get_buffers,
        "npu": get_npu,
        "triton": get_triton,
    }
