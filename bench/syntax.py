"""
Pages of the operations of each dialect: what they mean, with an example of each.

    python bench/syntax.py docs
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path

from xdsl.ir import Dialect, Operation

from tlf.tools.universe import TLF_UNIVERSE

DIALECTS = ("graph", "tile", "mem", "npu", "triton")
"""In the order in which a program meets them."""

HEAD = """# Operations of {name}

What each operation means, with an example; [operations.md](operations.md) lists them by
family. Made of docstrings by `python bench/syntax.py docs`."""


def pages() -> dict[str, str]:
    """The text of each page, by its file."""
    known = TLF_UNIVERSE.all_dialects
    return {f"syntax-{name}.md": page(known[name]()) for name in DIALECTS}


def page(dialect: Dialect) -> str:
    """The page of a dialect."""
    head = HEAD.format(name=f"`{dialect.name}`")
    return "\n\n".join([head, *entries(dialect)]) + "\n"


def entries(dialect: Dialect) -> Iterator[str]:
    """What the page says of each operation."""
    for op in sorted(dialect.operations, key=lambda op: op.name):
        yield f"## `{op.name}`\n\n{text_of(op)}"


def text_of(op: type[Operation]) -> str:
    """The docstring of an operation."""
    return inspect.getdoc(op) or ""


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the pages are written")
    folder = parser.parse_args(arguments).folder
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
