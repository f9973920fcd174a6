"""Tile, Loop, Fuse: a compiler from tensor graphs to tiled kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tlf.frontend.torch import from_torch as from_torch
    from tlf.compiler.api.compile import compile as compile
    from tlf.compiler.backends.seen import refresh as refresh

__all__ = ["compile", "from_torch", "refresh"]

_HOMES = {
    "compile": "tlf.compiler.api.compile",
    "from_torch": "tlf.frontend.torch",
    "refresh": "tlf.compiler.backends.seen",
}


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tlf' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
