"""
Options that are written in the wrong place.

An operation of TLF takes its options as keywords. MLIR also lets an operation carry
attributes that it does not know, in braces; without the prefix of a dialect, those are
options that would be ignored.
"""

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

DIALECTS = ("graph.", "mem.", "npu.", "tile.")


def verify_no_stray_attributes(module: ModuleOp) -> None:
    """Refuse attributes without a dialect's prefix on the operations of TLF."""
    for op in module.walk():
        if not op.attributes or not op.name.startswith(DIALECTS):
            continue
        stray = [name for name in op.attributes if "." not in name]
        if stray:
            message = (
                f"unknown attribute `{stray[0]}`, expected options as keywords before "
                "the types"
            )
            op.emit_error(message, VerifyException(message))
