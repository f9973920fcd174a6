"""
Command lines of all tools: common parser and error exit. Imports little, so that help
is quick.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn


class ToolOptions(argparse.Namespace):
    """A parsed command line."""

    tool: str
    """Name of the tool in messages, such as `tlf-opt` or `tlf opt`."""

    def exit_with_error(self, message: str, location: str | None = None) -> NoReturn:
        """Exit with an error at a source location, if there is one."""
        print_error_and_exit(self.tool if location is None else location, message)


class CommandLine(argparse.ArgumentParser):
    """
    Argument parser of a tool. An invalid command line exits with one line; `--version`
    prints the version.
    """

    def __init__(self, prog: str, tool: str | None = None, **options: Any) -> None:
        """Make the parser of `tool`, or of its subcommand `prog`."""
        super().__init__(prog, **options)
        self.tool = prog if tool is None else tool
        self.add_argument("--version", action=_Version)
        self.set_defaults(tool=self.tool)

    def error(self, message: str) -> NoReturn:
        """Exit with an error."""
        print_error_and_exit(self.tool, message)


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        text = "print the version and exit"
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=text)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        # Imported late, because it loads much of the standard library.
        from importlib.metadata import version

        assert isinstance(parser, CommandLine)
        print(f"{parser.tool} {version('tlf')}")
        parser.exit()


def print_error_and_exit(location: str, message: str) -> NoReturn:
    """Exit with one line that states the location and the error."""
    print(f"{location}: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(1)
