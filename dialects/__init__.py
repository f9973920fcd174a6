"""
Loaders of the TLF dialects, from whole-tensor graphs down to the instructions of an
NPU.
"""

from collections.abc import Callable

from xdsl.ir import Dialect


def get_dialect_loaders() -> dict[str, Callable[[], Dialect]]:
    """
    Return the loaders of all TLF dialects by name. A dialect is imported on first use.
    """

    def get_graph():
        from tlf.dialects.graph import Graph

        return Graph

    def get_mem():
        from tlf.dialects.mem import Mem

        return Mem

    def get_npu():
        from tlf.dialects.npu import Npu

        return Npu

    def get_tile():
        from tlf.dialects.tile import Tile

        return Tile

    def get_triton():
        from tlf.dialects.triton import Triton

        return Triton

    return {
        "graph": get_graph,
        "mem": get_mem,
        "npu": get_npu,
        "tile": get_tile,
        "triton": get_triton,
    }
