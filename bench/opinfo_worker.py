"""Runs of the samples of an operation in processes that may crash or hang."""

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

from tlf.runtime.triton.device_selection import choose_interpreter_mode

Found = tuple[int, str, CallOutcome]
"""Index and text of a sample, and its outcome."""


@dataclass(frozen=True)
class SampleTask:
    """Selected samples of an operation, and the settings of their run."""

    operation: str
    dtype: torch.dtype
    way: str
    target: str
    choice: SampleChoice


def warm_up() -> None:
    """Load the modules that every sample needs, before processes are forked."""
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    choose_interpreter_mode()
    operation = operations()["add"]
    (sample,) = samples_of(operation, torch.float32, SampleChoice(1))
    for way in WAYS:
        check_call(sample, operation, torch.float32, way, "reference")


def run_samples(task: SampleTask, timeout: float) -> Iterator[Found]:
    """
    Yield the outcome of each sample; a sample may take `timeout` seconds.

    A process that crashes or hangs is followed by another process for the remaining
    samples. Each process is forked from the single-threaded caller, so that no other
    thread holds a lock.
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
    """Announce and run samples, skipping the first `start`."""
    warnings.simplefilter("ignore")
    operation = operations()[task.operation]
    try:
        samples = samples_of(operation, task.dtype, task.choice)
    except Exception as error:
        results.send((0, "", CallOutcome("skipped", f"no samples: {error}")))
        return results.send(None)
    for sample in samples[start:]:
        results.send((sample.index, str(sample)))
        outcome = check_call(sample, operation, task.dtype, task.way, task.target)
        results.send((sample.index, str(sample), outcome))
    results.send(None)


def _receive_outcomes(
    results: Connection, process: Any, timeout: float, start: int
) -> Generator[Found, None, int | None]:
    """
    Yield the outcomes of a process.

    Returns the number of finished samples if the process ended early, else `None`.
    """
    index, text = 0, ""
    while results.poll(timeout):
        try:
            message = results.recv()
        except EOFError:
            process.join()
            code = process.exitcode
            yield index, text, CallOutcome("crash", f"the process ended with {code}")
            return start + 1
        if message is None:
            return None
        if len(message) == 2:
            index, text = message
            continue
        start += 1
        yield message
    yield index, text, CallOutcome("hang", f"more than {timeout:g} s")
    return start + 1
