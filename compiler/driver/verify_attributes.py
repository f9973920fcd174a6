"""
Driver: verifier that every attribute is known and is allowed where it is used.

Operations of TLF take options as keywords. MLIR also accepts unknown attributes in
braces; without the prefix of a dialect, those would be ignored options. Attributes of
arguments and results with the prefix of TLF but with an unknown name would be ignored
as well.
"""

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from tlf.compiler.driver.input_ranges import RANGE
from tlf.dialects.entry_point import result_argument_count
from tlf.dialects.io_layout_attributes import LAYOUT
from tlf.dialects.parameter_attribute import PARAMETER
from tlf.dialects.physical_axes_attribute import (
    PHYSICAL_AXES,
    get_argument_axes,
    get_result_axes,
)
from tlf.support.name_suggestions import format_expected_names

DIALECTS = ("graph.", "mem.", "npu.", "tile.")
PREFIX = "tlf."

ARGUMENT_ATTRIBUTES = (LAYOUT, PARAMETER, PHYSICAL_AXES, RANGE)
"""
Attributes allowed on arguments of functions; all others with the prefix are errors.
"""

RESULT_ATTRIBUTES = (LAYOUT, PHYSICAL_AXES)
"""Attributes allowed on results of functions."""


def verify_no_stray_attributes(op: Operation) -> None:
    """
    Reject attributes without a dialect prefix on an operation of TLF; on a function,
    unknown attributes with the prefix of TLF on arguments and results, and a result
    count that exceeds the number of arguments.
    """
    if isinstance(op, func.FuncOp):
        _verify_function_attributes(op)
    if not op.attributes or not op.name.startswith(DIALECTS):
        return
    if stray := [name for name in op.attributes if "." not in name]:
        message = (
            f"unknown attribute `{stray[0]}`, expected options as keywords before "
            "the types"
        )
        op.emit_error(message, VerifyException(message))


def _verify_function_attributes(op: func.FuncOp) -> None:
    """
    Check that attributes of arguments and results with the prefix of the compiler are
    known, that there are attributes for each result, and that physical axes are
    permutations.
    """
    result_argument_count(op)
    get_argument_axes(op)
    get_result_axes(op)
    block = op.body.first_block
    names = [] if block is None else [each.name_hint for each in block.args]
    faults = (
        *_find_unknown_attributes("argument", op.arg_attrs, ARGUMENT_ATTRIBUTES, names),
        *_find_unknown_attributes("result", op.res_attrs, RESULT_ATTRIBUTES, []),
    )
    for message in faults:
        op.emit_error(message, DiagnosticException(message))


def _find_unknown_attributes(
    role: str,
    attribute_tables: ArrayAttr[DictionaryAttr] | None,
    known_attributes: Sequence[str],
    names: Sequence[str | None],
) -> Iterator[str]:
    """
    Yield an error message for each unknown attribute with the prefix of TLF on
    arguments or results.
    """
    for index, table in enumerate(attribute_tables or ()):
        name = names[index] if index < len(names) else None
        label = index if name is None else f"`{name}`"
        for attribute in table.data:
            if attribute.startswith(PREFIX) and attribute not in known_attributes:
                yield (
                    f"unknown attribute `{attribute}` of {role} {label}, "
                    f"{format_expected_names(attribute, known_attributes)}"
                )
