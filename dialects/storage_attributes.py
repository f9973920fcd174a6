"""
Attributes of operations whose readers are in several groups: `tlf.recomputed` and
`tlf.stored`. They are removed when groups are formed.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from tlf.dialects.types import element_count_of

RECOMPUTED = "tlf.recomputed"
"""
Attribute of an operation that computes the value of another one, for readers in another
group: the number of the copy. Common subexpression elimination keeps all.
"""

STORED = "tlf.stored"
"""
Attribute of an operation whose result is stored, and loaded by its readers: elements of
it are loaded rather than recomputed.
"""


def mark_recomputed(op: Operation, copy: int) -> None:
    """Mark an operation as a copy of another one, by its number."""
    op.attributes[RECOMPUTED] = IntegerAttr(copy, i64)


def is_loaded_by_copy(operand: SSAValue, op: Operation) -> bool:
    """
    Return `True` if an operation is a copy for its reader, and an operand is not
    computed by another copy.
    """
    if RECOMPUTED not in op.attributes:
        return False
    is_copied = isinstance(operand.owner, Operation) and (
        RECOMPUTED in operand.owner.attributes
    )
    is_wide = element_count_of(operand) == element_count_of(op.results[0])
    return is_wide and not is_copied


def mark_stored(op: Operation) -> None:
    """Mark an operation whose result is stored."""
    op.attributes[STORED] = UnitAttr()


def unmark_operation(op: Operation) -> None:
    """Remove the attributes of an operation."""
    for attribute in (RECOMPUTED, STORED):
        op.attributes.pop(attribute, None)
