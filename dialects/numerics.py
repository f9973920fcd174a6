"""How far passes may change results: not in a bit, or by rounding."""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

ATTRIBUTE = "tlf.numerics"
"""The attribute of a module that says so for all passes."""


class Numerics(StrEnum):
    """What a pass may do to results."""

    STRICT = "strict"
    """Nothing."""
    RELAXED = "relaxed"
    """Round otherwise, and treat NaN, infinities and the sign of zero as it likes."""


def is_relaxed(op: Operation) -> bool:
    """Whether the module that an operation is part of is relaxed."""
    module = op.get_toplevel_object()
    if not isinstance(module, ModuleOp):
        return False
    return numerics_of(module, op.name) is Numerics.RELAXED


def numerics_of(module: ModuleOp, source: str) -> Numerics:
    """What a module says, strict unless it says so, for the pass `source`."""
    match found := module.attributes.get(ATTRIBUTE):
        case None:
            return Numerics.STRICT
        case StringAttr(data="strict" | "relaxed" as data):
            return Numerics(data)
        case _:
            raise PassFailedException(
                f'{source}: expected {ATTRIBUTE} of "strict" or "relaxed", got {found}'
            )
