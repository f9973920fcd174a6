"""Equations as remarks write them."""

from __future__ import annotations

from tlf.dialects.graph.algebra import SYMBOLS, Kind
from tlf.dialects.interfaces import Scalar


def term(kind: Kind, *operands: str) -> str:
    """An operation of named operands."""
    if len(operands) == 2 and (symbol := SYMBOLS.get(kind)) is not None:
        return f" {symbol} ".join(operands)
    return f"{kind.name.removeprefix('graph.')}({', '.join(operands)})"


def number_text(number: Scalar) -> str:
    """A number in few digits."""
    return f"{number:g}" if isinstance(number, float) else str(number)
