"""The command line of `tlf-explain`. Imports nothing of xDSL, so that help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from tlf.tools.command_line import CommandLine, end_tool

DESCRIPTION = "Say how a program is planned for a target, what that costs, and why."


class ExplainOptions(argparse.Namespace):
    """The command line, as parsed."""

    file: str
    entry: str | None
    target: str | None
    l2: str | None
    passes: str | None
    group: int | None
    why_not_fuse: str | None
    simulate: bool
    json: bool


def fail(message: str) -> NoReturn:
    """End the tool with a message that concerns no place in a program."""
    end_tool("tlf-explain", message)


def parse_arguments(arguments: Sequence[str] | None = None) -> ExplainOptions:
    """Read the command line; a wrong one ends the tool."""
    parser = CommandLine("tlf-explain", description=DESCRIPTION)
    parser.add_argument("file", help="program of graph to explain")
    parser.add_argument("--entry", metavar="NAME", help="function to explain")
    parser.add_argument(
        "--target",
        help="a target description with a model (default: the program's, npu)",
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
        "--group", type=int, metavar="N", help="tell of one group alone"
    )
    parser.add_argument(
        "--why-not-fuse",
        metavar="A,B",
        help="why two operations do not run together: names of results, or places",
    )
    parser.add_argument(
        "--simulate", action="store_true", help="compile the program and time it, too"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments, namespace=ExplainOptions())
