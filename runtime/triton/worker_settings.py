"""
Compilation of Triton kernels: number of worker processes, from `TLF_COMPILE_WORKERS`.
"""

from __future__ import annotations

import logging
import os

LOG = logging.getLogger("tlf.triton")

MAX_WORKERS = 16
"""Maximum of the default: a network has tens of kernels, and a worker takes 150 MB."""

_VARIABLE = "TLF_COMPILE_WORKERS"


def count_workers() -> int:
    """
    Return the maximum number of worker processes: `TLF_COMPILE_WORKERS`, by default the
    number of processors; 0, also for a single processor, compiles in this process.
    """
    text = os.environ.get(_VARIABLE)
    if text is not None and text.isdecimal():
        return int(text)
    if text is not None:
        LOG.warning("expected %s to be a number, got %s", _VARIABLE, text)
    processors = len(os.sched_getaffinity(0))
    return 0 if processors == 1 else min(processors, MAX_WORKERS)
