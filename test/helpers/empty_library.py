"""Shared libraries without functions, against which Triton links launchers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

COMPILER = shutil.which("gcc") or shutil.which("clang")
"""The C compiler that Triton chooses; `None` if there is none."""


def write_empty_library(file: Path) -> None:
    """Compile a shared library without functions."""
    command = [str(COMPILER), "-shared", "-x", "c", os.devnull, "-o", str(file)]
    subprocess.run(command, check=True)
