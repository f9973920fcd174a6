"""Plans run where their tensors are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch

from tlf.runtime.triton import executable_plan
from tlf.runtime.triton.device_tensors import common_device
from tlf.runtime.triton.executable_plan import Executable
from tlf.runtime.triton.launch_plan import Plan
from tlf.runtime.triton.runtime_errors import GuardError

FIRST, SECOND, HOST = (torch.device(each) for each in ("cuda:0", "cuda:1", "cpu"))


def test_common_device():
    assert common_device([], FIRST) == FIRST
    assert common_device([HOST], FIRST) == FIRST
    assert common_device([HOST, SECOND, SECOND], FIRST) == SECOND
    assert common_device([SECOND], HOST) == HOST
    with pytest.raises(GuardError, match=r"on one device, got cuda:0, cuda:1"):
        common_device([FIRST, SECOND], FIRST)


class Stream(NamedTuple):
    """Stand-in for a stream."""

    device: torch.device
    cuda_stream: int


@dataclass
class Machine:
    """Stand-in for two GPUs, one of which is current, each with a current stream."""

    current: int
    streams: list[int]


class Bound:
    """Stand-in for a plan on a stream, which returns the stream."""

    def __init__(
        self, plan: Plan, launchers: Any, constants: Any, stream: Stream
    ) -> None:
        self.stream = stream

    def run(self, *arguments: object) -> Sequence[Stream]:
        return [self.stream]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine(0, [0, 0])

    def make_current(device: torch.device) -> AbstractContextManager[None]:
        assert device.index != found.current
        return nullcontext()

    def stream_of(device: torch.device) -> Stream:
        return Stream(device, found.streams[device.index])

    monkeypatch.setattr(torch.cuda, "current_device", lambda: found.current)
    monkeypatch.setattr(torch.cuda, "device", make_current)
    monkeypatch.setattr(torch.cuda, "current_stream", stream_of)
    monkeypatch.setattr(executable_plan, "BoundPlan", Bound)
    driver = SimpleNamespace(get_current_stream=found.streams.__getitem__)
    triton = SimpleNamespace(driver=SimpleNamespace(active=driver))

    def import_triton(name: str) -> SimpleNamespace:
        assert name == "triton.runtime"
        return triton

    monkeypatch.setattr(executable_plan, "import_module", import_triton)
    return found


def test_plans_are_bound_once_to_each_stream_of_each_device(machine: Machine):
    executable = Executable(Plan("f", (), (), 0, (), ("y",), ()), "cpu")
    nothing = executable.fix_arguments([])

    def run(device: torch.device) -> Any:
        (stream,) = executable.run_fixed(nothing, (), (), True, device)
        return stream

    first, second = run(FIRST), run(SECOND)
    assert (first.device, second.device) == (FIRST, SECOND)
    machine.streams[1] = 7
    machine.current = 1
    other = run(SECOND)
    assert other == Stream(SECOND, 7)
    machine.streams[1] = 0
    assert run(SECOND) is second
    assert run(FIRST) is first
