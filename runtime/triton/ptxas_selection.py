"""Select the `ptxas` of Triton's that assembles kernels, and disassemble them."""

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
Compile options for Triton where the newest assembler works: the default value, which
only keeps its kernels apart from those of the usual one in Triton's cache.
"""


class AssemblerLock:
    """
    The choice of an assembler, for which Triton has one setting for all threads. Any
    number of threads may assemble with the usual one; one that takes another is alone.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._usual = 0
        """Threads that assemble with the usual one."""
        self._is_other = False

    @contextmanager
    def use_default(self) -> Generator[None]:
        """Keep the usual assembler as long as the context lasts."""
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
    def use_exclusively(self) -> Generator[None]:
        """Let no other thread assemble as long as the context lasts."""
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
    Let Triton assemble with the `ptxas` that it uses for the chip, or with the newest
    that it brings, whatever the chip, as long as the context lasts. Threads that ask
    for different ones wait for each other.
    """
    if not is_newest:
        with _LOCK.use_default():
            yield
        return
    with _LOCK.use_exclusively(), _use_newest():
        yield


@contextmanager
def _use_newest() -> Generator[None]:
    knobs: Any = import_module("triton").knobs.nvidia
    tools = (knobs.ptxas, knobs.ptxas_blackwell)
    newest = max(tools, key=lambda tool: tuple(map(int, tool.version.split("."))))
    with knobs.scope():
        knobs.ptxas = newest.path
        yield


def disassemble(binary: bytes) -> str:
    """The machine code of a kernel as text, as `nvdisasm` prints it."""
    knobs: Any = import_module("triton").knobs.nvidia
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(binary)
        command = [knobs.nvdisasm.path, "-c", path]
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout
