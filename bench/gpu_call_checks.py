"""Checks of the calls of a compiled network on GPUs: values, concurrency and memory."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any, cast

import torch
from gpu_memory import MEGABYTE, measure_kept_memory, measure_peak
from torch_model import T

from tlf.compiler.api import torch_backend
from tlf.runtime.triton import bound_plan
from tlf.runtime.triton.launch_graph import LaunchGraph

Network = Callable[..., Any]

cuda: Any = torch.cuda

TOLERANCE = 0.05
"""Largest accepted difference, as a part of the largest value; the type is bf16."""

SAMPLES = 5
"""Number of times at which the memory of many calls is measured."""

GROWTH = {"requested": 0.0, "reserved": 0.0, "device": 40.0, "host": 8.0}
"""Largest accepted growth of memory during many calls, in MB."""

PEAK_SLACK = 1.0
"""Accepted difference of the peak memory, in MB, as memory is allocated in blocks."""


def change_values(arguments: Sequence[Any]) -> list[Any]:
    """Return new arguments with other values, in other memory."""
    return [
        each * 0.5 + 0.1
        if isinstance(each, torch.Tensor) and each.is_floating_point()
        else each.clone()
        if isinstance(each, torch.Tensor)
        else each
        for each in arguments
    ]


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference as a part of the largest expected value."""
    if isinstance(expected, (tuple, list)):
        pairs = zip(found, cast(Sequence[Any], expected), strict=True)
        return max((difference(one, other) for one, other in pairs), default=0.0)
    if not isinstance(expected, torch.Tensor):
        return 0.0
    if found.device != expected.device:
        raise AssertionError(f"expected a result on {expected.device}: {found.device}")
    scale = float(expected.abs().max()) or 1.0
    largest = float((found.float() - expected.float()).abs().max()) / scale
    return largest if largest == largest else float("inf")


class CallCheck:
    """Checks of the calls of one network, compiled and by PyTorch."""

    def __init__(self, network: Any, arguments: Sequence[Any]) -> None:
        self.network = network
        self.arguments = arguments
        self.device = next(network.parameters()).device
        self.kept_before = measure_kept_memory()
        self.compiled: Network = T.compile(network, backend=torch_backend.tlf)
        self.worst = 0.0

    def compare(self, found: Any, expected: Any) -> None:
        """Compare results. Raises `AssertionError` if they differ much."""
        found_difference = difference(found, expected)
        self.worst = max(self.worst, found_difference)
        if found_difference > TOLERANCE:
            raise AssertionError(f"expected equal values, got {found_difference:.2g}")

    def check_call(self, arguments: Sequence[Any]) -> None:
        """Compare one call with that of PyTorch."""
        self.compare(self.compiled(*arguments), self.network(*arguments))

    def check_addresses(self) -> None:
        """Call with equal inputs, with the results kept, and with other inputs."""
        kept = [self.compiled(*self.arguments) for _ in range(6)]
        expected = self.network(*self.arguments)
        for each in kept:
            self.compare(each, expected)
        inputs = [self.arguments, change_values(self.arguments)]
        for number in range(10):
            self.check_call(inputs[number % 2])
            self.check_call(change_values(inputs[number % 2]))

    def scale_weights(self, factor: float) -> None:
        """Write to all weights."""
        for each in self.network.parameters():
            each.mul_(factor)

    def check_weights(self) -> None:
        """Call after writes to weights, and after weights were replaced."""
        for factor in (0.5, 2.0):
            self.scale_weights(factor)
            self.check_call(self.arguments)
        for each in self.network.parameters():
            each.data = each.data.clone()
        for _ in range(4):
            self.check_call(self.arguments)

    def check_streams(self) -> None:
        """Call on several streams, whose work may overlap."""
        streams = [cuda.Stream(self.device) for _ in range(3)]
        inputs = [change_values(self.arguments) for _ in streams]
        cuda.synchronize(self.device)
        results: list[Any] = []
        for _ in range(4):
            for stream, each in zip(streams, inputs, strict=True):
                with cuda.stream(stream):
                    results.append(self.compiled(*each))
        cuda.synchronize(self.device)
        expected = [self.network(*each) for each in inputs] * 4
        for pair in zip(results, expected, strict=True):
            self.compare(*pair)

    def check_threads(self) -> None:
        """Call from several threads at a time."""
        call_in_threads([self, self, self], 20)

    def check_captures_beside_work(self) -> None:
        """
        Capture graphs while another thread allocates memory, draws random numbers and
        uses the default stream.
        """
        is_done = Event()

        def work() -> int:
            count = 0
            while not is_done.is_set():
                T.randn(1 << 18, device=self.device).sum().item()
                cuda.empty_cache()
                count += 1
            return count

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(work)
            try:
                for _ in range(12):
                    inputs = change_values(self.arguments)
                    for _ in range(4):
                        self.check_call(inputs)
            finally:
                is_done.set()
            assert other.result() > 0

    def check_failed_captures(self) -> None:
        """Call while no graph can be captured; nothing else is disturbed."""
        failures: list[int] = []

        def fail(launch: Callable[[int], object]) -> LaunchGraph:
            def launch_and_wait(stream: int) -> None:
                launch(stream)
                runtime = import_module("cuda.bindings.runtime")
                failures.append(int(runtime.cudaStreamSynchronize(stream)[0]))

            return LaunchGraph(launch_and_wait)

        setattr(bound_plan, "LaunchGraph", fail)
        try:
            for number in range(2):
                with cuda.stream(cuda.Stream(self.device)):
                    inputs = [change_values(self.arguments) for _ in range(number + 1)]
                    for each in inputs * 6:
                        self.check_call(each)
        finally:
            setattr(bound_plan, "LaunchGraph", LaunchGraph)
        assert failures, "expected captures"
        assert all(failures), "expected captures to fail"
        T.randn(8, device=self.device).sum().item()
        cuda.empty_cache()
        self.check_call(self.arguments)

    def check_graphs_of_the_caller(self) -> None:
        """Capture calls in two graphs, and replay these on two streams."""
        inputs = [change_values(self.arguments) for _ in range(2)]
        expected = [self.network(*each) for each in inputs]
        captured: list[tuple[Any, Any]] = []
        for each in inputs:
            with cuda.device(self.device):
                graph = cuda.CUDAGraph()
                with cuda.graph(graph):
                    captured.append((graph, self.compiled(*each)))
        cuda.synchronize(self.device)
        streams = [cuda.Stream(self.device) for _ in captured]
        for _ in range(8):
            for stream, (graph, _) in zip(streams, captured, strict=True):
                with cuda.stream(stream):
                    graph.replay()
            self.compiled(*inputs[0])
        cuda.synchronize(self.device)
        for (_, found), each in zip(captured, expected, strict=True):
            self.compare(found, each)


