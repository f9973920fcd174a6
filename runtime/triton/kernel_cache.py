"""
Launch of Triton kernels: compilation of TLF's kernels through a folder in TLF's cache.

Triton has a cache of its own, without a limit of its size. Its folder is a setting for
the whole process, so it is changed only while kernels of TLF are compiled: kernels of
the user stay in the user's folder. With TRITON_CACHE_DIR, all are in that folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from tlf.runtime.storage.cache_entries import COMPILED_KERNELS
from tlf.runtime.storage.cache_settings import LOG
from tlf.runtime.storage.cache_store import mark_as_used, open_cache

CompiledT = TypeVar("CompiledT")

_VARIABLE = "TRITON_CACHE_DIR"

DAMAGES = (OSError, ValueError, KeyError, StopIteration)
"""Exceptions of Triton for a folder that is not writable, or entries with damage."""


class CacheFolderScope:
    """
    Setting of Triton's cache folder while any thread compiles. After a fault of the
    cache, the folder is a temporary one of the process.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        """Number of threads that compile."""
        self._setting = ExitStack()
        self._fallback: tempfile.TemporaryDirectory[str] | None = None

    def select_folder(self) -> Path | None:
        """Return the folder of TLF's kernels; `None` for Triton's own setting."""
        with self._lock:
            if self._fallback is not None:
                return Path(self._fallback.name)
            store = open_cache()
            if store is None or (not self._users and _is_set_by_user()):
                return None
            return store.folder / COMPILED_KERNELS

    @contextmanager
    def use_folder(self, folder: Path) -> Generator[None]:
        """Use a folder in a context, and in other threads that are in one."""
        with self._lock:
            if not self._users:
                self._setting.enter_context(_triton_knobs().scope())
            _triton_knobs().dir = str(folder)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._setting.close()

    def fall_back(self, folder: tempfile.TemporaryDirectory[str]) -> None:
        """Use a temporary folder from now on."""
        with self._lock:
            self._fallback = folder


_SCOPE = CacheFolderScope()


def compile_through_cache(compile_kernel: Callable[[], CompiledT]) -> CompiledT:
    """
    Return the result of a function that compiles kernels by Triton, in the cache of
    TLF. If the cache fails, the function is called again without it.
    """
    if (folder := _SCOPE.select_folder()) is None:
        return compile_kernel()
    try:
        with _SCOPE.use_folder(folder):
            compiled = compile_kernel()
    except DAMAGES as error:
        return _compile_in_temporary_folder(compile_kernel, error)
    _mark_kernel_as_used(compiled, folder)
    return compiled


def _compile_in_temporary_folder(
    compile_kernel: Callable[[], CompiledT], error: Exception
) -> CompiledT:
    """
    Compile in a temporary folder, which is used from now on if that helps. `error` is
    raised if there is no such folder.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="tlf-kernels-")
    except OSError:
        raise error from None
    with _SCOPE.use_folder(Path(folder.name)):
        compiled = compile_kernel()
    LOG.debug("kernels are compiled without the cache: %s", error)
    _SCOPE.fall_back(folder)
    return compiled


def compile_in_folder(
    compile_kernel: Callable[[], CompiledT], folder: Path
) -> CompiledT:
    """Return the result of a function that compiles kernels by Triton, in a folder."""
    with _SCOPE.use_folder(folder):
        return compile_kernel()


def read_triton_folder() -> str:
    """Return the folder of Triton's cache that is set now."""
    return str(_triton_knobs().dir)


def limit_kernel_cache() -> None:
    """Evict entries of the cache if compiled kernels exceed its limit."""
    if _SCOPE.select_folder() is not None and (store := open_cache()) is not None:
        store.measure_and_evict()


def _mark_kernel_as_used(compiled: Any, folder: Path) -> None:
    """Set the time of the last use of a compiled kernel's folder."""
    files: dict[str, str] = getattr(compiled, "metadata_group", {})
    for parent in {Path(file).parent for file in files.values()}:
        if parent.parent == folder:
            mark_as_used(parent)


def _triton_knobs() -> Any:
    return import_module("triton").knobs.cache


def _is_set_by_user() -> bool:
    """Return `True` if the user has set the folder of Triton's cache."""
    return _VARIABLE in os.environ or "dir" in vars(_triton_knobs())
