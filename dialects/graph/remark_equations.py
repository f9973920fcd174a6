"""
Text of equations between operations of the `graph` dialect, for remarks on its rewrite
rules.
"""

from __future__ import annotations

from tlf.dialects.graph.algebraic_laws import INFIX_SYMBOLS, OperationType
from tlf.dialects.interfaces import Scalar


def format_operation_term(operation_type: OperationType, *operands: str) -> str:
    """Format an operation on operands given as text."""
    if len(operands) == 2 and (symbol := INFIX_SYMBOLS.get(operation_type)) is not None:
        return f" {symbol} ".join(operands)
    return f"{operation_type.name.removeprefix('graph.')}({', '.join(operands)})"


def format_number(number: Scalar) -> str:
    """Format a number, floats with 6 significant digits."""
    return f"{number:g}" if isinstance(number, float) else str(number)
