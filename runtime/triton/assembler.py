"""
The assemblers that Triton brings, the one that it uses for a chip and the newest, and
its disassembler.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

OPTIONS: Mapping[str, object] = {"ptx_options": "--opt-level=3"}
"""
Compile options for Triton where the newest assembler works: the default value, which
only keeps its kernels apart from those of the usual one in Triton's cache.
"""


_CHOICE = Lock()
"""Held while one assembler is chosen: Triton has one setting for all threads."""


@contextmanager
def assembler(is_newest: bool) -> Generator[None]:
    """
    Let Triton assemble with the `ptxas` that it uses for the chip, or with the newest
    that it brings, whatever the chip, as long as the context lasts. Other threads that
    ask for one wait until then.
    """
    with _CHOICE, _newest() if is_newest else nullcontext():
        yield


@contextmanager
def _newest() -> Generator[None]:
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
