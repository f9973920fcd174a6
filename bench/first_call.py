"""
Time the first call of networks through `torch.compile`, each in a fresh process.

    python bench/first_call.py
    python bench/first_call.py --size small --target npu --only gpt
    python bench/first_call.py --dtype bfloat16 --peer
    python bench/first_call.py --cold --jobs 8 --kernelbench CHECKOUT

Columns are seconds: `cold` with empty caches, without the time of imports; `warm` in
another process that finds the caches of the first one, with the imports of TLF. With
`--peer`, PyTorch's own compiler is timed in the same way, and `ratio` is that of the
cold times. Times have PyTorch's tracing and the run of the network. `--cold` leaves the
warm times out. With `--kernelbench`, the development half of KernelBench is measured
instead, at its original sizes, in f32.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, cast

import torch
from kernelbench import LEVELS, development_problems
from kernelbench_problem import load_full_size
from networks import add_network_options, move_to_device
from torch_model import T, cast_all
from torch_models import MODELS

BACKENDS = ("tlf", "inductor")

CACHES = ("TLF_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
"""Variables with the folders of caches; Triton's are inside of them."""


class FirstCallOptions(argparse.Namespace):
    """Command-line options."""

    target: str
    size: str
    dtype: str
    only: str
    peer: bool
    cold: bool
    jobs: int
    kernelbench: Path | None
    timeout: float
    child: str
    backend: str
    warm: bool


def measure_first_call(options: FirstCallOptions) -> float:
    """Return the seconds of the first call of a network in this process."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = cast(torch.dtype, getattr(torch, options.dtype))
    network, arguments = _build_workload(options, device, dtype)
    with torch.no_grad():
        _load_imports(options, device, dtype)
        started = time.perf_counter()
        compiled = _compile(network, options.backend, {"target": options.target})
        compiled(*arguments)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - started


def _build_workload(
    options: FirstCallOptions, device: str, dtype: torch.dtype
) -> tuple[torch.nn.Module, Sequence[Any]]:
    """Return the network or the problem that is measured, and its arguments."""
    if options.kernelbench is not None:
        with torch.device(device):
            problem = load_full_size(options.kernelbench / options.child)
        return problem.model.eval(), problem.inputs
    (model,) = (each for each in MODELS if each.name == options.child)
    network, arguments = model.build(options.size)
    network = network.to(device).to(dtype).eval()
    return network, cast_all(move_to_device(arguments, device), dtype)


def _load_imports(options: FirstCallOptions, device: str, dtype: torch.dtype) -> None:
    """
    Compile a small layer, so that later times have no imports: those of PyTorch, and
    for empty caches also those of the compiler.
    """
    layer = torch.nn.Linear(64, 64).to(device).to(dtype).eval()
    backend = "aot_eager" if options.warm else options.backend
    settings = {"target": options.target, "cache": False}
    _compile(layer, backend, settings)(torch.zeros(64, 64, device=device, dtype=dtype))


def _compile(
    network: torch.nn.Module, backend: str, settings: Mapping[str, object]
) -> Any:
    extra = {"options": dict(settings)} if backend == "tlf" else {}
    return T.compile(network, backend=backend, **extra)


def measure_in_process(
    name: str, backend: str, is_warm: bool, folder: Path, options: FirstCallOptions
) -> float:
    """
    Return the seconds of the first call in a new process, with caches in a folder; NaN
    if it fails or takes longer than the limit.
    """
    command = [sys.executable, __file__, "--child", name, "--backend", backend]
    command += ["--size", options.size, "--dtype", options.dtype]
    command += ["--target", options.target, *(["--warm"] if is_warm else [])]
    if options.kernelbench is not None:
        command += ["--kernelbench", str(options.kernelbench)]
    environment = {**os.environ, **{each: str(folder / each) for each in CACHES}}
    environment.pop("TRITON_CACHE_DIR", None)
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=options.timeout,
            check=True,
        )
    except subprocess.SubprocessError as error:
        output = getattr(error, "stderr", None) or str(error)
        print(f"{name}: {str(output).strip().splitlines()[-1]}", file=sys.stderr)
        return math.nan
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure_network(name: str, options: FirstCallOptions) -> list[float]:
    """Return the seconds of each compiler, with empty caches and with full ones."""
    seconds: list[float] = []
    for backend in BACKENDS if options.peer else BACKENDS[:1]:
        with tempfile.TemporaryDirectory() as folder:
            seconds += (
                measure_in_process(name, backend, is_warm, Path(folder), options)
                for is_warm in ([False] if options.cold else [False, True])
            )
    return seconds


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of the finite values; NaN if there is none."""
    logarithms = [math.log(each) for each in values if math.isfinite(each)]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def _workload_names(options: FirstCallOptions) -> Iterator[str]:
    """Yield the names of networks, or the paths of problems in the checkout."""
    if options.kernelbench is None:
        yield from (each.name for each in MODELS)
        return
    for _, file in development_problems(options.kernelbench, LEVELS):
        yield str(file.relative_to(options.kernelbench))


def report_networks(options: FirstCallOptions) -> None:
    """Print a row for each network, and a summary of them."""
    columns = ["cold"] if options.cold else ["cold", "warm"]
    if options.peer:
        columns += [*(f"peer {each}" for each in columns), "ratio"]
    print(f"{'network':<24}" + "".join(f"{each:>11}" for each in columns))
    names = [each for each in _workload_names(options) if options.only in each]
    measure = partial(measure_network, options=options)
    seconds: list[float] = []
    ratios: list[float] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, row in zip(names, pool.map(measure, names), strict=True):
            seconds.append(row[0])
            if options.peer:
                ratios.append(row[0] / row[len(row) // 2])
                row.append(ratios[-1])
            print(f"{name:<24}" + "".join(f"{each:11.2f}" for each in row), flush=True)
    print(summarize(seconds, ratios))


def summarize(seconds: Sequence[float], ratios: Sequence[float]) -> str:
    """Return a line on the finite seconds with empty caches, and on the ratios."""
    finite = [each for each in seconds if math.isfinite(each)]
    if not finite:
        return "none was measured"
    text = f"median {median(finite):.2f} s, longest {max(finite):.2f} s"
    if ratios:
        text += f"; geometric mean of the ratios: {geometric_mean(ratios):.2f}"
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    add_network_options(parser)
    parser.add_argument("--peer", action="store_true", help="time PyTorch's compiler")
    parser.add_argument("--cold", action="store_true", help="with empty caches only")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--kernelbench", type=Path, help="checkout to take problems of")
    parser.add_argument("--timeout", type=float, default=600, help="seconds per call")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--backend", default="tlf", help=argparse.SUPPRESS)
    parser.add_argument("--warm", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments, namespace=FirstCallOptions())
    if options.child:
        print(json.dumps(measure_first_call(options)))
        return
    report_networks(options)


if __name__ == "__main__":
    main()
