"""
Launch of Triton kernels: plan bound to a stream of a GPU, with its kernels compiled and
the addresses of its memory known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import count
from threading import RLock
from typing import NamedTuple

import torch

from tlf.runtime.triton.accepted_arguments import AcceptedArguments
from tlf.runtime.triton.device_tensors import (
    allocate_device_buffer,
    allocate_temporaries,
    temporaries_in_results,
    view_temporaries_in_results,
)
from tlf.runtime.triton.fixed_arguments import CallArguments, FixedArguments
from tlf.runtime.triton.graph_cache import MAX_SEEN, Addresses, GraphCache
from tlf.runtime.triton.kernel_cache import limit_kernel_cache
from tlf.runtime.triton.kernel_launcher import KernelLauncher, Run
from tlf.runtime.triton.launch_graph import LaunchGraph
from tlf.runtime.triton.launch_plan import (
    HostLoop,
    Launch,
    Plan,
    find_accessed_buffers,
    find_buffer_launches,
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
        accessed = find_accessed_buffers(plan)
        self._accessed = [name for name in plan.arguments if name in accessed]
        """Arguments that launches access; others are ignored."""
        buffers = {each.name: each for each in plan.buffers}
        self._results = [buffers[each] for each in plan.results]
        values = {each for launch in self._launches for each in launch.arguments}
        self._numbers = sorted(each for each in values if isinstance(each, int))
        self._names = (*self._accessed, *plan.results)
        self._shared = [
            (self._names.index(result), each)
            for each, result in temporaries_in_results(plan)
        ]
        """Temporaries in results, with the index of the result in the names."""
        self._index_by_slot = self._number_slots()
        self._bound: dict[tuple[bool, ...], Sequence[_BoundLaunch]] = {}
        """Launches by the alignments of arguments and results."""
        self._accepted: tuple[int, AcceptedArguments] | None = None
        self._numbers_by_addresses = OrderedDict[Addresses, int]()
        """Numbers that stand for the addresses of fixed arguments in keys of graphs."""
        self._counter = count()
        self._captured: dict[FixedArguments, Mapping[str, torch.Tensor]] = {}
        """Fixed arguments that graphs of the caller access, which are kept alive."""
        self._graphs = GraphCache(plan.function)
        self._lock = RLock()

    def _number_slots(self) -> Mapping[str | int, int]:
        """Return the index of each buffer, by name, and number of a launch."""
        shared = [each.name for _, each in self._shared]
        temporaries = [
            each.name for each in self._plan.buffers if each.kind == "temporary"
        ]
        in_arena = (each for each in temporaries if each not in shared)
        slots = (*self._names, *self._constants, *in_arena, *shared, *self._numbers)
        return {slot: index for index, slot in enumerate(slots)}

    def run(
        self,
        arguments: CallArguments,
        uses_graphs: bool,
        keeps_temporaries: bool = True,
    ) -> list[torch.Tensor]:
        """
        Enqueue all launches on the stream, which must be the current one, and return
        the new results. With `uses_graphs`, launches that repeat with the same
        addresses are a CUDA graph, if the temporaries are kept for further calls.
        Raises `GuardError` and `KernelError`.
        """
        number, accepted = self._accept_fixed(arguments)
        others = accepted.upload_others(arguments)
        device = self._stream.device
        results = [allocate_device_buffer(each, device) for each in self._results]
        key = (number, *[each.data_ptr() for each in (*others, *results)])
        with self._lock:
            is_capturing = torch.cuda.is_current_stream_capturing()
            is_kept = keeps_temporaries and not is_capturing
            if uses_graphs and is_kept:
                if self._graphs.replay_graph(key, self._stream.cuda_stream):
                    return results
            fixed = self._stream_memory if is_kept else self._allocate_fixed()
            tensors = accepted.order_tensors(arguments, others)
            launch_on = self._launch_all([*tensors, *results], fixed)
            if is_capturing:
                self._captured[arguments.fixed] = accepted.select_fixed(arguments)
            if uses_graphs and is_kept:
                self._capture_if_repeated(key, launch_on)
        return results

    def _accept_fixed(self, arguments: CallArguments) -> tuple[int, AcceptedArguments]:
        """
        Return the arguments with those checked that are fixed, and a number that stands
        for their addresses.
        """
        known = self._accepted
        if known is not None and known[1].fixed is arguments.fixed:
            return known
        accepted = AcceptedArguments(
            self._plan, self._accessed, self._stream, arguments
        )
        numbers = self._numbers_by_addresses
        with self._lock:
            if accepted.addresses not in numbers:
                numbers[accepted.addresses] = next(self._counter)
            numbers.move_to_end(accepted.addresses)
            if len(numbers) > MAX_SEEN:
                numbers.popitem(last=False)
            self._accepted = numbers[accepted.addresses], accepted
            return self._accepted

    @property
    def kept_bytes(self) -> int:
        """Bytes of temporaries that are kept for further calls on the stream."""
        return self._plan.arena_bytes if "_stream_memory" in self.__dict__ else 0

    @cached_property
    def _stream_memory(self) -> Mapping[str, torch.Tensor]:
        """Constants and temporaries of the stream, by name."""
        return self._allocate_fixed()

    def _allocate_fixed(self) -> Mapping[str, torch.Tensor]:
        """Return the constants, and new temporaries."""
        temporaries = allocate_temporaries(self._plan, self._stream.device)
        return {**self._constants, **temporaries}

    def _launch_all(
        self, tensors: Sequence[torch.Tensor], fixed: Mapping[str, torch.Tensor]
    ) -> Callable[[int], None]:
        """
        Enqueue all launches on the stream, for arguments and results in order. Returns
        a function that enqueues them on a stream with some handle.
        """
        addresses = [each.data_ptr() for each in tensors]
        launches = self._bind_launches(addresses, tensors, fixed)
        fixed_addresses = (each.data_ptr() for each in fixed.values())
        shared = (addresses[index] + each.offset for index, each in self._shared)
        values = (*addresses, *fixed_addresses, *shared, *self._numbers)
        _launch_each(launches, values, self._stream.cuda_stream)
        return partial(_launch_each, launches, values)

    def _bind_launches(
        self,
        addresses: Sequence[int],
        tensors: Sequence[torch.Tensor],
        fixed: Mapping[str, torch.Tensor],
    ) -> Sequence[_BoundLaunch]:
        """
        Return the launches of kernels that are compiled for the alignments of tensors.
        """
        alignments = tuple([each % ALIGNMENT == 0 for each in addresses])
        if alignments not in self._bound:
            passed = dict(zip(self._names, tensors, strict=True))
            shared = view_temporaries_in_results(self._plan, passed)
            by_name = {**fixed, **passed, **shared}
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
        self, key: Addresses, launch_on: Callable[[int], None]
    ) -> None:
        """Capture launches in a graph if they repeat with the same addresses."""
        if len(self._launches) <= MAX_CAPTURED_LAUNCHES:
            capture = partial(LaunchGraph, launch_on)
            self._graphs.capture_if_repeated(key, capture)


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
