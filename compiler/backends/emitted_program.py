"""
Backends: emitted program, the text of a compiled function and of its weight
preparation, from which its executable is built without the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tlf.compiler.backends.executables import (
    EmptyProgram,
    Executable,
    Preparation,
    Signature,
    SimulatedProgram,
)
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.backends.triton_kernels import TritonKernels

TEXT_NAMES: Mapping[str, str] = {"npu": "program.npu", "triton": "program.triton.py"}
"""Name of the emitted text, by backend."""


@dataclass(frozen=True)
class EmittedProgram:
    """Emitted texts of a function, and of its preparation if it has one."""

    backend: str
    """Name of the backend that runs the texts: `npu` or `triton`."""
    text: str
    preparation: Preparation | None = None
    preparation_text: str = ""

    def build_executable(
        self, signature: Signature, side_file_folder: Path = Path()
    ) -> Executable:
        """
        Return an executable; `signature` has the names of the function, paths of side
        files are relative to `side_file_folder`.
        """
        if self.preparation is None:
            return self._load_text(self.text, signature, side_file_folder)
        first, main = signature.split_preparation(self.preparation)
        prepare = self._load_text(self.preparation_text, first, side_file_folder)
        if isinstance(prepare, TritonKernels):
            prepare = replace(prepare, returns_tensors=True)
            # It runs again only after weights have changed.
            prepare.executable.keeps_temporaries = False
        return PreparedProgram(
            self._load_text(self.text, main, side_file_folder), prepare, first.inputs
        )

    def _load_text(
        self, text: str, signature: Signature, side_file_folder: Path
    ) -> Executable:
        """Return an executable of one text."""
        if self.backend == "npu":
            return SimulatedProgram.parse_text(text, side_file_folder, signature)
        if not signature.outputs:
            return EmptyProgram()
        return TritonKernels.load_text(text, signature)
