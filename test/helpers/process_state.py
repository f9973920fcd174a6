"""States of other processes, read from Linux."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def is_running(process: int) -> bool:
    """Return `True` if a process exists and is no zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until a condition holds; fail after some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_end(process: int) -> None:
    """Wait until a process has ended; fail after some seconds."""
    wait_until(lambda: not is_running(process))
