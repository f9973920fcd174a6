"""The command line of `tlf-bench`. Imports nothing of xDSL, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tlf.tools.command_line import CommandLine, end_tool

DESCRIPTION = "Compare ways to compile programs, on a simulated NPU."

SUBCOMMANDS = {
    "baselines": "each operation by itself, groups, and what the compiler does",
    "ablate": "the compiler without one of its means each",
    "strategies": "searches for groups that run as one",
    "sweep-l2": "traffic over the capacity of L2",
    "targets": "the distance from what no schedule beats, on several chips",
}


class BenchOptions(argparse.Namespace):
    """The command line, as parsed."""

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


def fail(message: str) -> NoReturn:
    """End the tool with one line."""
    end_tool("tlf-bench", message)


def parse_arguments(arguments: Sequence[str] | None = None) -> BenchOptions:
    """Read the command line; a wrong one ends the tool."""
    parser = CommandLine("tlf-bench", description=DESCRIPTION)
    commands = parser.add_subparsers(
        dest="experiment", required=True, metavar="EXPERIMENT"
    )
    for name, text in SUBCOMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        _add_common(command)
        if name in ("strategies", "sweep-l2"):
            command.add_argument(
                "--l2", metavar="SIZES", help="capacities of L2, such as 512K,4M"
            )
        if name == "sweep-l2":
            command.add_argument(
                "--plot", type=Path, metavar="FILE", help="for a picture in SVG"
            )
        if name == "strategies":
            command.add_argument(
                "--model",
                action="store_true",
                help="by the model alone, which is quick",
            )
            command.add_argument(
                "--brief",
                action="store_true",
                help="a row for each program, by the model alone",
            )
        if name == "targets":
            command.add_argument(
                "--only", action="store_true", help="the target as it is, and no other"
            )
    return parser.parse_args(arguments, namespace=BenchOptions())


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files", nargs="+", metavar="FILE", help="programs of whole tensors"
    )
    command.add_argument(
        "--target",
        default="npu",
        help="an NPU, a target description by name or file (default: npu)",
    )
    command.add_argument(
        "--layout",
        choices=["any"],
        help="let arguments and results lie in any order in memory",
    )
    command.add_argument("--json", action="store_true", help="print JSON, no table")
    command.add_argument(
        "--jobs",
        type=_parse_positive,
        default=1,
        metavar="NUMBER",
        help="processes that compile at once (default: 1)",
    )


def _parse_positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got `{text}`")
    return int(text)
