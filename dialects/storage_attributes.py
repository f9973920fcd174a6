"""
Attributes of operations whose readers are in several groups: `tlf.recomputed` and
`tlf.stored`. They are removed when groups are formed.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

RECOMPUTED = "tlf.recomputed"
"""
Attribute of an operation that computes the value of another one, for readers in another
group. Common subexpression elimination keeps both.
"""

STORED = "tlf.stored"
"""
Attribute of an operation whose result is stored, and loaded by its readers: elements of
it are loaded rather than recomputed.
"""


def mark_operation(op: Operation, attribute: str) -> None:
    """Set one of the attributes of an operation."""
    op.attributes[attribute] = UnitAttr()


def unmark_operation(op: Operation) -> None:
    """Remove the attributes of an operation."""
    for attribute in (RECOMPUTED, STORED):
        op.attributes.pop(attribute, None)
