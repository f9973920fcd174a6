"""
Runtime of command lines, without IR: clean exit of a script if the reader of its output
closes the pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def exit_on_broken_pipe() -> Generator[None]:
    """Exit with status 1 and without a message if the output pipe is closed."""
    try:
        yield
        _flush(sys.stdout)
    except BrokenPipeError:
        # Discard the rest of the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _flush(stream: TextIO | None) -> None:
    """Flush a stream, unless it is `None` because it was closed at the start."""
    if stream is not None:
        stream.flush()
