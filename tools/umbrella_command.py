"""
`tlf`: all tools as subcommands of one command. Imports the tool that is asked for only.

An unknown subcommand is an error of one line on stderr, with exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from tlf.tools.command_line import CommandLine
from tlf.tools.define_tool import Tool, define_tool


class Subcommand(NamedTuple):
    """A subcommand: the module whose `main` is its tool, and a summary for the help."""

    module: str
    summary: str


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "bench": Subcommand("tlf_bench", "compare compilation variants of programs"),
    "cache": Subcommand("cache_command", "show or clear the cache of programs"),
    "explain": Subcommand("tlf_explain", "report the plan of a program and its cost"),
    "import": Subcommand("tlf_import", "write a PyTorch module as a program"),
    "opt": Subcommand("tlf_opt", "run passes over a program and print it"),
    "plan": Subcommand("tlf_plan", "allocate buffers with lifetimes in a memory"),
    "run": Subcommand("tlf_run", "compile a program, run it, and report its cost"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tool that the first argument names, on the other arguments."""
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in SUBCOMMANDS:
        load_tool(words[0])(words[1:], f"tlf {words[0]}")
    else:
        _parse_without_subcommand(words)


def load_tool(name: str) -> Tool:
    """Return the tool of a subcommand; its module is imported now."""
    return import_module(f"tlf.tools.{SUBCOMMANDS[name].module}").main


@define_tool("tlf")
def _parse_without_subcommand(arguments: Sequence[str] | None, tool: str) -> None:
    """Print the help or the version; exit with an error for other arguments."""
    parser = CommandLine(
        tool,
        description="Compile tensor graphs to tiled kernels.",
        epilog="`tlf SUBCOMMAND --help` describes a subcommand.",
    )
    subparsers = parser.add_subparsers(metavar="SUBCOMMAND", title="subcommands")
    for name, subcommand in SUBCOMMANDS.items():
        subparsers.add_parser(name, help=subcommand.summary, add_help=False)
    words = list(arguments or ())
    if not words or words[0].startswith("-"):
        parser.parse_args(words[:1])
    parser.error(_describe_unknown_subcommand(words))


def _describe_unknown_subcommand(words: Sequence[str]) -> str:
    """Return an error message that names the subcommands, and the one likely meant."""
    # Imported late, because only this error needs it.
    from tlf.support.name_suggestions import suggest_name

    listed = ", ".join(f"`{name}`" for name in SUBCOMMANDS)
    if not words:
        return f"expected a subcommand ({listed}), got none"
    hint = suggest_name(words[0], SUBCOMMANDS)
    return f"expected a subcommand ({listed}), got `{words[0]}`{hint}"


if __name__ == "__main__":
    main()
