"""The command line of `tlf-run`. Imports nothing of xDSL, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tlf.tools.command_line import CommandLine, end_tool

DESCRIPTION = "Compile a program, run it, and say what came of it."
TARGET = "reference, npu, triton, or a target description by name or file"


class RunOptions(argparse.Namespace):
    """The command line, as parsed."""

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


def fail(message: str) -> NoReturn:
    """End the tool with a message that concerns no place in a program."""
    end_tool("tlf-run", message)


def parse_arguments(arguments: Sequence[str] | None = None) -> RunOptions:
    """Read the command line; a wrong one ends the tool."""
    parser = CommandLine("tlf-run", description=DESCRIPTION)
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
        help="passes instead of the pipeline that belongs to the target",
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
        help="order of axes in memory of an argument or result, as 0,2,3,1 or any",
    )
    parser.add_argument("--seed", type=int, default=0, help="of random arrays")
    parser.add_argument(
        "--check", action="store_true", help="compare with the reference"
    )
    parser.add_argument(
        "--check-indices",
        action="store_true",
        help="refuse indices out of range, and integers divided by 0",
    )
    parser.add_argument(
        "--timing",
        action="store_true",
        help="find time and traffic on the simulated NPU, without data",
    )
    parser.add_argument(
        "--groups",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="tell of each group what it takes at least, by the model, and did",
    )
    parser.add_argument(
        "--dump-dir",
        type=Path,
        metavar="FOLDER",
        help="folder for the results and for what was compiled",
    )
    return parser.parse_args(arguments, namespace=RunOptions())
