"""Command line of `tlf-explain`. Imports nothing of xDSL, so that help is quick."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.tools.command_line import CommandLine, ToolOptions

DESCRIPTION = "Report the plan of a program for a target, its cost, and the reasons."


class ExplainOptions(ToolOptions):
    """The parsed command line."""

    file: str
    entry: str | None
    target: str | None
    l2: str | None
    passes: str | None
    group: int | None
    why_not_fuse: str | None
    simulate: bool
    json: bool


def parse_arguments(
    arguments: Sequence[str] | None = None, tool: str = "tlf-explain"
) -> ExplainOptions:
    """Parse the command line of `tool`; exit with an error if it is invalid."""
    parser = CommandLine(tool, description=DESCRIPTION)
    parser.add_argument("file", help="program of the dialect graph")
    parser.add_argument("--entry", metavar="NAME", help="function to explain")
    parser.add_argument(
        "--target",
        help="a target description with a cost model (default: the program's, npu)",
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
        "--group", type=int, metavar="N", help="report on one group only"
    )
    parser.add_argument(
        "--why-not-fuse",
        metavar="A,B",
        help="why two operations are not fused: names of results, or locations",
    )
    parser.add_argument(
        "--simulate", action="store_true", help="also compile and simulate the program"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments, namespace=ExplainOptions())
