"""
Backends: key of a compilation in the cache, a digest of all that the emitted program
depends on.
"""

from __future__ import annotations

import json
import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

import tlf
from tlf.compiler.backends.canonical_text import write_canonical_text
from tlf.dialects.target import TargetSpec
from tlf.runtime.storage.program_archive import VERSION

DISTRIBUTIONS = (
    "tlf",
    "ml-dtypes",
    "msgspec",
    "numpy",
    "sympy",
    "torch",
    "triton",
    "xdsl",
)
"""Distributions whose versions are part of the key."""


def compute_compilation_key(
    module: ModuleOp, target: TargetSpec, entry: str | None
) -> str:
    """
    Return the key of the compilation of a module's function `entry` for a target.
    Raises `UncachedProgramError` if it has none. The text that an NPU runs has the
    locations of operations, others have not.
    """
    digest = sha256()
    for part in (
        describe_environment(),
        str(target.to_attribute()),
        json.dumps(entry),
        write_canonical_text(module, target.backend == "npu"),
    ):
        data = part.encode()
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


@cache
def describe_environment() -> str:
    """
    Return the versions of the archive format, of Python and of packages, and the digest
    of TLF's sources.
    """
    versions = {name: _find_version(name) for name in DISTRIBUTIONS}
    sources = digest_sources(Path(tlf.__path__[0]))
    python = platform.python_implementation(), platform.python_version()
    return json.dumps([VERSION, *python, versions, sources])


def digest_sources(folder: Path) -> str:
    """
    Return the digest of all files of a package, by name and contents, but for compiled
    ones.
    """
    digest = sha256()
    for path in sorted(_list_files(folder)):
        data = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        digest.update(f"{name}:{len(data)}:".encode() + data)
    return digest.hexdigest()


def _list_files(folder: Path) -> list[Path]:
    """Return the files of a package; its folders may be links."""
    files: list[Path] = []
    for path in folder.iterdir():
        if path.name == "__pycache__":
            continue
        files += _list_files(path) if path.is_dir() else [path]
    return files


def _find_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
