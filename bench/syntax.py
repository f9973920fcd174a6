"""
Generate the pages of the operations of each dialect.

    python bench/syntax.py docs
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import BaseAttr, IRDLOperation

from tlf.compiler.driver.universe import TLF_UNIVERSE
from tlf.dialects.mixed_offsets import IntArray

DIALECTS = ("graph", "tile", "mem", "npu", "triton")
"""Dialects with a page, in the order of lowering."""

SPELLED = (
    (r"functional-type\(operands, results\)", "(types) -> type"),
    (r"attr-dict(-with-keyword)?", ""),
    (r"custom<DynamicIndexList>\((\$\w+), \$\w+\)", r"[\1]"),
    (r"custom<\w+>\((?:\$\w+, )?(\$\w+)\)", r"\1"),
    (r"[`^]", ""),
)
"""Patterns of declared syntax, and their spelling on pages."""

HEAD = """# Operations of {name}

Semantics of each operation, with an example; the declared syntax, if there is one, with
its clauses in order; and the default values of optional clauses. Generated from the
operations by `python bench/syntax.py docs`; [operations.md](operations.md) lists them
by family."""


def render_pages() -> dict[str, str]:
    """Return the text of each page, by file name."""
    dialects = TLF_UNIVERSE.all_dialects
    return {f"syntax-{name}.md": render_page(dialects[name]()) for name in DIALECTS}


def render_page(dialect: Dialect) -> str:
    """Return the page of a dialect."""
    head = HEAD.format(name=f"`{dialect.name}`")
    return "\n\n".join([head, *render_entries(dialect)]) + "\n"


def render_entries(dialect: Dialect) -> Iterator[str]:
    """Yield the section of each operation."""
    for op in sorted(dialect.operations, key=lambda op: op.name):
        parts = (f"## `{op.name}`", text_of(op), syntax_of(op), defaults_of(op))
        yield "\n\n".join(part for part in parts if part)


def text_of(op: type[Operation]) -> str:
    """Return the docstring of an operation."""
    return inspect.getdoc(op) or ""


def syntax_of(op: type[Operation]) -> str:
    """Return the declared syntax of an operation, or an empty string."""
    if not issubclass(op, IRDLOperation):
        return ""
    definition = op.get_irdl_definition()
    if (text := definition.assembly_format) is None:
        return ""
    for pattern, spelling in SPELLED:
        text = re.sub(pattern, spelling, text)
    for name, each in definition.properties.items():
        if each.constr == BaseAttr(UnitAttr):
            text = text.replace(f"{name} ${name}", name)
    text = " ".join(text.split()).replace(" ,", ",")
    return f"Syntax: `{' '.join((op.name, text)).rstrip()}`"


def defaults_of(op: type[Operation]) -> str:
    """Return the default values of the optional clauses of an operation."""
    if not issubclass(op, IRDLOperation):
        return ""
    properties = op.get_irdl_definition().properties.items()
    defaults = [
        f"`{name} {_format_attribute(each.default_value)}`"
        for name, each in properties
        if each.default_value is not None
    ]
    return f"Unless given: {', '.join(defaults)}." if defaults else ""


def _format_attribute(value: Attribute) -> str:
    """Return an attribute as spelled in a clause."""
    if isinstance(value, DenseArrayBase):
        return str(list(cast(IntArray, value).get_values()))
    return str(value).partition(" : ")[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the pages are written")
    folder = parser.parse_args(arguments).folder
    for name, text in render_pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
