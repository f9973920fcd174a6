"""Tile, Loop, Fuse: a compiler from tensor graphs to tiled kernels."""

TYPE_CHECKING = False
"""False when this runs; type checkers take it as true. `typing` is slow to import."""

if TYPE_CHECKING:
    from typing import Any

    from tlf.compiler.api.compile import compile as compile
    from tlf.compiler.api.runtime_checks import CheckedValueError as CheckedValueError
    from tlf.compiler.api.saved_program import load as load
    from tlf.compiler.api.saved_program import save as save
    from tlf.compiler.api.saved_record import LoadError as LoadError
    from tlf.compiler.api.torch_backend import tlf as backend
    from tlf.compiler.api.torch_report import REPORT as REPORT
    from tlf.compiler.api.weight_binding import (
        ReleasedWeightsError as ReleasedWeightsError,
    )
    from tlf.compiler.backends.argument_snapshots import refresh as refresh
    from tlf.compiler.driver.diagnostics import CompileError as CompileError
    from tlf.compiler.driver.source import SourceError as SourceError
    from tlf.frontend.torch import from_torch as from_torch
    from tlf.frontend.torch.import_errors import ImportFailure as ImportFailure

__all__ = [
    "REPORT",
    "CheckedValueError",
    "CompileError",
    "ImportFailure",
    "LoadError",
    "ReleasedWeightsError",
    "SourceError",
    "backend",
    "compile",
    "from_torch",
    "load",
    "refresh",
    "save",
]

_HOMES = {
    "REPORT": ("tlf.compiler.api.torch_report", "REPORT"),
    "CheckedValueError": ("tlf.compiler.api.runtime_checks", "CheckedValueError"),
    "CompileError": ("tlf.compiler.driver.diagnostics", "CompileError"),
    "ImportFailure": ("tlf.frontend.torch.import_errors", "ImportFailure"),
    "LoadError": ("tlf.compiler.api.saved_record", "LoadError"),
    "ReleasedWeightsError": (
        "tlf.compiler.api.weight_binding",
        "ReleasedWeightsError",
    ),
    "SourceError": ("tlf.compiler.driver.source", "SourceError"),
    "backend": ("tlf.compiler.api.torch_backend", "tlf"),
    "compile": ("tlf.compiler.api.compile", "compile"),
    "from_torch": ("tlf.frontend.torch", "from_torch"),
    "load": ("tlf.compiler.api.saved_program", "load"),
    "refresh": ("tlf.compiler.backends.argument_snapshots", "refresh"),
    "save": ("tlf.compiler.api.saved_program", "save"),
}


def __getattr__(name: str) -> "Any":
    """Import what the package offers when it is first asked for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("tlf")
    if name not in _HOMES:
        raise AttributeError(f"module 'tlf' has no attribute '{name}'")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
