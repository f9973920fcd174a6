"""Messages of xDSL's parser, in the wording of the other messages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from tlf.compiler.driver.did_you_mean import suggest_name
from tlf.dialects.types import ELEMENT_TYPES

FULL_MESSAGES = {
    "Could not parse entire input!": "expected an operation",
    " in block definition": "expected an operation, a block name or `}`",
    "Expected shape type.": "expected a size with `x` or an element type, such as "
    + ", ".join(f"`{each}`" for each in ELEMENT_TYPES),
}
"""Messages that do not say what was expected."""

QUOTED = (
    (re.compile(r"^[Ee]xpected '([^']+)'"), r"expected `\1`"),
    (re.compile(r"^'([^']+)' expected"), r"expected `\1`"),
)
TRAILING = re.compile(r"([a-z]+(?: [a-z]+)*) expected")
CLAUSE_EXPECTED = re.compile(r"expected `(:|\w+)`, got")
"""Message of an error at which a clause of an operation may be in the wrong order."""

SYNTAX_EXPECTED = re.compile(r"expected (`(:|\w+)`|an operand), got")
"""Message of an error at which the syntax of an operation may be wrong."""

KEYWORD = re.compile(r"`(\w+)`")

EXAMPLE = re.compile(r"^```mlir\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATEMENT = re.compile(r"^\S.*(?:\n\s+.*)*", re.MULTILINE)
MAX_EXAMPLE_LENGTH = 160
"""The longest example that is shown."""


def describe_unknown_operation(name: str, known: Sequence[str]) -> str:
    """Return the message for a name that is none of the operations of its dialect."""
    if "." not in name:
        return f"expected an operation, got `{name}`"
    if not known:
        dialect = name.partition(".")[0]
        return f"unknown operation `{name}`: there is no dialect `{dialect}`"
    return f"unknown operation `{name}`{suggest_name(name, known)}"


def reword_message(message: str, got: str | None) -> str:
    """
    A message of xDSL's parser; one that says what was expected also says what it got,
    if that is known.
    """
    message = FULL_MESSAGES.get(message, message)
    for pattern, words in QUOTED:
        message = pattern.sub(words, message)
    if message.startswith("Expected "):
        message = f"e{message[1:].rstrip('.!')}"
    if match := TRAILING.fullmatch(message):
        message = f"expected {'an' if match[1][0] in 'aeiou' else 'a'} {match[1]}"
    is_open = message.startswith("expected ") and " got " not in message
    return f"{message}, got {got}" if got is not None and is_open else message


def clause_hint(kind: type[Operation] | None) -> str:
    """
    Return the hint for a keyword that an operation does not take at this position.
    """
    if kind is None or not issubclass(kind, IRDLOperation):
        return ""
    names = KEYWORD.findall(kind.get_irdl_definition().assembly_format or "")
    listed = ", ".join(f"`{name}`" for name in names)
    return f": {kind.name} takes {listed} in this order" if len(names) > 1 else ""


def syntax_example(kind: type[Operation] | None) -> str:
    """Return an example of the syntax of an operation, if its docstring has one."""
    block = EXAMPLE.search(inspect.getdoc(kind) or "") if kind is not None else None
    for statement in STATEMENT.findall(block[1]) if block else ():
        text = " ".join(statement.split())
        if (
            kind is not None
            and f"{kind.name} " in text
            and len(text) <= MAX_EXAMPLE_LENGTH
        ):
            return f": it is written as `{text}`"
    return ""
