"""Samples of an operation in processes that may crash or hang."""

from __future__ import annotations

import logging
import multiprocessing
import warnings
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from opinfo_attempt import WAYS, Outcome, attempt
from opinfo_samples import Choice, operations, samples

from tlf.runtime.triton.device import choose_mode

Found = tuple[int, str, Outcome]
"""The number and the text of a sample, and what became of it."""


@dataclass(frozen=True)
class Task:
    """Samples of an operation, and how they are run."""

    operation: str
    dtype: torch.dtype
    way: str
    target: str
    choice: Choice


def warm_up() -> None:
    """Load what every sample needs, before processes are forked."""
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    choose_mode()
    operation = operations()["add"]
    (sample,) = samples(operation, torch.float32, Choice(1))
    for way in WAYS:
        attempt(sample, operation, torch.float32, way, "reference")


def outcomes(task: Task, timeout: float) -> Iterator[Found]:
    """
    Yield the outcome of each sample, where one may take `timeout` seconds. A process
    that crashes or hangs is followed by another for the samples that are left. It is
    forked from the caller, which has a single thread, so that no other one holds a
    lock.
    """
    context: Any = multiprocessing.get_context("fork")
    start: int | None = 0
    while start is not None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(theirs, task, start), daemon=True)
        process.start()
        theirs.close()
        try:
            start = yield from _received(ours, process, timeout, start)
        finally:
            process.kill()
            process.join()
            ours.close()


def _work(results: Connection, task: Task, start: int) -> None:
    """Announce and run samples, from the one after `start` others."""
    warnings.simplefilter("ignore")
    operation = operations()[task.operation]
    try:
        chosen = samples(operation, task.dtype, task.choice)
    except Exception as error:
        results.send((0, "", Outcome("skipped", f"no samples: {error}")))
        return results.send(None)
    for sample in chosen[start:]:
        results.send((sample.place, str(sample)))
        outcome = attempt(sample, operation, task.dtype, task.way, task.target)
        results.send((sample.place, str(sample), outcome))
    results.send(None)


def _received(
    results: Connection, process: Any, timeout: float, start: int
) -> Generator[Found, None, int | None]:
    """
    The outcomes of a process. Returns how many samples ran where it ended before its
    last, else none.
    """
    place, text = 0, ""
    while results.poll(timeout):
        try:
            message = results.recv()
        except EOFError:
            process.join()
            code = process.exitcode
            yield place, text, Outcome("crash", f"the process ended with {code}")
            return start + 1
        if message is None:
            return None
        if len(message) == 2:
            place, text = message
            continue
        start += 1
        yield message
    yield place, text, Outcome("hang", f"more than {timeout:g} s")
    return start + 1
