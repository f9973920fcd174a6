"""Programs whose output may be read in part only, as by `head`."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def read_in_part() -> Generator[None]:
    """End the program with status 1, in silence, once nobody reads its output."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The rest of the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