def call_in_threads(checks: Sequence[CallCheck], count: int) -> None:
    """Call each network `count` times in a thread and on a stream of its own."""
    inputs = [change_values(each.arguments) for each in checks]
    pairs = zip(checks, inputs, strict=True)
    expected = [each.network(*given) for each, given in pairs]
    synchronize_all()

    def call(number: int) -> None:
        check = checks[number]
        with torch.no_grad(), cuda.stream(cuda.Stream(check.device)):
            for _ in range(count):
                found = check.compiled(*inputs[number])
                cuda.current_stream(check.device).synchronize()
                check.compare(found, expected[number])

    with ThreadPoolExecutor(len(checks)) as pool:
        _ = [*pool.map(call, range(len(checks)))]


def synchronize_all() -> None:
    """Wait for all GPUs."""
    for index in range(cuda.device_count()):
        cuda.synchronize(index)


def check_devices(checks: Sequence[CallCheck]) -> None:
    """Call copies of a network on several GPUs, of which one is the current one."""
    for current in range(cuda.device_count()):
        with cuda.device(current):
            for each in checks:
                each.check_call(each.arguments)
                each.check_call(change_values(each.arguments))
                assert cuda.current_device() == current
    for each in checks:
        each.check_addresses()
    call_in_threads([*checks, *checks], 20)


def check_mixed_calls(checks: Sequence[CallCheck], count: int = 10) -> None:
    """Call with other weights, addresses, streams, threads and GPUs, one by one."""
    streams = [[cuda.Stream(each.device) for _ in range(2)] for each in checks]

    def call(number: int) -> None:
        check = checks[number % len(checks)]
        stream = streams[number % len(checks)][number // 2 % 2]
        with torch.no_grad(), cuda.stream(stream):
            if number % 3 == 0:
                check.scale_weights(0.5 if number % 2 else 2.0)
            same = change_values(check.arguments) if number % 4 == 0 else None
            check.check_call(same or check.arguments)
            stream.synchronize()

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        for number in range(count):
            synchronize_all()
            (one, other)[number // 3 % 2].submit(call, number).result()


def measure_memory(device: Any) -> dict[str, float]:
    """Return the memory that is used now, in MB."""
    gc.collect()
    cuda.synchronize(device)
    requested = cuda.memory_stats(device)["requested_bytes.all.current"]
    free, total = cuda.mem_get_info(device)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "requested": requested / MEGABYTE,
        "reserved": cuda.memory_reserved(device) / MEGABYTE,
        "device": (total - free) / MEGABYTE,
        "host": pages * 4096 / MEGABYTE,
    }


def measure_growth(check: CallCheck, count: int) -> dict[str, float]:
    """
    Return the growth of memory in MB during `count` calls, of which some have new
    addresses, after as many calls as are measured at a time.
    """
    kept = deque[Any](maxlen=5)
    samples: list[dict[str, float]] = []
    for number in range(count):
        if number % 7 == 0:
            kept.append(change_values(check.arguments))
        given = kept[number % len(kept)] if number % 2 else check.arguments
        check.compiled(*given)
        if (number + 1) % (count // SAMPLES) == 0:
            samples.append(measure_memory(check.device))
    check.check_call(check.arguments)
    return {name: samples[-1][name] - samples[0][name] for name in GROWTH}


def check_peak(check: CallCheck, peaks: list[float]) -> None:
    """
    Measure the peak memory of a call of TLF and of PyTorch, before other streams are
    used. Raises `AssertionError` if that of TLF is greater.
    """
    kept = measure_kept_memory() - check.kept_before
    found = measure_peak(check.compiled, check.arguments) + kept
    peaks += [found, measure_peak(check.network, check.arguments)]
    if found > peaks[1] + PEAK_SLACK:
        raise AssertionError(f"expected up to {peaks[1]:.1f} MB, got {found:.1f}")


def check_growth(growth: dict[str, float]) -> None:
    """Raise `AssertionError` if memory grew more than is accepted."""
    for name, limit in GROWTH.items():
        if growth[name] > limit:
            raise AssertionError(
                f"{name} memory: expected growth up to {limit:.0f} MB, "
                f"got {growth[name]:.1f}"
            )
