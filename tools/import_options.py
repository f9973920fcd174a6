"""Command line of `tlf-import`. Imports nothing heavy, so that help is quick."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tlf.tools.command_line import CommandLine, ToolOptions

DESCRIPTION = "Write a PyTorch module as a program, and its weights to a side file."
SOURCE = (
    "a saved program (`.pt2`), or a function as `package.module:name` that returns a "
    "module and its example inputs"
)


class ImportOptions(ToolOptions):
    """The parsed command line."""

    source: str
    output: Path
    weights: Path | None
    arguments: bool
    locations: bool


def parse_arguments(
    arguments: Sequence[str] | None = None, tool: str = "tlf-import"
) -> ImportOptions:
    """Parse the command line of `tool`; exit with an error if it is invalid."""
    parser = CommandLine(tool, description=DESCRIPTION)
    parser.add_argument("source", help=SOURCE)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.mlir")
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FILE.safetensors",
        help="side file for weights (default: the output's name)",
    )
    parser.add_argument(
        "--arguments",
        action="store_true",
        help="keep weights as function arguments, not constants in the side file",
    )
    parser.add_argument(
        "--no-locations",
        dest="locations",
        action="store_false",
        help="omit the parts of the module that operations originate from",
    )
    return parser.parse_args(arguments, namespace=ImportOptions())
