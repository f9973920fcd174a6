"""Tile, Loop, Fuse: a compiler from tensor graphs to tiled kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tlf.compiler.api.compile import compile as compile
    from tlf.compiler.api.torch_backend import tlf as backend
    from tlf.compiler.api.torch_report import REPORT as REPORT
    from tlf.compiler.backends.argument_snapshots import refresh as refresh
    from tlf.frontend.torch import from_torch as from_torch

__all__ = ["REPORT", "backend", "compile", "from_torch", "refresh"]

_HOMES = {
    "REPORT": ("tlf.compiler.api.torch_report", "REPORT"),
    "backend": ("tlf.compiler.api.torch_backend", "tlf"),
    "compile": ("tlf.compiler.api.compile", "compile"),
    "from_torch": ("tlf.frontend.torch", "from_torch"),
    "refresh": ("tlf.compiler.backends.argument_snapshots", "refresh"),
}


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tlf' has no attribute '{name}'")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
