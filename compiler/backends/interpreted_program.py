"""Backends: executable that interprets a module on numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.backends.executables import Buffer, HostExecutable, Outcome
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret_poison_free


@dataclass(frozen=True)
class InterpretedProgram(HostExecutable):
    """A program that the interpreters of its dialects run on numpy arrays."""

    module: ModuleOp
    entry: str | None
    result_names: tuple[str, ...]
    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_tensors: bool = False

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        with locate_errors(self.module, "the reference"):
            arrays = cast(Mapping[str, Array], inputs)
            results = interpret_poison_free(self.module, arrays, self.entry)
        # Results may be views of arguments, of constants or of each other.
        copies = [np.array(each, order="C") for each in results]
        return Outcome(dict(zip(self.result_names, copies, strict=True)))
