"""Plans bound to a stream, on memory of the CPU: kernels are functions of addresses."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, cast

import numpy as np
import pytest
import torch

from tlf.runtime.triton import accepted_arguments, bound_plan
from tlf.runtime.triton.argument_guard import ArgumentGuard
from tlf.runtime.triton.bound_plan import BoundPlan
from tlf.runtime.triton.device_tensors import allocate_temporaries
from tlf.runtime.triton.fixed_arguments import CallArguments, FixedArguments
from tlf.runtime.triton.kernel_launcher import KernelLauncher
from tlf.runtime.triton.launch_plan import (
    DeviceBuffer,
    HostLoop,
    Launch,
    Plan,
)
from tlf.runtime.triton.runtime_errors import GuardError, KernelError

CPU = torch.device("cpu")

SIZE = 4

NOTHING_FIXED = FixedArguments(())

HANDLE = 7
"""Handle of the stream."""


def memory_at(address: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_float * SIZE).from_address(address))


@dataclass
class Stream:
    """Stand-in for a stream."""

    device: torch.device = CPU
    cuda_stream: int = HANDLE


class Launcher:
    """Stand-in for a launcher, which notes what it is bound to and what it launches."""

    def __init__(self, compute: Callable[..., None]) -> None:
        self.compute = compute
        self.bound: list[tuple[object, ...]] = []
        self.launches = 0

    def bind(self, arguments: Sequence[torch.Tensor | int]) -> Callable[..., None]:
        self.bound.append(tuple(arguments))

        def run(*values: int, stream: int) -> None:
            assert stream == HANDLE
            self.launches += 1
            self.compute(*values)

        return run

    def compile_before_launch(self, buffers: Sequence[torch.Tensor]) -> None:
        self.bind(buffers)


def add(x: int, y: int, z: int) -> None:
    memory_at(z)[:] = memory_at(x) + memory_at(y)


def add_number(x: int, number: int) -> None:
    memory_at(x)[:] += number


def buffer(name: str, kind: str, offset: int = 0) -> DeviceBuffer:
    return DeviceBuffer(name, kind, "f32", (SIZE,), offset=offset)


PLAN = Plan(
    "f",
    (),
    (
        buffer("unused", "argument"),
        buffer("x", "argument"),
        buffer("c", "constant"),
        buffer("t", "temporary", 16),
        buffer("y", "result"),
    ),
    32,
    ("unused", "x"),
    ("y",),
    (
        Launch("add", (("buffer", "x"), ("buffer", "c"), ("buffer", "t"))),
        HostLoop("h", 1, 6, 2, (Launch("number", (("buffer", "t"), ("index", "h"))),)),
        Launch("add", (("buffer", "t"), ("buffer", "x"), ("buffer", "y"))),
    ),
)
"""Computes 2 x + c + 1 + 3 + 5."""


@dataclass
class Recorded:
    """Stand-in for a CUDA graph."""

    launch: Callable[[int], object]
    replays: int = 0

    def replay(self, stream: int) -> None:
        self.replays += 1
        self.launch(stream)


class Bound:
    """A bound plan with its launchers, and the graphs that it captures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, plan: Plan = PLAN) -> None:
        self.graphs: list[Recorded] = []
        monkeypatch.setattr(torch.cuda, "device", nullcontext)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", bool)
        monkeypatch.setattr(bound_plan, "LaunchGraph", self.capture)
        self.launchers = {"add": Launcher(add), "number": Launcher(add_number)}
        constants = {"c": torch.full((SIZE,), 100.0)}
        self.plan = BoundPlan(
            plan,
            cast(Mapping[str, KernelLauncher], self.launchers),
            constants,
            cast(torch.cuda.Stream, Stream()),
        )

    def capture(self, launch: Callable[[int], object]) -> Recorded:
        self.graphs.append(Recorded(launch))
        return self.graphs[-1]

    def arguments(self, x: torch.Tensor) -> CallArguments:
        """Return the arguments of a call, none of them fixed."""
        return CallArguments(NOTHING_FIXED, (), [torch.zeros(1), x])

    def check(self, x: torch.Tensor, uses_graphs: bool = True) -> torch.Tensor:
        """Run the plan, and check its result."""
        (y,) = self.plan.run(self.arguments(x), uses_graphs)
        assert torch.equal(y, 2 * x + 109)
        return y


def test_launches_have_buffers_and_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = Bound(monkeypatch)
    bound.check(torch.arange(4.0))
    assert [each[1] for each in bound.launchers["number"].bound] == [1, 3, 5]
    assert {name: each.launches for name, each in bound.launchers.items()} == {
        "add": 2,
        "number": 3,
    }


