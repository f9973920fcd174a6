"""
Verification that every attribute is known and in its right place.

An operation of TLF takes its options as keywords. MLIR also lets an operation carry
attributes that it does not know, in braces; without the prefix of a dialect, those are
options that would be ignored. So would be what a function says of an argument or a
result with the prefix of TLF, but by a name that TLF does not have.
"""

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from tlf.compiler.driver.did_you_mean import expected_one_of
from tlf.compiler.driver.input_ranges import RANGE
from tlf.dialects.entry_point import result_count
from tlf.dialects.io_layouts import LAYOUT
from tlf.dialects.parameters import PARAMETER

DIALECTS = ("graph.", "mem.", "npu.", "tile.")
PREFIX = "tlf."

ARGUMENT_ATTRIBUTES = (LAYOUT, PARAMETER, RANGE)
"""
Attributes that a function may have on an argument; all others with the prefix are
refused.
"""

RESULT_ATTRIBUTES = (LAYOUT,)
"""Attributes that a function may have on a result."""


def verify_no_stray_attributes(module: ModuleOp) -> None:
    """
    Refuse attributes without a dialect's prefix on the operations of TLF, unknown ones
    with the prefix of TLF on arguments and results of functions, and more results than
    there are arguments.
    """
    for op in module.walk():
        if isinstance(op, func.FuncOp):
            _verify_function(op)
        if not op.attributes or not op.name.startswith(DIALECTS):
            continue
        stray = [name for name in op.attributes if "." not in name]
        if stray:
            message = (
                f"unknown attribute `{stray[0]}`, expected options as keywords before "
                "the types"
            )
            op.emit_error(message, VerifyException(message))


def _verify_function(op: func.FuncOp) -> None:
    result_count(op)
    block = op.body.first_block
    names = [] if block is None else [each.name_hint for each in block.args]
    faults = (
        *_find_faults("argument", op.arg_attrs, ARGUMENT_ATTRIBUTES, names),
        *_find_faults("result", op.res_attrs, RESULT_ATTRIBUTES, []),
    )
    for message in faults:
        op.emit_error(message, DiagnosticException(message))


def _find_faults(
    what: str,
    tables: ArrayAttr[DictionaryAttr] | None,
    known: Sequence[str],
    names: Sequence[str | None],
) -> Iterator[str]:
    """Yield the faults of the attributes of arguments or results."""
    for number, table in enumerate(tables or ()):
        name = names[number] if number < len(names) else None
        which = number if name is None else f"`{name}`"
        for attribute in table.data:
            if attribute.startswith(PREFIX) and attribute not in known:
                yield (
                    f"unknown attribute `{attribute}` of {what} {which}, "
                    f"{expected_one_of(attribute, known)}"
                )
