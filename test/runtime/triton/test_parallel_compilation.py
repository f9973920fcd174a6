"""Kernels are compiled in threads, which an interruption ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tlf.runtime.triton.parallel_compilation import compile_in_threads

SECONDS = 30
"""Less than the time that a slow kernel takes."""


def test_all_items():
    found: list[int] = []
    compile_in_threads(found.append, range(9))
    assert sorted(found) == [*range(9)]


def test_errors_are_raised():
    with pytest.raises(ZeroDivisionError):
        compile_in_threads(lambda each: 1 // each, range(2))
    assert threading.active_count() < 9


SCRIPT = """\
import os, signal, sys, time
from pathlib import Path
from triton_requests import SLOW, make_request
from tlf.runtime.triton.parallel_compilation import compile_in_threads
from tlf.runtime.triton.worker_pool import POOL

# Processes in the background ignore interruptions.
signal.signal(signal.SIGINT, signal.default_int_handler)

def compile_one(number):
    if number == 0:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)
    else:
        time.sleep(float(sys.argv[2]))
        POOL.submit(make_request(SLOW, Path(sys.argv[1]))).result()

try:
    compile_in_threads(compile_one, range(2))
except KeyboardInterrupt:
    print(POOL.pids)
"""


@pytest.mark.parametrize("delay", [pytest.param("0", marks=pytest.mark.long), "1.2"])
def test_interruption(delay: str, tmp_path: Path):
    """Neither threads nor workers go on, also if a request comes after the stop."""
    script = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path, delay],
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TLF_CACHE_DIR": str(tmp_path),
            "TLF_COMPILE_WORKERS": "1",
        },
    )
    assert script.stdout == "set()\n"
