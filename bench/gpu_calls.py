"""
Calls of compiled programs on a GPU: their values, and the time that they take.

    python bench/gpu_calls.py
    python bench/gpu_calls.py --only "gpt-2 block" --calls 50

Each network is called through `torch.compile` with other inputs, addresses, weights
and streams, from several threads, and on all devices; the values are compared with
those of PyTorch. `host` are the microseconds that a call keeps the host, `called` those
of a call in a loop without synchronization, of TLF and of PyTorch's compiler in its
default mode and in the mode `reduce-overhead`. Exits with status 1 if a value is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any, cast

import torch
from networks import move_to_device
from torch_model import Model, T, cast_all
from torch_models import MODELS

TOLERANCE = 0.05
"""Largest accepted difference, as a part of the largest value; the type is bf16."""

Network = Callable[..., torch.Tensor]


class CallOptions(argparse.Namespace):
    """Command-line options."""

    only: str
    calls: int
    no_peer: bool


def build_network(model: Model, device: str) -> tuple[Any, list[Any]]:
    """Return a network of bf16 on a device, and its arguments."""
    network, arguments = model.build("full")
    network = network.to(device).to(torch.bfloat16).eval()
    return network, cast_all(move_to_device(arguments, device), torch.bfloat16)


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
    scale = float(expected.abs().max()) or 1.0
    return float((found.float() - expected.float()).abs().max()) / scale


class CallCheck:
    """Checks of the calls of one network, compiled and by PyTorch."""

    def __init__(self, network: Any, arguments: list[Any]) -> None:
        self.network = network
        self.arguments = arguments
        self.compiled: Network = T.compile(network, backend="tlf")
        self.worst = 0.0

    def check_call(self, arguments: Sequence[Any]) -> None:
        """Compare one call with that of PyTorch."""
        found = self.compiled(*arguments)
        self.worst = max(self.worst, difference(found, self.network(*arguments)))

    def check_addresses(self) -> None:
        """Call with equal inputs, with the results kept, and with other inputs."""
        kept = [self.compiled(*self.arguments) for _ in range(6)]
        expected = self.network(*self.arguments)
        self.worst = max(self.worst, *(difference(each, expected) for each in kept))
        inputs = [self.arguments, change_values(self.arguments)]
        for number in range(10):
            self.check_call(inputs[number % 2])
            self.check_call(change_values(inputs[number % 2]))

    def check_weights(self) -> None:
        """Call after writes to weights, and after weights were replaced."""
        for factor in (0.5, 2.0):
            for each in self.network.parameters():
                each.mul_(factor)
            self.check_call(self.arguments)
        for each in self.network.parameters():
            each.data = each.data.clone()
        for _ in range(4):
            self.check_call(self.arguments)

    def check_streams(self) -> None:
        """Call on several streams, whose work may overlap."""
        streams = [torch.cuda.Stream() for _ in range(3)]
        inputs = [change_values(self.arguments) for _ in streams]
        torch.cuda.synchronize()
        results: list[Any] = []
        for _ in range(4):
            for stream, each in zip(streams, inputs, strict=True):
                with torch.cuda.stream(stream):
                    results.append(self.compiled(*each))
        torch.cuda.synchronize()
        expected = [self.network(*each) for each in inputs] * 4
        pairs = zip(results, expected, strict=True)
        self.worst = max(self.worst, *(difference(*each) for each in pairs))

    def check_threads(self) -> None:
        """Call from several threads at a time."""
        inputs = [change_values(self.arguments) for _ in range(3)]
        expected = [self.network(*each) for each in inputs]
        torch.cuda.synchronize()
        differences: list[float] = []

        def call(number: int) -> None:
            with torch.no_grad():
                for _ in range(20):
                    found = self.compiled(*inputs[number])
                    torch.cuda.synchronize()
                    differences.append(difference(found, expected[number]))

        threads = [Thread(target=call, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        complete = 0.0 if len(differences) == 60 else float("inf")
        self.worst = max(self.worst, complete, *differences)


def time_calls(
    call: Network, arguments: Sequence[Any], count: int
) -> tuple[float, float]:
    """Return the microseconds of a call for the host, and in a loop of calls."""
    for _ in range(10):
        call(*arguments)
    torch.cuda.synchronize()
    hosts: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        call(*arguments)
        hosts.append(time.perf_counter() - started)
        torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(count):
        call(*arguments)
    torch.cuda.synchronize()
    return 1e6 * sorted(hosts)[count // 2], 1e6 * (
        time.perf_counter() - started
    ) / count


def measure_network(model: Model, options: CallOptions) -> bool:
    """Print a row for a network; return `True` if all values are right."""
    network, arguments = build_network(model, "cuda")
    check = CallCheck(network, arguments)
    check.check_call(arguments)
    times = [time_calls(check.compiled, arguments, options.calls)]
    for part in (
        check.check_addresses,
        check.check_weights,
        check.check_streams,
        check.check_threads,
    ):
        part()
    for index in range(1, torch.cuda.device_count()):
        CallCheck(*build_network(model, f"cuda:{index}")).check_addresses()
    for mode in () if options.no_peer else ("default", "reduce-overhead"):
        T._dynamo.reset()
        peer = T.compile(network, mode=mode)
        times.append(time_calls(peer, arguments, options.calls))
    columns = "".join(f"{host:9.0f}{called:9.0f}" for host, called in times)
    is_right = check.worst <= TOLERANCE
    print(f"{model.name:<24}{check.worst:9.4f}{columns}", flush=True)
    return is_right


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--only", default="", help="part of the names of networks")
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--no-peer", action="store_true", help="do not time PyTorch")
    options = parser.parse_args(arguments, namespace=CallOptions())
    heads = ("error", "host", "called", "default", "called", "reduce", "called")
    print(f"{'network':<24}" + "".join(f"{each:>9}" for each in heads))
    with torch.no_grad():
        models = [each for each in MODELS if options.only in each.name]
        right = [measure_network(each, options) for each in models]
    if not all(right):
        sys.exit(1)


if __name__ == "__main__":
    main()
