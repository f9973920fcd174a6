"""
Driver: display of the current steps of a long compilation or run on one line of a
terminal, which is updated, and erased at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import (
    ExitStack,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, TextIO, cast

from tlf.runtime.interruption import is_terminal
from tlf.support.progress import ProgressStep, are_steps_collected, collect_steps

VARIABLE = "TLF_PROGRESS"
"""Environment variable: `1` asks for the display also in a library, `0` for none."""

DELAY = 2.0
"""Seconds until the line is shown."""

INTERVAL = 0.1
"""Seconds between updates."""

UNKNOWN_COLUMNS = 80
"""Columns of a terminal that does not know its size."""

ECHO = "^C"
"""Text that terminals show for an interruption, after the line."""

MARGIN = len(ECHO) + 1
"""Columns at the end of the line that stay free: for the echo, and for the cursor."""


@contextmanager
def show_progress(is_default: bool, delay: float = DELAY) -> Generator[None]:
    """
    Show the current steps on stderr from `delay` seconds on, if it is a terminal. The
    environment variable `TLF_PROGRESS` decides before `is_default`.
    """
    is_wanted = os.environ.get(VARIABLE, "1" if is_default else "0") == "1"
    if not is_wanted or are_steps_collected() or not _can_update(sys.stderr):
        yield
        return
    with collect_steps() as steps, ExitStack() as stack:
        line = StatusLine(sys.stderr, steps)
        stack.enter_context(redirect_stderr(line.wrap_stream(sys.stderr)))
        if is_terminal(sys.stdout):
            stack.enter_context(redirect_stdout(line.wrap_stream(sys.stdout)))
        stack.enter_context(line.update_regularly(delay))
        yield


def _can_update(stream: TextIO | None) -> bool:
    """Return `True` for a terminal on which a line can be overwritten."""
    return is_terminal(stream) and os.environ.get("TERM", "dumb") != "dumb"


def format_steps(steps: Sequence[ProgressStep], now: float, columns: int) -> str:
    """
    Return the steps on a line of at most `columns` characters, with the progress and
    the seconds of the innermost one. Outer steps are omitted, and the name of the
    innermost one is cut, where there is no room. Empty without a step.
    """
    if not steps:
        return ""
    *outer, last = steps
    share = "" if last.fraction is None else f" {last.fraction:.0%}"
    end = f"{share} {now - last.start:.1f} s"
    names = [_format_name(step) for step in (*outer, last)]
    while len(names) > 1 and len(" > ".join(names) + end) > columns:
        del names[0]
    return (" > ".join(names)[: max(columns - len(end), 0)] + end)[: max(columns, 0)]


def _format_name(step: ProgressStep) -> str:
    number = "" if step.number is None else f"[{step.number}/{step.count}] "
    return number + "".join(c if c.isprintable() else "?" for c in step.name)


class StatusLine:
    """
    The last line of a terminal, on which a thread shows the current steps. Carriage
    returns, backspaces and spaces overwrite it, no escape sequences.
    """

    def __init__(self, terminal: TextIO, steps: Sequence[ProgressStep]) -> None:
        self._terminal = terminal
        self._steps = steps
        self._lock = Lock()
        self._width = 0
        """Number of characters shown."""
        self._is_line_begun = False
        """True if other output has begun a line, which must not be overwritten."""
        self._process = os.getpid()

    @contextmanager
    def update_regularly(self, delay: float) -> Generator[None]:
        """Update the line while the block runs, from `delay` seconds on; erase it."""
        end = Event()

        def update() -> None:
            is_over = end.wait(delay)
            while not is_over:
                self.show(format_steps([*self._steps], monotonic(), self._columns()))
                is_over = end.wait(INTERVAL)

        thread = Thread(target=update, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()
            self.show("")

    def show(self, text: str) -> None:
        """Replace the line by another text, unless other output has begun a line."""
        with self._lock:
            if not self._is_line_begun:
                self._overwrite(text)

    def write(self, stream: TextIO, text: str) -> int:
        """Erase the line, and write other output."""
        if os.getpid() != self._process:  # a copy, whose lock may be held for ever
            return stream.write(text)
        with self._lock:
            if self._width:
                self._overwrite("")
            if text:
                self._is_line_begun = not text.endswith("\n")
            return stream.write(text)

    def wrap_stream(self, stream: TextIO) -> TextIO:
        """Return a stream that erases the line before it writes to `stream`."""
        return cast(TextIO, _ErasingStream(stream, self))

    def _overwrite(self, text: str) -> None:
        """Show a text in place of the line, and what a terminal echoes after it."""
        if not (text or self._width):
            return
        rest = self._width + len(ECHO) - len(text)
        blank = " " * min(max(rest, 0), self._columns() + MARGIN - 1 - len(text))
        back = "\b" * len(blank) if text else "\r"
        with suppress(OSError, ValueError):  # of a terminal that is closed
            self._terminal.write(f"\r{text}{blank}{back}")
            self._terminal.flush()
        self._width = len(text)

    def _columns(self) -> int:
        """Return the number of columns of the terminal that may be written to."""
        try:
            columns = os.get_terminal_size(self._terminal.fileno()).columns
        except OSError:
            columns = 0
        return (columns or UNKNOWN_COLUMNS) - MARGIN


class _ErasingStream:
    """A stream that erases a status line before it writes; otherwise like another."""

    def __init__(self, stream: TextIO, line: StatusLine) -> None:
        self._stream = stream
        self._line = line

    def write(self, text: str) -> int:
        return self._line.write(self._stream, text)

    def writelines(self, lines: Sequence[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
