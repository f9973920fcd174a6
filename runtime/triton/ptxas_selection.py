"""Launch of Triton kernels: selection of `ptxas` for assembly, and disassembly."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Condition
from typing import Any

OPTIONS: Mapping[str, object] = {"ptx_options": "--opt-level=3"}
"""
Compile options for Triton with the newest assembler: the default value, set only to
separate its kernels from those of the default assembler in Triton's cache.
"""


class AssemblerLock:
    """
    Lock on the choice of an assembler, which is one setting of Triton for all threads.
    Any number of threads may use the default assembler; use of another is exclusive.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._usual = 0
        """Number of threads that use the default assembler."""
        self._is_other = False

    @contextmanager
    def lock_default_assembler(self) -> Generator[None]:
        """
        Hold the lock on the default assembler in a context, shared with other threads.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_other)
            self._usual += 1
        try:
            yield
        finally:
            with self._changed:
                self._usual -= 1
                self._changed.notify_all()

    @contextmanager
    def lock_assembler_exclusively(self) -> Generator[None]:
        """Hold the lock in a context alone, for the use of another assembler."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_other and not self._usual)
            self._is_other = True
        try:
            yield
        finally:
            with self._changed:
                self._is_other = False
                self._changed.notify_all()


_LOCK = AssemblerLock()


@contextmanager
def use_assembler(is_newest: bool) -> Generator[None]:
    """
    Use the default `ptxas` of the chip, or the newest that Triton includes for any
    chip, inside of the context. Threads with different choices wait for each other.
    """
    if not is_newest:
        with _LOCK.lock_default_assembler():
            yield
        return
    with _LOCK.lock_assembler_exclusively(), _use_newest_assembler():
        yield


@contextmanager
def _use_newest_assembler() -> Generator[None]:
    """Set Triton's `ptxas` to the newest included one, inside of the context."""
    knobs: Any = import_module("triton").knobs.nvidia
    tools = (knobs.ptxas, knobs.ptxas_blackwell)
    newest = max(tools, key=lambda tool: tuple(map(int, tool.version.split("."))))
    with knobs.scope():
        knobs.ptxas = newest.path
        yield


def disassemble(binary: bytes) -> str:
    """Return the machine code of a kernel as text, as printed by `nvdisasm`."""
    knobs: Any = import_module("triton").knobs.nvidia
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(binary)
        command = [knobs.nvdisasm.path, "-c", path]
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout
