"""CUDA graphs of launches, on a stand-in for the CUDA runtime."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import pytest

from tlf.runtime.triton import launch_graph
from tlf.runtime.triton.launch_graph import LaunchGraph
from tlf.runtime.triton.runtime_errors import CaptureError


class Error(IntEnum):
    cudaSuccess = 0
    cudaErrorMemoryAllocation = 2
    cudaErrorStreamCaptureInvalidated = 901


class Mode(IntEnum):
    cudaStreamCaptureModeGlobal = 0
    cudaStreamCaptureModeThreadLocal = 1
    cudaStreamCaptureModeRelaxed = 2


SUCCESS = Error.cudaSuccess


@dataclass
class Runtime:
    """Stand-in for the CUDA runtime: what exists, what runs, and which calls fail."""

    failing: dict[str, Error] = field(default_factory=dict[str, Error])
    alive: set[int] = field(default_factory=set[int])
    mode: Mode = Mode.cudaStreamCaptureModeGlobal
    capturing: list[int] = field(default_factory=list[int])
    launched: list[int] = field(default_factory=list[int])
    started: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    created: int = 10
    errors_read: int = 0

    cudaStreamNonBlocking = 1
    cudaStreamCaptureMode = Mode

    def _create(self, name: str) -> tuple[Error, int]:
        if (error := self.failing.get(name, SUCCESS)) is not SUCCESS:
            return error, 0
        self.created += 1
        self.alive.add(self.created)
        return SUCCESS, self.created

    def _destroy(self, handle: int) -> tuple[Error]:
        self.alive.remove(handle)
        return (SUCCESS,)

    cudaStreamDestroy = cudaGraphDestroy = cudaGraphExecDestroy = _destroy

    def cudaGetLastError(self) -> tuple[Error]:
        self.errors_read += 1
        return (SUCCESS,)

    def cudaThreadExchangeStreamCaptureMode(self, mode: Mode) -> tuple[Error, Mode]:
        self.mode, before = mode, self.mode
        return SUCCESS, before

    def cudaStreamCreateWithFlags(self, flags: int) -> tuple[Error, int]:
        assert flags == self.cudaStreamNonBlocking
        return self._create("stream")

    def cudaStreamBeginCapture(self, stream: int, mode: Mode) -> tuple[Error]:
        assert mode == self.mode == Mode.cudaStreamCaptureModeRelaxed
        if (error := self.failing.get("begin", SUCCESS)) is SUCCESS:
            self.capturing.append(stream)
        return (error,)

    def cudaStreamEndCapture(self, stream: int) -> tuple[Error, int]:
        self.capturing.remove(stream)
        return self._create("end")

    def cudaGraphInstantiate(self, graph: int, flags: int) -> tuple[Error, int]:
        assert graph in self.alive
        return self._create("instantiate")

    def cudaGraphLaunch(self, executable: int, stream: int) -> tuple[Error]:
        assert executable in self.alive
        self.started.append((executable, stream))
        return (self.failing.get("launch", SUCCESS),)

    def launch(self, stream: int) -> None:
        """Launch something on the stream that is captured."""
        assert self.capturing == [stream]
        self.launched.append(stream)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    found = Runtime()
    monkeypatch.setattr(launch_graph, "_cuda_runtime", lambda: found)
    return found


def test_launches_are_captured_and_replayed(runtime: Runtime):
    graph = LaunchGraph(runtime.launch)
    assert len(runtime.launched) == 1
    (executable,) = runtime.alive
    graph.replay(7)
    graph.replay(0)
    assert runtime.started == [(executable, 7), (executable, 0)]
    assert runtime.mode is Mode.cudaStreamCaptureModeGlobal


def test_graphs_are_freed(runtime: Runtime):
    graph = LaunchGraph(runtime.launch)
    assert runtime.alive
    del graph
    gc.collect()
    assert not runtime.alive


@pytest.mark.parametrize("step", ["stream", "begin", "end", "instantiate"])
def test_captures_that_fail_leave_nothing(step: str, runtime: Runtime):
    runtime.failing[step] = Error.cudaErrorStreamCaptureInvalidated
    with pytest.raises(CaptureError, match=r"success, got .*CaptureInvalidated"):
        LaunchGraph(runtime.launch)
    assert (runtime.alive, runtime.capturing) == (set(), [])
    assert runtime.mode is Mode.cudaStreamCaptureModeGlobal
    assert runtime.errors_read == 1


@pytest.mark.parametrize("is_invalidated", [False, True])
def test_launches_that_fail_leave_nothing(is_invalidated: bool, runtime: Runtime):
    def fail(stream: int) -> None:
        runtime.launch(stream)
        raise ValueError("not now")

    if is_invalidated:
        runtime.failing["end"] = Error.cudaErrorStreamCaptureInvalidated
    with pytest.raises(ValueError, match="not now"):
        LaunchGraph(fail)
    assert (runtime.alive, runtime.capturing) == (set(), [])


def test_replays_that_fail_are_errors(runtime: Runtime):
    graph = LaunchGraph(runtime.launch)
    runtime.failing["launch"] = Error.cudaErrorMemoryAllocation
    with pytest.raises(CaptureError, match="expected success, got cudaErrorMemory"):
        graph.replay(7)


def test_missing_bindings_are_an_error_of_the_capture(monkeypatch: pytest.MonkeyPatch):
    missing: Any = None
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", missing)
    with pytest.raises(ImportError):
        LaunchGraph(lambda stream: None)
