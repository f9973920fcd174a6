"""
Common parts of the command lines of all tools. Imports little, so that help is quick.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn


class CommandLine(argparse.ArgumentParser):
    """
    The options of a tool. A wrong command line ends it with one line; `--version` says
    which version it is.
    """

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **options)
        self.add_argument("--version", action=_Version)

    @property
    def tool(self) -> str:
        """The name of the tool, without that of a command of it."""
        return self.prog.partition(" ")[0]

    def error(self, message: str) -> NoReturn:
        """End the tool."""
        end_tool(self.tool, message)


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        text = "show the version, and stop"
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=text)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        assert isinstance(parser, CommandLine)
        print(f"{parser.tool} {version('tlf')}")
        parser.exit()


def end_tool(where: str, message: str) -> NoReturn:
    """End a tool with one line that says where what was wrong."""
    print(f"{where}: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(1)
