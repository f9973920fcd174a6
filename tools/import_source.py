"""
Command `tlf-import`: import of a saved PyTorch program, or of the module that a
function returns.
"""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path
from typing import Any

import torch

from tlf.frontend.torch import ImportedProgram, ImportFailure, from_torch


def import_source(source: str) -> ImportedProgram:
    """
    Import a `.pt2` file, or the module returned by a function `package.module:name`;
    the current folder is searched first. Raises `ImportFailure`.
    """
    if source.endswith(".pt2"):
        return from_torch(_load_exported_program(source))
    module, inputs, options = _call_factory(source)
    return from_torch(module, inputs, options)


def _load_exported_program(path: str) -> torch.export.ExportedProgram:
    """Load a `.pt2` file, with PyTorch's log silenced. Raises `ImportFailure`."""
    if not Path(path).is_file():
        raise ImportFailure(f"expected a file `{path}`, got none")
    logger = logging.getLogger("torch.export")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        return torch.export.load(path)
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise ImportFailure(
            f"expected a program of torch.export in `{path}`, got: {text}"
        ) from error
    finally:
        logger.setLevel(level)


def _call_factory(
    source: str,
) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Return the module, the positional inputs and the named inputs from a function."""
    package, colon, name = source.partition(":")
    if not colon:
        raise ImportFailure(f"expected `package.module:name` or a `.pt2`, got {source}")
    function = _import_function(package, name)
    try:
        returned: Any = function()
    except Exception as error:
        raise ImportFailure(f"{source}: {type(error).__name__}: {error}") from error
    parts: list[Any] = [*returned] if type(returned).__name__ == "tuple" else [returned]
    if len(parts) not in (2, 3) or not isinstance(parts[0], torch.nn.Module):
        kind = type(parts[0]).__name__
        raise ImportFailure(
            f"{source}: expected a module and a tuple of its inputs, got {kind}"
        )
    module, inputs, *options = parts
    return module, tuple(inputs), dict(options[0]) if options else {}


def _import_function(package: str, name: str) -> Any:
    """
    Return `name` of `package`, imported with the current folder first in the path.
    """
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(package)
    except Exception as error:
        raise ImportFailure(f"cannot import `{package}`: {error}") from error
    finally:
        sys.path.pop(0)
    function = getattr(module, name, None)
    if not callable(function):
        raise ImportFailure(f"expected a function `{name}` in `{package}`, got none")
    return function
