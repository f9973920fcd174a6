"""
Launch of Triton kernels: CUDA graph of launches, captured through the CUDA runtime.

Graphs of PyTorch change the state of its allocator and of its random numbers while they
are captured, which other threads notice, and keep it changed if a capture fails. The
launches of a plan need neither. Their stream is of the capture alone: streams of
PyTorch are from a pool, so that another thread may use the same one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from typing import Any

from tlf.runtime.triton.runtime_errors import CaptureError


class LaunchGraph:
    """Launches that were captured on the current device, and are started together."""

    def __init__(self, launch: Callable[[int], object]) -> None:
        """
        Capture the launches on the stream that `launch` gets the handle of. They do not
        run. The kernels must be loaded. Raises the errors of `launch`, and
        `CaptureError`.
        """
        runtime = _cuda_runtime()
        with _allow_all_calls(), _create_stream() as stream:
            graph = _capture_graph(launch, stream)
            try:
                executable = _check_call(runtime.cudaGraphInstantiate, graph, 0)
            finally:
                runtime.cudaGraphDestroy(graph)
        # A graph that still runs is freed when it is complete.
        destroy = weakref.finalize(self, runtime.cudaGraphExecDestroy, executable)
        destroy.atexit = False
        self._replay = partial(_check_call, runtime.cudaGraphLaunch, executable)

    def replay(self, stream: int) -> None:
        """
        Start the launches on a stream of their device. Raises `CaptureError`, after
        which nothing was started.
        """
        self._replay(stream)


@cache
def _cuda_runtime() -> Any:
    """Return the bindings of the CUDA runtime, which PyTorch requires on GPUs."""
    return import_module("cuda.bindings.runtime")


def _check_call(function: Callable[..., tuple[Any, ...]], *arguments: object) -> Any:
    """Call a function of the CUDA runtime, and return its result, if it has one."""
    error, *results = function(*arguments)
    if int(error) != 0:
        # Errors stay until they are read, by whatever checks for errors next.
        _cuda_runtime().cudaGetLastError()
        raise CaptureError(f"{function.__name__}: expected success, got {error.name}")
    return results[0] if results else None


@contextmanager
def _allow_all_calls() -> Generator[None]:
    """Let captures of other threads neither forbid calls nor end by them."""
    runtime = _cuda_runtime()
    exchange = runtime.cudaThreadExchangeStreamCaptureMode
    mode = _check_call(exchange, _relaxed_mode())
    try:
        yield
    finally:
        exchange(mode)


def _relaxed_mode() -> Any:
    """Return the mode of captures in which calls of any thread are allowed."""
    return _cuda_runtime().cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed


@contextmanager
def _create_stream() -> Generator[int]:
    """Provide the handle of a new stream, on which nothing else runs."""
    runtime = _cuda_runtime()
    flags = runtime.cudaStreamNonBlocking
    stream = _check_call(runtime.cudaStreamCreateWithFlags, flags)
    try:
        yield int(stream)
    finally:
        runtime.cudaStreamDestroy(stream)


def _capture_graph(launch: Callable[[int], object], stream: int) -> Any:
    """Return a graph of launches on a stream; other threads may use the device."""
    runtime = _cuda_runtime()
    _check_call(runtime.cudaStreamBeginCapture, stream, _relaxed_mode())
    try:
        launch(stream)
    except BaseException:
        with suppress(CaptureError):
            runtime.cudaGraphDestroy(_check_call(runtime.cudaStreamEndCapture, stream))
        raise
    return _check_call(runtime.cudaStreamEndCapture, stream)
