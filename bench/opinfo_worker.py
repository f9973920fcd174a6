"""Run samples of an operation in processes that may crash or hang."""

from __future__ import annotations

import logging
import multiprocessing
import warnings
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from opinfo_call import WAYS, CallOutcome, check_call
from opinfo_samples import SampleChoice, operations, samples_of

from tlf.runtime.triton.device_selection import choose_mode

Found = tuple[int, str, CallOutcome]
"""The number and the text of a sample, and what became of it."""


@dataclass(frozen=True)
class SampleTask:
    """Samples of an operation, and how they are run."""

    operation: str
    dtype: torch.dtype
    way: str
    target: str
    choice: SampleChoice


def warm_up() -> None:
    """Load what every sample needs, before processes are forked."""
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    choose_mode()
    operation = operations()["add"]
    (sample,) = samples_of(operation, torch.float32, SampleChoice(1))
    for way in WAYS:
        check_call(sample, operation, torch.float32, way, "reference")


def run_samples(task: SampleTask, timeout: float) -> Iterator[Found]:
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
        process = context.Process(
            target=_run_in_process, args=(theirs, task, start), daemon=True
        )
        process.start()
        theirs.close()
        try:
            start = yield from _receive_outcomes(ours, process, timeout, start)
        finally:
            process.kill()
            process.join()
            ours.close()


def _run_in_process(results: Connection, task: SampleTask, start: int) -> None:
    """Announce and run samples, from the one after `start` others."""
    warnings.simplefilter("ignore")
    operation = operations()[task.operation]
    try:
        chosen = samples_of(operation, task.dtype, task.choice)
    except Exception as error:
        results.send((0, "", CallOutcome("skipped", f"no samples: {error}")))
        return results.send(None)
    for sample in chosen[start:]:
        results.send((sample.index, str(sample)))
        outcome = check_call(sample, operation, task.dtype, task.way, task.target)
        results.send((sample.index, str(sample), outcome))
    results.send(None)


def _receive_outcomes(
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
            yield place, text, CallOutcome("crash", f"the process ended with {code}")
            return start + 1
        if message is None:
            return None
        if len(message) == 2:
            place, text = message
            continue
        start += 1
        yield message
    yield place, text, CallOutcome("hang", f"more than {timeout:g} s")
    return start + 1
