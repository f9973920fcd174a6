"""
Runtime of command lines, without IR: clean exit of a script that a signal interrupts.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TextIO

MESSAGES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
"""The signals that end a script, and what it says then."""


class Interruption(KeyboardInterrupt):
    """
    A signal that ends a script. Python's own exit status follows from a
    `KeyboardInterrupt` that is not of a subclass, even if that is handled.
    """


class _SignalHandler:
    """Handler that records a signal, and raises an `Interruption` for it."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> NoReturn:
        if self.received is None:
            self.received = signal.Signals(number)
            # Extension modules print tracebacks if their import is interrupted.
            sys.stderr = open(os.devnull, "w", encoding="utf-8")
        raise Interruption


@contextmanager
def exit_on_interruption(tool: str) -> Generator[None]:
    """
    Exit with one line and with status 128 + n if signal n, SIGINT or SIGTERM, arrives.
    Code in the `with` block sees a `KeyboardInterrupt`, and cleans up by `finally`. An
    ignored signal stays ignored; outside of the main thread there is no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler, stderr = _SignalHandler(), sys.stderr
    previous = {
        number: signal.signal(number, handler)
        for number in MESSAGES
        if signal.getsignal(number) not in (signal.SIG_IGN, None)
    }
    try:
        yield
    finally:
        # Another error in place of the interruption, or none, follows from it.
        if handler.received is not None:
            sys.stderr = stderr
            _exit_after_signal(tool, handler.received)
        for number, each in previous.items():
            signal.signal(number, each)


def _exit_after_signal(tool: str, received: signal.Signals) -> NoReturn:
    """
    Exit with one line, without waiting for threads and for the memory to be freed;
    further signals are ignored until then.
    """
    for number in MESSAGES:
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError, ValueError):  # of a closed terminal or pipe
        start = "\r" if is_terminal(sys.stderr) else ""  # of a line with an echo `^C`
        print(f"{start}{tool}: {MESSAGES[received]}", file=sys.stderr, flush=True)
    os._exit(128 + received)


def is_terminal(stream: TextIO | None) -> bool:
    """Return `True` for a terminal; `None` is a stream that was closed at the start."""
    return stream is not None and not stream.closed and stream.isatty()
