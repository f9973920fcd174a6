"""Worker processes compile kernels for sm_90, and end with this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from empty_library import COMPILER, write_empty_library
from process_state import is_running, wait_for_end
from triton_requests import COPY, make_request

from tlf.runtime.triton.worker_process import WorkerError, WorkerProcess


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))
    # Workers must not inherit this.
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def test_kernels_and_errors(tmp_path: Path):
    """The worker compiles into the folder, and goes on after an error."""
    worker = WorkerProcess()
    try:
        wrong = make_request(COPY.replace("arange(0, 16)", "arange(0, 15)"), tmp_path)
        assert "power of 2" in worker.send_request(wrong).error
        answer = worker.send_request(make_request(COPY, tmp_path))
        assert (answer.error, answer.warps) == ("", 1)
        assert len([*tmp_path.rglob("copy.cubin")]) == 1
        other = replace(make_request(COPY, tmp_path), key="0")
        assert "ValueError: expected key 0, got " in worker.send_request(other).error
    finally:
        worker.close()
    assert not is_running(worker.pid)


@pytest.mark.skipif(COMPILER is None, reason="launchers are compiled by a C compiler")
@pytest.mark.parametrize("assembles", [False, True])
def test_launchers_are_built_ahead(
    assembles: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A launch needs one; the request for the assembly of a kernel does not."""
    write_empty_library(tmp_path / "libcuda.so.1")
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", str(tmp_path))
    worker = WorkerProcess()
    try:
        request = replace(make_request(COPY, tmp_path), assembles=assembles)
        assert not worker.send_request(request).error
    finally:
        worker.close()
    assert len([*tmp_path.rglob("__triton_launcher*.so")]) == (not assembles)


def test_worker_that_ends(tmp_path: Path):
    worker = WorkerProcess()
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="ended with status -9 at kernel 'copy'"):
        worker.send_request(make_request(COPY, tmp_path))
    worker.close()


SCRIPT = """\
import os, signal, sys
from tlf.runtime.triton.worker_process import WorkerProcess

# Processes in the background ignore interruptions.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("imported", flush=True)
worker = WorkerProcess()
if sys.argv[1] == "fork" and os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print(worker.pid, flush=True)
input()
"""
"""
Script without a guard: a worker that imported it would print, and start a worker.
"""


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("kind", ["plain", "fork"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_worker_ends_with_its_parent(kind: str, number: int, tmp_path: Path):
    """A forked process that holds the connection open does not keep the worker."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, script, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "imported\n"
        worker = int(parent.stdout.readline())
        assert is_running(worker)
        parent.send_signal(number)
        parent.wait()
        wait_for_end(worker)