def test_kernels_are_bound_once_for_each_alignment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound, x = Bound(monkeypatch), torch.arange(8.0)
    count = len(bound.launchers["add"].bound) - 1
    for part in (x[:4], x[4:], x[:4]):
        bound.check(part.contiguous())
    once = len(bound.launchers["add"].bound)
    assert once > count
    bound.check(x[1:5])
    assert len(bound.launchers["add"].bound) == 2 * once
    bound.check(x[2:6])
    assert len(bound.launchers["add"].bound) == 2 * once


def test_equal_addresses_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    results = [torch.empty(SIZE), torch.empty(SIZE)]

    def allocate(buffer: DeviceBuffer, device: torch.device) -> torch.Tensor:
        return results[0]

    monkeypatch.setattr(bound_plan, "allocate_device_buffer", allocate)
    for number in range(5):
        x.fill_(number)
        bound.check(x)
    (graph,) = bound.graphs
    assert graph.replays == 3
    # Neither other results nor other arguments are those of the graph.
    results.reverse()
    bound.check(x)
    bound.check(torch.ones(4))
    assert graph.replays == 3


def test_graphs_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    for _ in range(4):
        bound.check(x, uses_graphs=False)
    assert not bound.graphs


def test_nothing_is_captured_inside_of_a_capture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    for _ in range(4):
        bound.check(x)
    assert not bound.graphs


def test_captures_of_the_caller_have_temporaries_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    temporaries: list[int] = []
    kept: list[object] = []

    def allocate(plan: Plan, device: torch.device) -> Mapping[str, torch.Tensor]:
        kept.append(found := allocate_temporaries(plan, device))
        return found

    def note_and_add(at: int, number: int) -> None:
        temporaries.append(at)
        add_number(at, number)

    monkeypatch.setattr(bound_plan, "allocate_temporaries", allocate)
    bound.launchers["number"].compute = note_and_add
    for is_capturing in (True, False, True, False, True):
        monkeypatch.setattr(
            torch.cuda, "is_current_stream_capturing", lambda value=is_capturing: value
        )
        bound.check(x)
    captured = {*temporaries[:3], *temporaries[6:9], *temporaries[12:]}
    (plain,) = {*temporaries[3:6], *temporaries[9:12]}
    assert len(captured) == 3
    assert plain not in captured


def test_temporaries_need_not_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    allocated: list[weakref.ref[torch.Tensor]] = []

    def allocate(plan: Plan, device: torch.device) -> Mapping[str, torch.Tensor]:
        found = allocate_temporaries(plan, device)
        allocated.extend(map(weakref.ref, found.values()))
        return found

    monkeypatch.setattr(bound_plan, "allocate_temporaries", allocate)
    for keeps_temporaries in (False, True):
        allocated.clear()
        for _ in range(4):
            (y,) = bound.plan.run(bound.arguments(x), True, keeps_temporaries)
            assert torch.equal(y, 2 * x + 109)
        for each in bound.launchers.values():
            each.bound.clear()
        gc.collect()
        kept = [each for each in allocated if each() is not None]
        assert len(kept) == keeps_temporaries
    assert len(allocated) == 1


