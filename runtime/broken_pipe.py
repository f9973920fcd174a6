"""Exit cleanly when nobody reads the output of a program, as with `head`."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def exit_on_broken_pipe() -> Generator[None]:
    """End the program with status 1, in silence, once nobody reads its output."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The rest of the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
