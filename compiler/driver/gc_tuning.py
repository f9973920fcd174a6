"""Driver: tuning of Python's cyclic garbage collection during a compilation."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG_THRESHOLD = 6_000_000
"""
Number of allocations between collections. Python's default of 700 to 2,000 costs a
tenth of the compile time, because programs contain many long-lived cycles; this number
costs up to some 300 MB of memory in large programs. Networks of some hundred operations
allocate 2 to 4 million objects that are not freed by their reference counts.
"""


@contextmanager
def reduce_garbage_collections() -> Generator[None]:
    """
    Reduce the frequency of garbage collection inside of the context. What was allocated
    there is collected with old objects: most of it lives long, or dies with the
    process.
    """
    young, *older = gc.get_threshold()
    is_reduced = 0 < young < YOUNG_THRESHOLD
    if is_reduced:
        gc.set_threshold(YOUNG_THRESHOLD, *older)
    try:
        yield
    finally:
        if is_reduced:
            _promote_young_objects()
            gc.set_threshold(young, *older)


def _promote_young_objects() -> None:
    """
    Make all objects old without a traversal, unless the process has frozen some, which
    would no longer be.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
