"""
Definition of a tool: a function that runs on a command line, with what all tools do
when they take long, when they are interrupted, and when their output is closed. Imports
little, so that help is quick, and before the imports of the function, which allocate
much, so that garbage is collected rarely from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Protocol, TypeAlias

from tlf.compiler.driver.gc_tuning import reduce_garbage_collections
from tlf.runtime.broken_pipe import exit_on_broken_pipe
from tlf.runtime.interruption import exit_on_interruption, is_terminal
from tlf.support.call_stack import reserve_stack

ToolFunction: TypeAlias = Callable[[Sequence[str] | None, str], None]
"""Function that runs on a command line, or on that of the process, under a name."""


class Tool(Protocol):
    """A tool, which runs on the command line of the process by default."""

    def __call__(
        self, arguments: Sequence[str] | None = None, tool: str = ...
    ) -> None: ...


def define_tool(name: str) -> Callable[[ToolFunction], Tool]:
    """
    Return a decorator for the function of a tool. `name` is its name in messages,
    unless the caller gives another one.
    """

    def decorate(function: ToolFunction) -> Tool:
        @wraps(function)
        @reserve_stack
        def run(arguments: Sequence[str] | None = None, tool: str = name) -> None:
            with (
                exit_on_interruption(tool),
                exit_on_broken_pipe(),
                reduce_garbage_collections(),
                _show_progress(),
            ):
                function(arguments, tool)

        return run

    return decorate


def _show_progress() -> AbstractContextManager[None]:
    """Return a context that shows on a terminal what takes long."""
    if not is_terminal(sys.stderr):
        return nullcontext()

    # Imported late, because it is needed on terminals only.
    from tlf.compiler.driver.progress_display import show_progress

    return show_progress(is_default=True)
