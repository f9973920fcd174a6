"""
Attribute `tlf.numerics` of a module: its numerics mode, strict, or relaxed as by
fast-math flags.
"""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

NUMERICS_ATTRIBUTE = "tlf.numerics"
"""Attribute of a module with its numerics mode."""


class Numerics(StrEnum):
    """Degree to which a pass may change the numerical results of a program."""

    STRICT = "strict"
    """Results are bitwise equal."""
    RELAXED = "relaxed"
    """Rounding may change, and the treatment of NaN, infinities and signed zeros."""


def is_relaxed(op: Operation) -> bool:
    """Return `True` if the numerics of the module around an operation are relaxed."""
    module = op.get_toplevel_object()
    if not isinstance(module, ModuleOp):
        return False
    return numerics_of(module, op.name) is Numerics.RELAXED


def numerics_of(module: ModuleOp, source: str) -> Numerics:
    """Return the numerics of a module, strict by default, for the pass `source`."""
    match attribute := module.attributes.get(NUMERICS_ATTRIBUTE):
        case None:
            return Numerics.STRICT
        case StringAttr(data="strict" | "relaxed" as data):
            return Numerics(data)
        case _:
            raise PassFailedException(
                f'{source}: expected {NUMERICS_ATTRIBUTE} of "strict" or "relaxed", '
                f"got {attribute}"
            )
