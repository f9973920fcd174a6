"""
Calls of compiled programs on GPUs: their values, their memory, and the time they take.

    python bench/gpu_calls.py
    python bench/gpu_calls.py --only "gpt-2 block" --calls 50 --many 10000

Each network is called through `torch.compile` with other inputs, addresses, weights,
streams and threads, while other threads use the GPU, in graphs of the caller, while no
graph can be captured, and mixed; with several GPUs, copies on two of them. Values are
compared with those of PyTorch. `error` is the largest difference; `grown` is the growth
of memory in MB during many calls: requested, reserved, of the device, of the process;
`peak` the peak memory of a call in MB, of TLF and of PyTorch, above weights and values
prepared from them.
`host` are the microseconds that a call keeps the host, `called` those of a call in a
loop without synchronization, of TLF and of PyTorch's compiler in its default mode and
in the mode `reduce-overhead`. A line follows for each fault; exits with status 1 if
there is any.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from gpu_call_checks import (
    CallCheck,
    Network,
    check_devices,
    check_growth,
    check_mixed_calls,
    check_peak,
    cuda,
    measure_growth,
)
from gpu_check import lacks_gpu
from networks import move_to_device
from torch_model import Model, T, cast_all
from torch_models import MODELS


class CallOptions(argparse.Namespace):
    """Command-line options."""

    only: str
    calls: int
    many: int
    no_peer: bool


def build_network(model: Model, device: str) -> tuple[Any, list[Any]]:
    """Return a network of bf16 on a device, and its arguments."""
    network, arguments = model.build("full")
    network = network.to(device).to(torch.bfloat16).eval()
    return network, cast_all(move_to_device(arguments, device), torch.bfloat16)


def time_calls(
    call: Network, arguments: Sequence[Any], count: int
) -> tuple[float, float]:
    """Return the microseconds of a call for the host, and in a loop of calls."""
    for _ in range(10):
        call(*arguments)
    cuda.synchronize()
    hosts: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        call(*arguments)
        hosts.append(time.perf_counter() - started)
        cuda.synchronize()
    started = time.perf_counter()
    for _ in range(count):
        call(*arguments)
    cuda.synchronize()
    return 1e6 * sorted(hosts)[count // 2], 1e6 * (
        time.perf_counter() - started
    ) / count


def list_checks(
    check: CallCheck,
    model: Model,
    growth: dict[str, float],
    peaks: list[float],
    many: int,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """
    Yield the checks of a network by name; `growth` becomes that of many calls, `peaks`
    the peak memory of TLF and of PyTorch, in MB.
    """
    yield "first call", partial(check.check_call, check.arguments)
    yield "peak memory", partial(check_peak, check, peaks)
    yield "addresses", check.check_addresses
    yield "weights", check.check_weights
    yield "streams", check.check_streams
    yield "threads", check.check_threads
    yield "captures beside work", check.check_captures_beside_work
    yield "graphs of the caller", check.check_graphs_of_the_caller
    # On one GPU, the copy is there, too.
    device = f"cuda:{cuda.device_count() - 1}"
    copies = [check, CallCheck(*build_network(model, device))]
    yield "devices", partial(check_devices, copies)
    yield "mixed calls", partial(check_mixed_calls, copies)

    def check_many_calls() -> None:
        growth.update(measure_growth(check, many))
        check_growth(growth)

    yield "many calls", check_many_calls
    yield "failed captures", copies[1].check_failed_captures


def find_faults(check: CallCheck, model: Model, options: CallOptions) -> list[str]:
    """Run all checks of a network, print its row without times, and return faults."""
    faults: list[str] = []
    growth: dict[str, float] = {}
    peaks: list[float] = []
    for name, run in list_checks(check, model, growth, peaks, options.many):
        try:
            run()
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            faults.append(f"{name}: {type(error).__name__}: {text}")
    grown = "/".join(f"{each:.1f}" for each in growth.values())
    peak = "/".join(f"{each:.1f}" for each in peaks)
    row = f"{model.name:<24}{check.worst:9.4f}{grown:>20}{peak:>16}"
    print(row, end="", flush=True)
    return faults


def measure_network(model: Model, options: CallOptions) -> bool:
    """Print a row for a network and its faults; return `True` if there are none."""
    network, arguments = build_network(model, "cuda:0")
    check = CallCheck(network, arguments)
    faults = find_faults(check, model, options)
    peers = () if options.no_peer else ("default", "reduce-overhead")
    for mode in (None, *peers):
        if mode is None:
            call = check.compiled
        else:
            T._dynamo.reset()
            call = T.compile(network, mode=mode)
        host, called = time_calls(call, arguments, options.calls)
        print(f"{host:9.0f}{called:9.0f}", end="", flush=True)
    print("".join(f"\n  fault: {each}" for each in faults), flush=True)
    return not faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--only", default="", help="part of the names of networks")
    parser.add_argument("--calls", type=int, default=30, help="number of timed calls")
    parser.add_argument("--many", type=int, default=10_000, help="calls for memory")
    parser.add_argument("--no-peer", action="store_true", help="do not time PyTorch")
    options = parser.parse_args(arguments, namespace=CallOptions())
    if lacks_gpu(__file__):
        return 1
    heads = ("host", "called", "default", "called", "reduce", "called")
    columns = "".join(f"{each:>9}" for each in heads)
    print(f"{'network':<24}{'error':>9}{'grown':>20}{'peak':>16}{columns}", flush=True)
    with torch.no_grad():
        models = [each for each in MODELS if options.only in each.name]
        right = [measure_network(each, options) for each in models]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
