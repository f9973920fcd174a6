"""
Driver: verifier that only operations of a program use its values.

An operation that was detached without its references dropped, as a discarded copy may
be, remains a user of its operands. No text shows it, yet rewrites count and visit it.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.defined_values import values_defined_by


def verify_no_detached_users(op: Operation) -> None:
    """
    Raise a `VerifyException` at the first operation inside of `op` that defines a value
    with a user outside of `op`.
    """
    inside = set(map(id, op.walk()))
    for each in op.walk():
        for value in values_defined_by(each):
            for use in value.uses:
                if id(use.operation) in inside:
                    continue
                message = f"a detached `{use.operation.name}` uses a value of it"
                each.emit_error(message, VerifyException(message))
