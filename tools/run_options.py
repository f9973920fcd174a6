"""Command line of `tlf-run`. Imports nothing of xDSL, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tlf.tools.command_line import CommandLine, ToolOptions

DESCRIPTION = "Compile a program, run it, and report its results and cost."
TARGET = "reference, npu, triton, or a target description by name or file"


class RunOptions(ToolOptions):
    """The parsed command line."""

    file: str
    entry: str | None
    target: str | None
    l2: str | None
    passes: str | None
    input: list[str]
    layout: list[str]
    seed: int
    check: bool
    check_indices: bool
    timing: bool
    groups: bool
    dump_dir: Path | None


def parse_arguments(
    arguments: Sequence[str] | None = None, tool: str = "tlf-run"
) -> RunOptions:
    """Parse the command line of `tool`; exit with an error if it is invalid."""
    parser = CommandLine(tool, description=DESCRIPTION)
    parser.add_argument("file", help="program to run, of graph, tile or mem")
    parser.add_argument("--entry", metavar="NAME", help="function to run")
    parser.add_argument(
        "--target", help=f"{TARGET} (default: that of the program, or npu)"
    )
    parser.add_argument(
        "--l2", metavar="SIZE", help="capacity of the target's L2, such as 512K"
    )
    parser.add_argument(
        "-p",
        "--passes",
        metavar="PIPELINE",
        help="passes instead of the default pipeline of the target",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="array for an argument; others are random",
    )
    parser.add_argument(
        "--layout",
        action="append",
        default=[],
        metavar="any|NAME=ORDER",
        help="axis order in memory of an argument or result, as 0,2,3,1 or any",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of random arrays")
    _add_check_and_report_options(parser)
    return parser.parse_args(arguments, namespace=RunOptions())


def _add_check_and_report_options(parser: CommandLine) -> None:
    """Add the options of the checks and of the reported facts."""
    parser.add_argument(
        "--check", action="store_true", help="compare the results with the reference"
    )
    parser.add_argument(
        "--check-indices",
        action="store_true",
        help="check indices for bounds and integer divisors for 0",
    )
    parser.add_argument(
        "--timing",
        action="store_true",
        help="compute time and traffic on the simulated NPU, without data",
    )
    parser.add_argument(
        "--groups",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="report the lower bound, predicted and simulated cost of each group",
    )
    parser.add_argument(
        "--dump-dir",
        type=Path,
        metavar="FOLDER",
        help="folder for the results and the compiled texts",
    )
