"""Backends: executable that interprets a module on numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    Builtin,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
)
from xdsl.universe import XDSL_UNIVERSE

from tlf.compiler.backends.executables import Buffer, HostExecutable, Outcome
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.located_parser import LocatedParser
from tlf.dialects import get_dialect_loaders
from tlf.dialects.graph.constant import ConstantOp, SideFileAttr
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


def format_self_contained(module: ModuleOp) -> str:
    """Return the text of a program; elements of constants in files are in the text."""
    copy = module.clone()
    for op in copy.walk():
        if isinstance(op, ConstantOp) and isinstance(op.value, SideFileAttr):
            elements = BytesAttr(np.ascontiguousarray(op.to_array()).tobytes())
            type_: Any = op.result.type
            op.value = DenseIntOrFPElementsAttr(type_, elements)
    return f"{copy!s}\n"


def parse_interpreted_program(
    text: str, entry: str, result_names: tuple[str, ...]
) -> InterpretedProgram:
    """Return the executable of a program of `graph` in text, without the compiler."""
    context = Context()
    for name, factory in {
        **XDSL_UNIVERSE.all_dialects,
        **get_dialect_loaders(),
    }.items():
        context.register_dialect(name, factory)
    context.load_registered_dialect(Builtin.name)
    module = LocatedParser(context, text, "<program>").parse_module()
    return InterpretedProgram(module, entry, result_names)
