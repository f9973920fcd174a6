"""Compilation of Triton kernels: threads that compile, or wait for worker processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tlf.runtime.triton.worker_pool import POOL

ItemT = TypeVar("ItemT")


def compile_in_threads(
    compile_one: Callable[[ItemT], object], items: Iterable[ItemT]
) -> None:
    """
    Call a function for all items, in threads. If it raises, or Ctrl-C interrupts the
    wait, the workers are stopped, so that the threads end.
    """
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        try:
            list(threads.map(compile_one, items))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            with POOL.refuse_requests():
                threads.shutdown()
            raise
