"""A pool of worker processes compiles kernels for sm_90."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from process_state import is_running, wait_for_end, wait_until
from triton_requests import COPY, SLOW, make_request

from tlf.runtime.triton import worker_process
from tlf.runtime.triton.worker_pool import MAX_FAILURES, WorkerPool
from tlf.runtime.triton.worker_process import WorkerError

SECONDS = 60


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TLF_COMPILE_WORKERS", "2")


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool()
    yield made
    made.stop()


def test_equal_requests_have_one_answer(pool: WorkerPool, tmp_path: Path):
    first = pool.submit(make_request(COPY, tmp_path))
    assert pool.submit(make_request(COPY, tmp_path)) is first
    assert len(pool.pids) == 1
    assert first.result(SECONDS).error == ""
    assert len([*tmp_path.rglob("copy.cubin")]) == 1


def test_errors_are_kept(pool: WorkerPool, tmp_path: Path):
    request = make_request(COPY.replace("arange(0, 16)", "arange(0, 15)"), tmp_path)
    answer = pool.submit(request)
    assert "power of 2" in answer.result(SECONDS).error
    assert pool.submit(request) is answer


def test_killed_worker(
    pool: WorkerPool, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """The kernel that it compiled fails, now and later; another worker goes on."""
    slow = pool.submit(make_request(SLOW, tmp_path))
    (worker,) = pool.pids
    wait_until(lambda: any(tmp_path.rglob("tlf_*.py")))
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(WorkerError, match="status -9 at kernel 'slow'"):
        slow.result(SECONDS)
    assert pool.submit(make_request(SLOW, tmp_path)) is slow
    assert pool.submit(make_request(COPY, tmp_path)).result(SECONDS).error == ""
    assert worker not in pool.pids
    assert "this process compiles it" in caplog.text


def test_number_of_workers(pool: WorkerPool, tmp_path: Path):
    for count in range(1, 4):
        pool.submit(make_request(SLOW.replace("3.0", f"{count}.0"), tmp_path))
        assert len(pool.pids) == min(count, 2)
    pool.start()
    assert len(pool.pids) == 2


def test_stopped_pool(pool: WorkerPool, tmp_path: Path):
    """All answers are cancelled, and no process is left; new requests have workers."""
    slow = [
        pool.submit(make_request(SLOW.replace("3.0", f"{each}.0"), tmp_path))
        for each in range(3)
    ]
    workers = pool.pids
    pool.stop()
    for each in slow:
        with pytest.raises(CancelledError):
            each.result(0)
    assert not any(Path(f"/proc/{each}").exists() for each in workers)
    assert pool.submit(make_request(COPY, tmp_path)).result(SECONDS).error == ""


def test_refused_requests(pool: WorkerPool, tmp_path: Path):
    """They are cancelled, and start no worker, until the context ends."""
    with pool.refuse_requests():
        assert pool.submit(make_request(COPY, tmp_path)).cancelled()
        assert not pool.pids
    assert pool.submit(make_request(COPY, tmp_path)).result(SECONDS).error == ""


def test_idle_workers_end(tmp_path: Path):
    """They leave no zombies, and another request starts one."""
    pool = WorkerPool(idle_seconds=0.05)
    for kernel in (COPY, COPY.replace("copy", "other")):
        answer = pool.submit(make_request(kernel, tmp_path))
        (worker,) = pool.pids
        assert answer.result(SECONDS).error == ""
        wait_until(lambda worker=worker: not Path(f"/proc/{worker}").exists())
        assert not pool.pids


def test_workers_that_do_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: WorkerPool
):
    """Some are tried; then all requests fail at once."""
    monkeypatch.setattr(worker_process, "WORKER", "tlf.missing")
    answers = [
        pool.submit(make_request(COPY.replace("copy", f"copy{each}"), tmp_path))
        for each in range(2 * MAX_FAILURES)
    ]
    for each in answers:
        with pytest.raises(WorkerError):
            each.result(SECONDS)
    assert not pool.pids
    with pytest.raises(WorkerError, match="there are no worker processes"):
        pool.submit(make_request(COPY, tmp_path)).result(0)


SCRIPT = """\
import os, signal, sys
from pathlib import Path
from triton_requests import COPY, SLOW, make_request
from tlf.runtime.triton.worker_pool import POOL

# Processes in the background ignore interruptions.
signal.signal(signal.SIGINT, signal.default_int_handler)
kind, folder = sys.argv[1], Path(sys.argv[2])
slow = POOL.submit(make_request(SLOW, folder))
(worker,) = POOL.pids
print(worker, flush=True)
if kind == "wait":
    slow.result()
elif kind == "fork":
    if not (child := os.fork()):
        assert not POOL.pids
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    print(status, POOL.pids == {worker}, flush=True)
"""


def start_script(kind: str, folder: Path) -> subprocess.Popen[str]:
    """Start a process with a worker that compiles for long."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, kind, folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("kind", [pytest.param("end", marks=pytest.mark.long), "fork"])
def test_no_worker_is_left(kind: str, tmp_path: Path):
    """The process does not wait for kernels. Its workers are not those of a fork."""
    started = time.monotonic()
    with start_script(kind, tmp_path) as process:
        assert process.stdout is not None
        worker, *rest = process.stdout.read().split()
        assert rest == (["0", "True"] if kind == "fork" else [])
        assert process.wait() == 0
    assert time.monotonic() - started < SECONDS
    assert not is_running(int(worker))


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.long),
        signal.SIGKILL,
    ],
)
def test_signals_end_the_workers(number: signal.Signals, tmp_path: Path):
    """Also one that compiles."""
    with start_script("wait", tmp_path) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        wait_until(lambda: any(tmp_path.rglob("tlf_*.py")))
        process.send_signal(number)
        assert process.wait() == -number
        wait_for_end(worker)
