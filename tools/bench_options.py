"""Command line of `tlf-bench`. Imports nothing of xDSL, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tlf.tools.command_line import CommandLine, ToolOptions

DESCRIPTION = "Compare compilation variants of programs on a simulated NPU."

SUBCOMMANDS = {
    "baselines": "unfused operations, groups, and the default pipeline",
    "ablate": "the default pipeline with one optimization disabled each",
    "strategies": "partition searches",
    "sweep-l2": "traffic over the capacity of L2",
    "targets": "gaps to the lower bounds, on several chips",
}


class BenchOptions(ToolOptions):
    """The parsed command line."""

    experiment: str
    files: list[str]
    target: str
    json: bool
    jobs: int
    layout: str | None
    l2: str | None
    plot: Path | None
    model: bool
    brief: bool
    only: bool


def parse_arguments(
    arguments: Sequence[str] | None = None, tool: str = "tlf-bench"
) -> BenchOptions:
    """Parse the command line of `tool`; exit with an error if it is invalid."""
    parser = CommandLine(tool, description=DESCRIPTION)
    commands = parser.add_subparsers(
        dest="experiment", required=True, metavar="EXPERIMENT"
    )
    for name, text in SUBCOMMANDS.items():
        command = commands.add_parser(name, tool=tool, help=text, description=text)
        _add_common_options(command)
        if name in ("strategies", "sweep-l2"):
            command.add_argument(
                "--l2", metavar="SIZES", help="capacities of L2, such as 512K,4M"
            )
        if name == "sweep-l2":
            command.add_argument(
                "--plot", type=Path, metavar="FILE", help="file for an SVG plot"
            )
        if name == "strategies":
            command.add_argument(
                "--model",
                action="store_true",
                help="by the cost model only, which is quick",
            )
            command.add_argument(
                "--brief",
                action="store_true",
                help="a row for each program, by the cost model only",
            )
        if name == "targets":
            command.add_argument(
                "--only", action="store_true", help="only the unmodified target"
            )
    return parser.parse_args(arguments, namespace=BenchOptions())


def _add_common_options(subparser: argparse.ArgumentParser) -> None:
    """Add the files, `--target`, `--layout`, `--json` and `--jobs` to a subcommand."""
    subparser.add_argument(
        "files", nargs="+", metavar="FILE", help="programs of whole tensors"
    )
    subparser.add_argument(
        "--target",
        default="npu",
        help="an NPU, a target description by name or file (default: npu)",
    )
    subparser.add_argument(
        "--layout",
        choices=["any"],
        help="allow any axis order of arguments and results in memory",
    )
    subparser.add_argument(
        "--json", action="store_true", help="print JSON instead of a table"
    )
    subparser.add_argument(
        "--jobs",
        type=_parse_positive_integer,
        default=1,
        metavar="NUMBER",
        help="number of parallel processes (default: 1)",
    )


def _parse_positive_integer(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got `{text}`")
    return int(text)
