"""Functions that run in forks of the test process, which may be killed."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

WRITTEN_AT_ONCE = 64
"""Bytes of a file that are written between two points at which a process is killed."""

FILE_EVENTS = ("open", "os.", "shutil.", "pathlib.")
"""Beginnings of the names of audit events of file operations."""


def start_fork(work: Callable[[], object]) -> int:
    """Start `work` in a fork, whose exit status is 0 unless it raises."""
    if process := os.fork():
        return process
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        # Without it, pytest shows an exit status and no cause.
        traceback.print_exc()
    finally:
        os._exit(status)


def wait_for(process: int) -> int:
    """Return the exit status of a fork, or the negative number of its signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class KillPoints:
    """
    Counter of the file operations of this process, which is killed before the operation
    of number `fatal`.
    """

    def __init__(self, fatal: int | None = None) -> None:
        self.count = 0
        self.fatal = fatal
        sys.addaudithook(self._observe)

    def _observe(self, event: str, _: tuple[object, ...]) -> None:
        if event.startswith(FILE_EVENTS) and event not in ("os.kill", "os.fork"):
            self.count_operation()

    def count_operation(self) -> None:
        """Count an operation, and kill the process if it is the fatal one."""
        self.count += 1
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def install_kill_points(fatal: int | None = None) -> KillPoints:
    """Count the file operations of this process, and kill it at one of them."""
    points = KillPoints(fatal)

    def write_in_pieces(path: Path, data: bytes) -> int:
        with path.open("wb", buffering=0) as file:
            for start in range(0, len(data), WRITTEN_AT_ONCE):
                points.count_operation()
                file.write(data[start : start + WRITTEN_AT_ONCE])
        return len(data)

    setattr(Path, "write_bytes", write_in_pieces)
    return points
