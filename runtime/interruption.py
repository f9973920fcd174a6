"""
Runtime of command lines, without IR: clean exit of a script that a signal interrupts.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

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
    except BaseException:
        # An error that follows from the interruption, in its place, is no news.
        if handler.received is not None:
            sys.stderr = stderr
            _exit_after_signal(tool, handler.received)
        raise
    finally:
        for number, each in previous.items():
            signal.signal(number, each)


def _exit_after_signal(tool: str, received: signal.Signals) -> NoReturn:
    """
    Exit with one line, without waiting for threads and for the memory to be freed;
    further signals are ignored until then.
    """
    for number in MESSAGES:
        signal.signal(number, signal.SIG_IGN)
    start = "\r" if sys.stderr.isatty() else ""  # of the line with an echo `^C`
    print(f"{start}{tool}: {MESSAGES[received]}", file=sys.stderr, flush=True)
    os._exit(128 + received)
