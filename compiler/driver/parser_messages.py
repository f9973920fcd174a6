"""Driver: messages of xDSL's parser, reworded like the other messages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from tlf.dialects.types import ELEMENT_TYPES
from tlf.support.name_suggestions import suggest_name

FULL_MESSAGES = {
    "Could not parse entire input!": "expected an operation",
    " in block definition": "expected an operation, a block name or `}`",
    "Expected shape type.": "expected a size with `x` or an element type, such as "
    + ", ".join(f"`{each}`" for each in ELEMENT_TYPES),
}
"""Replacements of messages that do not state what was expected."""

QUOTED = (
    (re.compile(r"^[Ee]xpected '([^']+)'"), r"expected `\1`"),
    (re.compile(r"^'([^']+)' expected"), r"expected `\1`"),
)
TRAILING = re.compile(r"([a-z]+(?: [a-z]+)*) expected")
CLAUSE_EXPECTED = re.compile(r"expected `(:|\w+)`, got")
"""Message of an error for which a clause of an operation may be out of order."""

SYNTAX_EXPECTED = re.compile(r"expected (`(:|\w+)`|an operand), got")
"""Message of an error for which the syntax of an operation may be wrong."""

KEYWORD = re.compile(r"`(\w+)`")

EXAMPLE = re.compile(r"^```mlir\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATEMENT = re.compile(r"^\S.*(?:\n\s+.*)*", re.MULTILINE)
MAX_EXAMPLE_LENGTH = 160
"""Maximum length of an example that is printed."""


def describe_unknown_operation(name: str, known: Sequence[str]) -> str:
    """Return the message for a name that is not an operation of its dialect."""
    if "." not in name:
        return f"expected an operation, got `{name}`"
    if not known:
        dialect = name.partition(".")[0]
        return f"unknown operation `{name}`: there is no dialect `{dialect}`"
    return f"unknown operation `{name}`{suggest_name(name, known)}"


def reword_message(message: str, found_text: str | None) -> str:
    """
    Return a reworded message of xDSL's parser. Messages that state what was expected
    also state what was found, if known.
    """
    message = FULL_MESSAGES.get(message, message)
    for pattern, words in QUOTED:
        message = pattern.sub(words, message)
    if message.startswith("Expected "):
        message = f"e{message[1:].rstrip('.!')}"
    if match := TRAILING.fullmatch(message):
        message = f"expected {'an' if match[1][0] in 'aeiou' else 'a'} {match[1]}"
    is_open = message.startswith("expected ") and " got " not in message
    return (
        f"{message}, got {found_text}"
        if found_text is not None and is_open
        else message
    )


def keyword_order_hint(op_type: type[Operation] | None) -> str:
    """Return the hint for a keyword that is out of order in an operation."""
    if op_type is None or not issubclass(op_type, IRDLOperation):
        return ""
    keywords = KEYWORD.findall(op_type.get_irdl_definition().assembly_format or "")
    listed = ", ".join(f"`{name}`" for name in keywords)
    return f": {op_type.name} takes {listed} in this order" if len(keywords) > 1 else ""


def syntax_example_of(op_type: type[Operation] | None) -> str:
    """Return an example of the syntax of an operation, if its docstring has one."""
    block = (
        EXAMPLE.search(inspect.getdoc(op_type) or "") if op_type is not None else None
    )
    for statement in STATEMENT.findall(block[1]) if block else ():
        text = " ".join(statement.split())
        if (
            op_type is not None
            and f"{op_type.name} " in text
            and len(text) <= MAX_EXAMPLE_LENGTH
        ):
            return f": it is written as `{text}`"
    return ""
