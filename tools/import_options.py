"""The command line of `tlf-import`. Imports nothing heavy, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tlf.tools.command_line import CommandLine, end_tool

DESCRIPTION = "Write a module of PyTorch as a program, and its weights to a side file."
SOURCE = (
    "a saved program (`.pt2`), or a function as `package.module:name` that returns a "
    "module and its example inputs"
)


class ImportOptions(argparse.Namespace):
    """The command line, as parsed."""

    source: str
    output: Path
    weights: Path | None
    arguments: bool
    locations: bool


def fail(message: str) -> NoReturn:
    """End the tool with a message that concerns no place in a program."""
    end_tool("tlf-import", message)


def parse_arguments(arguments: Sequence[str] | None = None) -> ImportOptions:
    """Read the command line; a wrong one ends the tool."""
    parser = CommandLine("tlf-import", description=DESCRIPTION)
    parser.add_argument("source", help=SOURCE)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.mlir")
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FILE.safetensors",
        help="where weights go (default: the output's name)",
    )
    parser.add_argument(
        "--arguments",
        action="store_true",
        help="leave weights arguments of the function, not constants in the side file",
    )
    parser.add_argument(
        "--no-locations",
        dest="locations",
        action="store_false",
        help="do not write from which part of the module an operation comes",
    )
    return parser.parse_args(arguments, namespace=ImportOptions())
