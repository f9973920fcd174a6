"""
Storage: entries of the cache, which are removed as a whole: a compiled program, the
source of a kernel, or the folder of a kernel that Triton compiled.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tlf.runtime.storage.temporary_files import (
    is_abandoned,
    is_temporary,
    make_temporary_name,
)

PROGRAMS = "programs"
"""Folder of compiled programs."""

KERNEL_SOURCES = "triton"
"""Folder of kernel sources."""

COMPILED_KERNELS = "kernels"
"""Folder of compiled kernels, one folder each."""

SUFFIX = ".tlf"
"""Ending of the file of a compiled program."""


@dataclass(frozen=True)
class CacheEntry:
    """An entry with its size, and the time of its last use in seconds."""

    path: Path
    size: int
    last_used: float


def list_cache_entries(folder: Path) -> list[CacheEntry]:
    """Return all entries, least recently used first; temporary files are excluded."""
    paths = [path for path in _entry_paths(folder) if not is_temporary(path)]
    entries = [entry for entry in map(_read_entry, paths) if entry is not None]
    return sorted(entries, key=lambda each: (each.last_used, each.path))


def list_program_files(folder: Path) -> list[CacheEntry]:
    """Return the entries of compiled programs, least recently used first."""
    return [each for each in list_cache_entries(folder) if each.path.suffix == SUFFIX]


def remove_entry(path: Path) -> bool:
    """
    Remove an entry, and return `True` if it is gone. A folder is renamed first, so that
    no process finds only a part of it.
    """
    try:
        if not path.is_dir():
            path.unlink(missing_ok=True)
            return True
        hidden = path.with_name(make_temporary_name())
        os.replace(path, hidden)
    except OSError:
        return not path.exists()
    shutil.rmtree(hidden, ignore_errors=True)
    return True


def remove_abandoned_files(folder: Path) -> None:
    """Remove the temporary files of processes that have ended."""
    for path in _entry_paths(folder):
        if is_abandoned(path):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _entry_paths(folder: Path) -> Iterator[Path]:
    """Yield the paths of entries and of temporary files."""
    for name in (PROGRAMS, COMPILED_KERNELS):
        with suppress(OSError):
            yield from (folder / name).iterdir()
    for parent, _, names in os.walk(folder / KERNEL_SOURCES):
        yield from (Path(parent, name) for name in names)


def _read_entry(path: Path) -> CacheEntry | None:
    """Return an entry, or `None` if another process has removed it."""
    try:
        status = path.stat()
        size = _size_of_folder(path) if path.is_dir() else status.st_size
    except OSError:
        return None
    return CacheEntry(path, size, status.st_mtime)


def _size_of_folder(path: Path) -> int:
    """Return the bytes of all files in a folder."""
    files = (Path(parent, name) for parent, _, names in os.walk(path) for name in names)
    return sum(each.stat().st_size for each in files)
