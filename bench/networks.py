"""
Check and time networks of PyTorch through `torch.compile(backend="tlf")`.

    python bench/networks.py
    python bench/networks.py --size small --target reference --only gpt
    python bench/networks.py --dtype bfloat16 --peer

Errors are relative errors of the norm against PyTorch in f64; `eager` is the error of
PyTorch. Times are medians in milliseconds, of PyTorch, TLF and, with `--peer`,
PyTorch's own compiler. Values are checked in the same run.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

import torch
from torch import Tensor
from torch_errors import relative_error
from torch_model import Model, T, cast_all
from torch_models import MODELS

from tlf.compiler.api import torch_backend

Run = Callable[[], Any]


class NetworkOptions(argparse.Namespace):
    """Command-line options."""

    target: str
    size: str
    dtype: str
    only: str
    peer: bool
    runs: int


def move_to_device(value: Any, device: str) -> Any:
    """Return arguments with their tensors on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, tuple):
        return tuple(
            move_to_device(each, device) for each in cast(tuple[Any, ...], value)
        )
    return value


def median_milliseconds(run: Run, runs: int) -> float:
    """Return the median time of a call, in milliseconds."""
    run()
    if torch.cuda.is_available():
        return import_module("triton.testing").do_bench(run, return_mode="median")
    times: list[float] = []
    for _ in range(runs):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e3


def measure_network(model: Model, options: NetworkOptions) -> str:
    """Return the table row of one network."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = cast(torch.dtype, getattr(torch, options.dtype))
    network, arguments = model.build(options.size)
    network, arguments = network.to(device), move_to_device(arguments, device)
    arguments = cast_all(arguments, dtype)
    network = network.to(dtype)
    exact = copy.deepcopy(network).double()(*cast_all(arguments, torch.float64))
    torch_backend.REPORT.clear()
    settings = {"target": options.target, "cache": False}
    compiled: Any = T.compile(network, backend=torch_backend.tlf, options=settings)
    started = time.perf_counter()
    results = compiled(*arguments)
    seconds = time.perf_counter() - started
    report = torch_backend.REPORT
    columns = [
        f"{relative_error(results, exact):9.1e}",
        f"{relative_error(network(*arguments), exact):9.1e}",
        f"{report.compiled:9}{report.eager.total():7}{seconds:11.1f}",
        f"{median_milliseconds(lambda: network(*arguments), options.runs):10.3f}",
        f"{median_milliseconds(lambda: compiled(*arguments), options.runs):10.3f}",
    ]
    if options.peer:
        torch.compiler.reset()
        peer: Any = T.compile(network)
        columns.append(
            f"{median_milliseconds(lambda: peer(*arguments), options.runs):10.3f}"
        )
    return f"{model.name:<18}{''.join(columns)}"


HEADER = (
    f"{'network':<18}{'error':>9}{'eager':>9}{'compiled':>9}{'left':>7}"
    f"{'compile s':>11}{'eager ms':>10}{'tlf ms':>10}"
)


def add_network_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select networks, and how they are compiled."""
    parser.add_argument("--target", default="triton")
    parser.add_argument("--size", default="full", choices=("full", "small", "tiny"))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--only", default="", help="part of the names of networks")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    add_network_options(parser)
    parser.add_argument("--peer", action="store_true", help="time torch.compile too")
    parser.add_argument("--runs", type=int, default=3, help="runs to time on a CPU")
    options = parser.parse_args(arguments, namespace=NetworkOptions())
    torch.backends.cudnn.allow_tf32 = False
    print(f"{HEADER}{'inductor':>10}" if options.peer else HEADER)
    with torch.no_grad():
        for model in MODELS:
            if options.only in model.name:
                torch.compiler.reset()
                try:
                    print(measure_network(model, options), flush=True)
                except Exception as error:
                    text = " ".join(str(error).split())[:120]
                    print(f"{model.name:<18}  {type(error).__name__}: {text}")


if __name__ == "__main__":
    main()
