"""The number of worker processes, and the conditions under which they start."""

from __future__ import annotations

import os

import pytest

from tlf.runtime.triton import kernel_prefetch
from tlf.runtime.triton.kernel_prefetch import start_workers_for_gpu
from tlf.runtime.triton.runtime_errors import UnavailableError
from tlf.runtime.triton.worker_pool import POOL
from tlf.runtime.triton.worker_settings import MAX_WORKERS, count_workers

VARIABLE = "TLF_COMPILE_WORKERS"


@pytest.mark.parametrize(
    ("processors", "setting", "expected"),
    [
        (1, None, 0),
        (2, None, 2),
        (MAX_WORKERS + 1, None, MAX_WORKERS),
        (1, "3", 3),
        (8, "0", 0),
        (2, "many", 2),
        (2, "-1", 2),
    ],
)
def test_number_of_workers(
    processors: int,
    setting: str | None,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    def get_processors(process: int) -> set[int]:
        return set(range(processors))

    monkeypatch.setattr(os, "sched_getaffinity", get_processors)
    monkeypatch.delenv(VARIABLE)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    assert count_workers() == expected
    is_wrong = setting in ("many", "-1")
    assert (f"expected {VARIABLE} to be a number, got" in caplog.text) == is_wrong


@pytest.mark.parametrize(
    ("workers", "mode", "is_started"),
    [("1", False, True), ("0", False, False), ("1", True, False), ("1", None, False)],
)
def test_workers_start_for_a_gpu(
    workers: str, mode: bool | None, is_started: bool, monkeypatch: pytest.MonkeyPatch
):
    """Not if kernels are interpreted, or PyTorch is missing."""
    started: list[bool] = []

    def choose() -> bool:
        if mode is None:
            raise UnavailableError
        return mode

    monkeypatch.setenv(VARIABLE, workers)
    monkeypatch.setattr(kernel_prefetch, "choose_interpreter_mode", choose)
    monkeypatch.setattr(POOL, "start", lambda: started.append(True))
    start_workers_for_gpu()
    assert started == [True] * is_started
