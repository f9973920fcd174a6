"""Compilation of Triton kernels: pool of worker processes, one for this process."""

from __future__ import annotations

import atexit
import os
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Thread
from typing import TypeAlias

from tlf.runtime.triton.kernel_request import KernelAnswer, KernelRequest
from tlf.runtime.triton.worker_process import WorkerError, WorkerProcess
from tlf.runtime.triton.worker_settings import LOG, count_workers

IDLE_SECONDS = 60.0
"""Time after which a worker without requests ends."""

MAX_FAILURES = 3
"""
Number of workers that may end by themselves; then requests fail at once, because the
cause, such as a lack of memory, is none of single kernels.
"""

Answer: TypeAlias = "Future[KernelAnswer]"


class WorkerPool:
    """
    Worker processes that answer requests in order, each served by a thread of its own.

    Equal requests have one answer while it is computed. An answer is a `WorkerError` if
    the worker ended, which only affects the request it worked at, and is cancelled if
    the pool was stopped.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self.forget()

    def forget(self) -> None:
        """Set the initial state, as in a forked process, which has no threads."""
        self._changed = Condition()
        """Lock of the state; notified of requests and of stops."""
        self._waiting = deque[KernelRequest]()
        self._answers: dict[KernelRequest, Answer] = {}
        """Answers that are not known yet, and those without success."""
        self._workers = set[WorkerProcess]()
        self._failures = 0
        self._refusals = 0
        """Number of contexts in which requests are refused."""

    @property
    def pids(self) -> set[int]:
        """Process ids of the workers that run."""
        with self._changed:
            return {each.pid for each in self._workers}

    def start(self) -> None:
        """Start all workers, which import Triton at once."""
        with self._changed:
            self._start_workers(count_workers())

    def find_answer(self, request: KernelRequest) -> Answer | None:
        """Return the answer to a request that was submitted, unless it was dropped."""
        with self._changed:
            return self._answers.get(request)

    def submit(self, request: KernelRequest) -> Answer:
        """Return the future answer of a worker, which is started if there is none."""
        with self._changed:
            if (known := self._answers.get(request)) is not None:
                return known
            answer: Answer = Future()
            if self._refusals:
                answer.cancel()
                return answer
            self._answers[request] = answer
            self._waiting.append(request)
            self._start_missing_workers()
            self._changed.notify()
        return answer

    def stop(self) -> None:
        """End all workers, and cancel the answers that are not known yet."""
        with self._changed:
            workers, self._workers = self._workers, set[WorkerProcess]()
            answers, self._answers = self._answers, {}
            self._waiting.clear()
            self._changed.notify_all()
        for answer in answers.values():
            answer.cancel()
        for worker in workers:
            worker.kill()

    @contextmanager
    def refuse_requests(self) -> Generator[None]:
        """Stop, and return cancelled answers to all requests in a context."""
        with self._changed:
            self._refusals += 1
        try:
            self.stop()
            yield
        finally:
            with self._changed:
                self._refusals -= 1

    def _start_missing_workers(self) -> None:
        """
        Start a worker for each request without an answer, up to the limit. Requests
        fail if there is no worker.
        """
        unknown = sum(not each.done() for each in self._answers.values())
        self._start_workers(min(unknown, count_workers()))
        if not self._workers:
            while self._waiting:
                error = WorkerError("there are no worker processes")
                self._answers[self._waiting.popleft()].set_exception(error)

    def _start_workers(self, count: int) -> None:
        """Start workers until there are `count`, with the threads that serve them."""
        while len(self._workers) < count and self._failures < MAX_FAILURES:
            try:
                worker = WorkerProcess()
            except WorkerError as error:
                LOG.warning("%s", error)
                self._failures += 1
                continue
            self._workers.add(worker)
            Thread(target=self._serve_worker, args=(worker,), daemon=True).start()

    def _serve_worker(self, worker: WorkerProcess) -> None:
        """Send requests to a worker until it is idle for long, ends, or is stopped."""
        while (request := self._take_request(worker)) is not None:
            try:
                self._store_answer(worker, request, worker.send_request(request))
            except WorkerError as error:
                self._store_failure(worker, request, error)
        worker.close()

    def _take_request(self, worker: WorkerProcess) -> KernelRequest | None:
        """Return the next request; `None` if the worker is to end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._waiting or worker not in self._workers,
                self._idle_seconds,
            )
            if worker in self._workers and self._waiting:
                return self._waiting.popleft()
            self._workers.discard(worker)
            return None

    def _store_answer(
        self, worker: WorkerProcess, request: KernelRequest, answer: KernelAnswer
    ) -> None:
        """Publish an answer. It is dropped if it is in Triton's cache now."""
        with self._changed:
            if worker not in self._workers:
                return
            self._answers[request].set_result(answer)
            if not answer.error:
                del self._answers[request]

    def _store_failure(
        self, worker: WorkerProcess, request: KernelRequest, error: WorkerError
    ) -> None:
        """Publish that a worker ended, and start another if there are requests."""
        with self._changed:
            if worker not in self._workers:
                return
            LOG.warning("%s; this process compiles it", error)
            self._workers.discard(worker)
            self._failures += 1
            self._answers[request].set_exception(error)
            self._start_missing_workers()


POOL = WorkerPool()
"""The pool of this process."""

atexit.register(POOL.stop)
os.register_at_fork(after_in_child=POOL.forget)
