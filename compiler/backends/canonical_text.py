"""
Backends: canonical text of a program, which is equal for programs that compile to the
same texts. It has no names of values.
"""

from __future__ import annotations

from hashlib import sha256
from io import StringIO
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    ModuleOp,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.printer import Printer

from tlf.dialects.graph.constant import SideFileAttr
from tlf.dialects.source_locations import own_location_of

OWN_PACKAGES = ("xdsl", "tlf")
"""Packages whose operations are known by their names and the versions of packages."""


class UncachedProgramError(Exception):
    """A program whose text does not determine the result of its compilation."""


def write_canonical_text(module: ModuleOp, has_locations: bool) -> str:
    """
    Return the canonical text of a module; with the locations of operations in files if
    `has_locations`. Raises `UncachedProgramError` for constants in files, and for
    operations of plugins.
    """
    output = StringIO()
    CanonicalPrinter(output).print_op(module)
    for op in module.walk():
        if type(op).__module__.partition(".")[0] not in OWN_PACKAGES:
            raise UncachedProgramError(f"{op.name} is an operation of a plugin")
        if has_locations:
            output.write(f"\n{own_location_of(op) or ''}")
    return output.getvalue()


class CanonicalPrinter(Printer):
    """Printer of the generic form without names, and of digests of constants."""

    def __init__(self, output: StringIO) -> None:
        super().__init__(output, print_generic_format=True)

    def print_ssa_value(self, value: SSAValue) -> str:
        if (name := self._ssa_values.get(value)) is None:
            name = self._ssa_values[value] = str(len(self._ssa_values))
        self.print_string(f"%{name}")
        return name

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, SideFileAttr | DenseResourceAttr):
            raise UncachedProgramError(f"the elements of {attribute} are not in it")
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast("DenseIntOrFPElementsAttr[Any]", attribute)
            digest = sha256(dense.data.data).hexdigest()
            self.print_string(f"dense<{digest}> : ")
            attribute = dense.type
        super().print_attribute(attribute)
