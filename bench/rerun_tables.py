"""
Rerun the commands of a page and replace their output.

    python bench/zoo_files.py build/zoo
    python bench/rerun_tables.py docs/evaluation.md --folder build/zoo --only targets

A command is an indented line that starts with `tlf-`, with lines that continue it, and
what it printed the next indented lines after an empty one. A command that prints
nothing changes nothing, and is told.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import which
from typing import TypeAlias

Run: TypeAlias = Callable[[str], str]
"""Function from a command to its output."""


TABLE = re.compile(
    r"^    (?P<command>tlf-.*(?:\\\n.*)*)\n\n(?P<printed>(?:    .*\n?)+)", re.MULTILINE
)
"""A command of a page, and what it printed."""


def rewrite_page(text: str, run: Run, only: str = "") -> str:
    """The page with what its commands print now, of those that contain some text."""
    for found in reversed(list(TABLE.finditer(text))):
        command = " ".join(found["command"].replace("\\\n", " ").split())
        if only in command and (printed := run(command).rstrip()):
            made = [f"    {line}".rstrip() for line in printed.splitlines()]
            start, end = found.span("printed")
            text = text[:start] + "\n".join(made) + "\n" + text[end:]
    return text


def _make_runner(folder: Path) -> Run:
    """Runs the tools that are installed beside this Python."""
    scripts = str(Path(sys.executable).parent)
    path = os.pathsep.join((scripts, os.environ.get("PATH", "")))

    def run(command: str) -> str:
        print(command, flush=True)
        name, *rest = command.split()
        done = subprocess.run(
            [which(name, path=path) or name, *rest],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout:
            print(f"error: it printed nothing\n{done.stderr}", file=sys.stderr)
            return ""
        return done.stdout.rstrip("\n") + "\n" + done.stderr

    return run


def main(arguments: Sequence[str] | None = None) -> None:
    """Rewrite a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(), help="to run them in")
    parser.add_argument("--only", default="", help="text that commands contain")
    options = parser.parse_args(arguments)
    text = options.page.read_text(encoding="utf-8")
    made = rewrite_page(text, _make_runner(options.folder), options.only)
    options.page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
