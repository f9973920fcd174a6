"""
The assemblers that Triton brings, the one that it uses for a chip and the newest, and
its disassembler.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

OPTIONS: Mapping[str, object] = {"ptx_options": "--opt-level=3"}
"""
What Triton is told beside, where the newest assembler works: what holds anyway, but
keeps its kernels apart from those of the usual one in Triton's cache.
"""


@contextmanager
def newest_assembler() -> Generator[None]:
    """
    Let Triton assemble with the newest `ptxas` that it brings, whatever the chip, as
    long as the context lasts.
    """
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
