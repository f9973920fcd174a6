"""Command line of `tlf-plan`. Imports nothing heavy, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tlf.tools.command_line import CommandLine, ToolOptions

DESCRIPTION = "Allocate buffers with lifetimes in a memory, and report the result."


class PlanOptions(ToolOptions):
    """The parsed command line."""

    csv: Path
    capacity: int | None
    alignment: int
    budget: float
    minimize: bool
    replan: bool
    out: Path | None
    render: Path | None


def parse_arguments(
    arguments: Sequence[str] | None = None, tool: str = "tlf-plan"
) -> PlanOptions:
    """Parse the command line of `tool`; exit with an error if it is invalid."""
    parser = CommandLine(tool, description=DESCRIPTION)
    parser.add_argument(
        "--csv", type=Path, required=True, metavar="FILE.csv", help="the buffers"
    )
    parser.add_argument(
        "--capacity",
        type=_parse_size,
        metavar="SIZE",
        help="capacity of the memory, such as 64K",
    )
    parser.add_argument(
        "--alignment",
        type=_parse_size,
        default=1,
        metavar="SIZE",
        help="default alignment of buffers (default: 1)",
    )
    _add_search_options(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE.csv",
        help="file for the buffers with their offsets",
    )
    parser.add_argument(
        "--render",
        type=Path,
        metavar="FILE.svg",
        help="file for an SVG picture, bytes over steps",
    )
    return parser.parse_args(arguments, namespace=PlanOptions())


def _add_search_options(parser: CommandLine) -> None:
    """Add the options of the search."""
    parser.add_argument(
        "--budget",
        type=_parse_seconds,
        default=60.0,
        metavar="SECONDS",
        help="time limit of the search (default: 60)",
    )
    parser.add_argument(
        "--minimize",
        action="store_true",
        help="search for the lowest peak, even below the capacity",
    )
    parser.add_argument(
        "--replan",
        action="store_true",
        help="ignore the offsets in the file",
    )


def _parse_size(text: str) -> int:
    """Return a size such as `64K` in bytes. Raises `ArgumentTypeError`."""
    # Imported late, because only sizes need it.
    from xdsl.utils.exceptions import DiagnosticException

    from tlf.dialects.target import parse_bytes

    try:
        return parse_bytes(text.replace("_", ""))
    except DiagnosticException as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parse_seconds(text: str) -> float:
    """Return a time limit above 0. Raises `ArgumentTypeError`."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got `{text}`")
    return number