def test_calls_are_right_if_no_graph_can_be_captured(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    result = torch.empty(SIZE)

    def allocate(buffer: DeviceBuffer, device: torch.device) -> torch.Tensor:
        return result

    def fail(launch: Callable[[int], object]) -> Recorded:
        raise RuntimeError("the stream is captured")

    monkeypatch.setattr(bound_plan, "allocate_device_buffer", allocate)
    monkeypatch.setattr(bound_plan, "LaunchGraph", fail)
    for number in range(10):
        x.fill_(number)
        bound.check(x)
    assert [each.getMessage() for each in caplog.records] == [
        "`f` is launched without a CUDA graph: RuntimeError: the stream is captured"
    ]


def test_temporaries_are_in_the_memory_of_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buffers = [
        replace(each, offset=0, result="y") if each.name == "t" else each
        for each in PLAN.buffers
    ]
    plan = replace(PLAN, buffers=tuple(buffers), arena_bytes=0)
    bound, x = Bound(monkeypatch, plan), torch.arange(4.0)
    for uses_graphs in (False, True, True, True):
        y = bound.check(x, uses_graphs=uses_graphs)
        for launcher in bound.launchers.values():
            tensors = [each for each in launcher.bound[0] if torch.is_tensor(each)]
            assert all(each.shape == (SIZE,) for each in tensors)
        assert y.untyped_storage().nbytes() == 4 * SIZE
    assert bound.plan.kept_bytes == 0


def test_results_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    first = bound.check(x)
    copy = first.clone()
    bound.check(x + 1)
    assert torch.equal(first, copy)


def test_arguments_and_results_have_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    square = {"shape": (2, 2), "strides": (1, 2)}
    buffers = [
        replace(each, **square) if each.name in "xy" else each for each in PLAN.buffers
    ]
    bound = Bound(monkeypatch, replace(PLAN, buffers=tuple(buffers)))
    x = torch.arange(4.0).view(2, 2).t()
    for _ in range(4):
        assert bound.check(x).stride() == (1, 2)
    with pytest.raises(GuardError, match=r"'x': expected strides \(1, 2\), got"):
        bound.check(x.contiguous())


def test_only_accessed_arguments_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = Bound(monkeypatch)
    with pytest.raises(GuardError, match="argument 'x': expected shape"):
        bound.plan.run(bound.arguments(torch.zeros(3)), True)


def test_errors_name_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = Bound(monkeypatch)

    def fail(*values: int) -> None:
        raise RuntimeError("launch failed")

    bound.launchers["number"].compute = fail
    with pytest.raises(KernelError, match="kernel 'number': RuntimeError: launch fail"):
        bound.check(torch.zeros(4))


def test_threads_do_not_mix_their_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = Bound(monkeypatch)
    inputs = [torch.full((SIZE,), float(number)) for number in range(4)]
    right: list[bool] = []

    def call(x: torch.Tensor) -> None:
        for _ in range(50):
            (y,) = bound.plan.run(bound.arguments(x), True)
            right.append(torch.equal(y, 2 * x + 109))

    threads = [Thread(target=call, args=(each,)) for each in inputs]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert right == 200 * [True]


def fix_x(bound: Bound, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a check of calls with `x` fixed, whose results have one address."""
    result = torch.empty(SIZE)

    def allocate(buffer: DeviceBuffer, device: torch.device) -> torch.Tensor:
        return result

    def check(fixed: FixedArguments, x: torch.Tensor) -> None:
        arguments = CallArguments(fixed, [x], [torch.zeros(1)])
        (y,) = bound.plan.run(arguments, True)
        assert torch.equal(y, 2 * x + 109)

    monkeypatch.setattr(bound_plan, "allocate_device_buffer", allocate)
    return check


def test_fixed_arguments_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    check, fixed = fix_x(bound, monkeypatch), FixedArguments((1,))
    checked: list[object] = []
    inner = ArgumentGuard.upload_arguments

    def note(self: ArgumentGuard, values: Sequence[Any]) -> list[torch.Tensor]:
        checked.extend(values)
        return inner(self, values)

    monkeypatch.setattr(ArgumentGuard, "upload_arguments", note)
    for number in range(5):
        x.fill_(number)
        check(fixed, x)
    assert len(checked) == 1
    assert [each.replays for each in bound.graphs] == [3]
    with pytest.raises(GuardError, match="argument 'x': expected shape"):
        check(FixedArguments((1,)), torch.zeros(3))


def test_other_fixed_arguments_have_other_graphs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    check, fixed = fix_x(bound, monkeypatch), FixedArguments((1,))
    for _ in range(3):
        check(fixed, x)
    # The same addresses are those of the same graph.
    check(FixedArguments((1,)), x)
    assert [each.replays for each in bound.graphs] == [2]
    other, fixed = torch.ones(4), FixedArguments((1,))
    for _ in range(3):
        check(fixed, other)
    assert [each.replays for each in bound.graphs] == [2, 1]
    # Weights that alternate keep their graphs.
    for _ in range(2):
        check(FixedArguments((1,)), x)
        check(FixedArguments((1,)), other)
    assert [each.replays for each in bound.graphs] == [4, 3]


def test_fixed_arguments_of_captures_are_kept_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound = Bound(monkeypatch)
    check = fix_x(bound, monkeypatch)
    for is_capturing in (False, True):
        x = torch.arange(4.0)
        monkeypatch.setattr(
            torch.cuda, "is_current_stream_capturing", lambda value=is_capturing: value
        )
        check(FixedArguments((1,)), x)
        seen = weakref.ref(x)
        del x
        for each in bound.launchers.values():
            each.bound.clear()
        gc.collect()
        assert (seen() is not None) == is_capturing


def test_memory_of_fixed_arguments_is_used_on_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other streams may have allocated it, and free it when it is replaced."""
    used: list[tuple[torch.Tensor, object]] = []

    def note(tensors: Sequence[torch.Tensor], stream: object) -> None:
        used.extend((each, stream) for each in tensors)

    monkeypatch.setattr(accepted_arguments, "record_use", note)
    bound, x = Bound(monkeypatch), torch.arange(4.0)
    check, fixed = fix_x(bound, monkeypatch), FixedArguments((1,))
    for _ in range(2):
        check(fixed, x)
    ((tensor, stream),) = used
    assert tensor is x
    assert stream == Stream()
