"""
Storage: temporary files, whose names tell the process that writes them, so that those
of dead processes can be removed.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from hashlib import sha256
from pathlib import Path
from platform import node

MAX_AGE_SECONDS = 24 * 3600
"""Age from which a temporary file of another host counts as abandoned."""

_PATTERN = re.compile(r"tmp-(\w+)-(\d+)-\w+")


def make_temporary_name() -> str:
    """Return a new name for a temporary file of this process."""
    return f"tmp-{_host_mark()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"


def is_temporary(path: Path) -> bool:
    """Return `True` if a file is named by `make_temporary_name`."""
    return _PATTERN.fullmatch(path.name) is not None


def is_abandoned(path: Path) -> bool:
    """
    Return `True` if the process that wrote a temporary file has ended, or if the file
    is of another host and old.
    """
    found = _PATTERN.fullmatch(path.name)
    if found is None:
        return False
    if found[1] == _host_mark():
        return not _is_running(int(found[2]))
    try:
        return time.time() - path.stat().st_mtime > MAX_AGE_SECONDS
    except OSError:
        return False


def _host_mark() -> str:
    """Return a mark of this host that is valid in a file name."""
    return sha256(node().encode()).hexdigest()[:8]


def _is_running(process: int) -> bool:
    """Return `True` if a process of this host exists."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
