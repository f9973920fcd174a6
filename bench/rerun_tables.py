"""
Rerun the commands of a page and replace their output.

    python bench/zoo_files.py build/zoo
    python bench/rerun_tables.py docs/evaluation.md --folder build/zoo --only targets

A command is an indented line that starts with `tlf-`, with its continuation lines; its
output is the next block of indented lines after an empty line. A command without output
leaves the page unchanged, and is reported.
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
"""Command of a page, and its output."""


def rewrite_page(text: str, run: Run, only: str = "") -> str:
    """Return the page with the new output of the commands that contain `only`."""
    for match in reversed(list(TABLE.finditer(text))):
        command = " ".join(match["command"].replace("\\\n", " ").split())
        if only in command and (printed := run(command).rstrip()):
            lines = [f"    {line}".rstrip() for line in printed.splitlines()]
            start, end = match.span("printed")
            text = text[:start] + "\n".join(lines) + "\n" + text[end:]
    return text


def _make_runner(folder: Path) -> Run:
    """Return a runner of the tools that are installed beside this Python."""
    scripts = str(Path(sys.executable).parent)
    path = os.pathsep.join((scripts, os.environ.get("PATH", "")))

    def run(command: str) -> str:
        print(command, flush=True)
        name, *rest = command.split()
        process = subprocess.run(
            [which(name, path=path) or name, *rest],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not process.stdout:
            print(
                f"error: expected output, got none\n{process.stderr}", file=sys.stderr
            )
            return ""
        return process.stdout.rstrip("\n") + "\n" + process.stderr

    return run


def main(arguments: Sequence[str] | None = None) -> None:
    """Rewrite a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(), help="working directory")
    parser.add_argument("--only", default="", help="substring of commands")
    options = parser.parse_args(arguments)
    text = options.page.read_text(encoding="utf-8")
    updated = rewrite_page(text, _make_runner(options.folder), options.only)
    options.page.write_text(updated, encoding="utf-8")


if __name__ == "__main__":
    main()
