"""The TLF passes: they improve a program and leave it in the dialects it came in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

_PASSES: Mapping[str, tuple[str, str]] = {
    "graph-analyze": ("graph_analyze", "GraphAnalyzePass"),
    "graph-choose-tiles": ("graph_choose_tiles", "GraphChooseTilesPass"),
    "graph-decompose": ("graph_decompose", "GraphDecomposePass"),
    "graph-fold-movements": ("graph_fold_movements", "GraphFoldMovementsPass"),
    "graph-group": ("graph_group", "GraphGroupPass"),
    "graph-simplify": ("graph_simplify", "GraphSimplifyPass"),
    "graph-unfold-windows": ("graph_unfold_windows", "GraphUnfoldWindowsPass"),
    "mem-plan": ("mem_plan", "MemPlanPass"),
    "mem-split-maps": ("mem_split_maps", "MemSplitMapsPass"),
    "tlf-cse": ("cse", "CsePass"),
}
"""By the name of a pass, the module of this package and the class in it."""


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return all TLF passes by name. Each is imported when it is first needed."""

    def factory(module: str, name: str) -> Callable[[], type[ModulePass]]:
        return lambda: getattr(import_module(f"tlf.passes.{module}"), name)

    return {name: factory(*where) for name, where in _PASSES.items()}
