"""Text of equations between graph operations, for remarks on simplifications."""

from __future__ import annotations

from tlf.dialects.graph.algebraic_laws import INFIX_SYMBOLS, OperationType
from tlf.dialects.interfaces import Scalar


def format_term(kind: OperationType, *operands: str) -> str:
    """Format an operation on operands given as text."""
    if len(operands) == 2 and (symbol := INFIX_SYMBOLS.get(kind)) is not None:
        return f" {symbol} ".join(operands)
    return f"{kind.name.removeprefix('graph.')}({', '.join(operands)})"


def format_number(number: Scalar) -> str:
    """Format a number, floats with 6 significant digits."""
    return f"{number:g}" if isinstance(number, float) else str(number)
