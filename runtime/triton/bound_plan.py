"""
Launch of Triton kernels: plan bound to a stream of a GPU, with its kernels compiled and
the addresses of its memory known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from threading import RLock
from typing import NamedTuple

import torch

from tlf.runtime.triton.argument_guard import ArgumentGuard
from tlf.runtime.triton.device_tensors import (
    Array,
    allocate_device_buffer,
    allocate_temporaries,
)
from tlf.runtime.triton.graph_cache import Addresses, GraphCache
from tlf.runtime.triton.kernel_cache import limit_kernel_cache
from tlf.runtime.triton.kernel_launcher import KernelLauncher, Run
from tlf.runtime.triton.launch_graph import LaunchGraph
from tlf.runtime.triton.launch_plan import (
    HostLoop,
    Launch,
    Plan,
    find_buffer_launches,
    find_described_buffers,
)
from tlf.runtime.triton.parallel_compilation import compile_in_threads
from tlf.runtime.triton.requested_kernel import ALIGNMENT
from tlf.runtime.triton.runtime_errors import make_kernel_error

MAX_CAPTURED_LAUNCHES = 2000
"""Maximum number of launches in a graph."""


class _UnrolledLaunch(NamedTuple):
    """Launch of a kernel on buffers by name, and on integers."""

    kernel: str
    arguments: tuple[str | int, ...]


class _BoundLaunch(NamedTuple):
    """Launch of a compiled kernel; arguments are indices into the values of a call."""

    kernel: str
    run: Run
    arguments: tuple[int, ...]


class BoundPlan:
    """
    Plan on one stream. The temporaries belong to the stream, and the launches of a call
    are enqueued together, so that calls on several streams or threads do not mix. Calls
    that the caller captures have temporaries of their own, as graphs that are captured
    on one stream may be replayed on several.
    """

    def __init__(
        self,
        plan: Plan,
        launchers: Mapping[str, KernelLauncher],
        constants: Mapping[str, torch.Tensor],
        stream: torch.cuda.Stream,
    ) -> None:
        self._plan = plan
        self._launchers = launchers
        self._constants = constants
        self._stream = stream
        self._launches = [*_unroll_launches(plan.steps, {})]
        self._buffer_launches = find_buffer_launches(plan)
        accessed = {each for launch in self._launches for each in launch.arguments}
        self._argument_indices = [
            index for index, name in enumerate(plan.arguments) if name in accessed
        ]
        """Indices of the arguments that launches access; others are ignored."""
        names = [plan.arguments[index] for index in self._argument_indices]
        buffers = {each.name: each for each in plan.buffers}
        self._guard = ArgumentGuard(
            [buffers[each] for each in names],
            stream.device,
            find_described_buffers(plan),
        )
        self._results = [buffers[each] for each in plan.results]
        self._names = (*names, *plan.results)
        self._numbers = sorted(each for each in accessed if isinstance(each, int))
        temporaries = (each.name for each in plan.buffers if each.kind == "temporary")
        slots = (*self._names, *constants, *temporaries, *self._numbers)
        self._index_by_slot = {slot: index for index, slot in enumerate(slots)}
        self._bound: dict[tuple[bool, ...], Sequence[_BoundLaunch]] = {}
        """Launches by the alignments of arguments and results."""
        self._graphs = GraphCache(plan.function)
        self._lock = RLock()

    def run(self, values: Sequence[Array], uses_graphs: bool) -> list[torch.Tensor]:
        """
        Enqueue all launches on the stream, which must be the current one, and return
        the new results. With `uses_graphs`, launches that repeat with the same
        addresses are a CUDA graph. Raises `GuardError` and `KernelError`.
        """
        accessed = [values[index] for index in self._argument_indices]
        arguments = self._guard.upload_arguments(accessed)
        device = self._stream.device
        results = [allocate_device_buffer(each, device) for each in self._results]
        tensors = arguments + results
        addresses = tuple([each.data_ptr() for each in tensors])
        with self._lock:
            if torch.cuda.is_current_stream_capturing():
                self._launch_all(addresses, tensors, self._allocate_fixed())
            elif not uses_graphs:
                self._launch_all(addresses, tensors, self._fixed)
            elif not self._graphs.replay_graph(addresses, self._stream.cuda_stream):
                launch_on = self._launch_all(addresses, tensors, self._fixed)
                self._capture_if_repeated(addresses, launch_on)
        return results

    @cached_property
    def _fixed(self) -> Mapping[str, torch.Tensor]:
        """Constants and temporaries of the stream, by name."""
        return self._allocate_fixed()

    def _allocate_fixed(self) -> Mapping[str, torch.Tensor]:
        """Return the constants, and new temporaries."""
        temporaries = allocate_temporaries(self._plan, self._stream.device)
        return {**self._constants, **temporaries}

    def _launch_all(
        self,
        addresses: Addresses,
        tensors: Sequence[torch.Tensor],
        fixed: Mapping[str, torch.Tensor],
    ) -> Callable[[int], None]:
        """
        Enqueue all launches on the stream. Returns a function that enqueues them on a
        stream with some handle.
        """
        launches = self._bind_launches(addresses, tensors, fixed)
        fixed_addresses = (each.data_ptr() for each in fixed.values())
        values = (*addresses, *fixed_addresses, *self._numbers)
        _launch_each(launches, values, self._stream.cuda_stream)
        return partial(_launch_each, launches, values)

    def _bind_launches(
        self,
        addresses: Addresses,
        tensors: Sequence[torch.Tensor],
        fixed: Mapping[str, torch.Tensor],
    ) -> Sequence[_BoundLaunch]:
        """
        Return the launches of kernels that are compiled for the alignments of tensors.
        """
        alignments = tuple([each % ALIGNMENT == 0 for each in addresses])
        if alignments not in self._bound:
            by_name = {**fixed, **dict(zip(self._names, tensors, strict=True))}
            self._compile_in_parallel(by_name)
            self._bound[alignments] = [
                self._bind_launch(launch, by_name) for launch in self._launches
            ]
        return self._bound[alignments]

    def _compile_in_parallel(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """
        Compile the kernels that are launched on buffers only, in threads. These wait
        for worker processes, if there are any.
        """

        def compile_one(launch: Launch) -> None:
            buffers = [tensors[name] for _, name in launch.arguments]
            with torch.cuda.device(self._stream.device):
                self._launchers[launch.kernel].compile_before_launch(buffers)

        compile_in_threads(compile_one, self._buffer_launches)
        limit_kernel_cache()

    def _bind_launch(
        self, launch: _UnrolledLaunch, tensors: Mapping[str, torch.Tensor]
    ) -> _BoundLaunch:
        """Return a launch of the kernel that is compiled for its arguments."""
        values = [
            each if isinstance(each, int) else tensors[each]
            for each in launch.arguments
        ]
        run = self._launchers[launch.kernel].bind(values)
        indices = tuple(self._index_by_slot[each] for each in launch.arguments)
        return _BoundLaunch(launch.kernel, run, indices)

    def _capture_if_repeated(
        self, addresses: Addresses, launch_on: Callable[[int], None]
    ) -> None:
        """Capture launches in a graph if they repeat with the same addresses."""
        if len(self._launches) <= MAX_CAPTURED_LAUNCHES:
            capture = partial(LaunchGraph, launch_on)
            self._graphs.capture_if_repeated(addresses, capture)


def _launch_each(
    launches: Sequence[_BoundLaunch], values: Sequence[int], stream: int
) -> None:
    """Enqueue launches on a stream, with the values that their arguments index."""
    for kernel, run, indices in launches:
        try:
            run(*[values[index] for index in indices], stream=stream)
        except Exception as error:
            raise make_kernel_error(kernel, error) from error


def _unroll_launches(
    steps: Sequence[Launch | HostLoop], indices: Mapping[str, int]
) -> Iterator[_UnrolledLaunch]:
    """Yield the launches of steps in order; `indices` has the host loop indices."""
    for step in steps:
        if isinstance(step, HostLoop):
            for index in range(step.lower, step.upper, step.step):
                yield from _unroll_launches(step.steps, {**indices, step.index: index})
            continue
        arguments = (
            name if kind == "buffer" else indices[name] for kind, name in step.arguments
        )
        yield _UnrolledLaunch(step.kernel, tuple(arguments))
