"""
Check and time one row of the GPU gate, in its own process.

    python bench/gpu_gate_worker.py "NAME" SEED LOCK [KERNELBENCH]

Compiles, runs and checks the row, prints `ready`, waits for an input line, then times
the row and prints one JSON object. Steps that need much memory hold the file lock LOCK.
"""

from __future__ import annotations

import fcntl
import gc
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
from gpu_gate_rows import GateRow, RowWork, gate_rows
from gpu_memory import measure_kept_memory, measure_peak
from torch_errors import relative_error, tensors_of
from torch_model import T, cast_all

from tlf.compiler.api import torch_backend
from tlf.compiler.api.torch_report import REPORT
from tlf.runtime.triton.executable_plan import Executable

cuda: Any = torch.cuda

Run = Callable[..., Any]

WARMUP, TIMED = 5, 30
"""Milliseconds of warm-up and of measurement, for each measured time."""

ROUNDS = 2
"""Number of rounds in which all graphs are timed; the minimum of each counts."""


def main(name: str, seed: int, lock: Path, kernelbench: Path | None = None) -> None:
    """Run one row."""
    torch.set_num_threads(1)
    (row,) = (row for row in gate_rows(seed, kernelbench) if row.name == name)
    record: dict[str, Any] = {}
    try:
        if row.program is not None:
            record |= _check_example(row.program)
        else:
            record |= _measure_row(row, lock)
    except Exception as error:
        text = " ".join(str(error).split())
        record["failed"] = f"{type(error).__name__}: {text[:300]}"
    print(json.dumps(record), flush=True)


def _check_example(path: Path) -> dict[str, Any]:
    """
    Run `tlf-run --check` on a program, and return its error against the reference.
    """
    command = "from tlf.tools.tlf_run import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", command, path, "--target", "triton", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"^error of .*? (\S+) relative", process.stdout, re.MULTILINE)
    if process.returncode or not errors:
        lines = (process.stderr or process.stdout).strip().splitlines()
        raise RuntimeError(lines[-1] if lines else "no output")
    return {"example error": max(map(float, errors))}


def _measure_row(row: GateRow, lock: Path) -> dict[str, Any]:
    """Check and time a row; between the two, wait for an input line."""
    record: dict[str, Any] = {}
    assert row.make is not None
    with torch.no_grad(), exclusive_lock(lock):
        exact = _compute_exact(row.make("cuda"))
    work = row.make("cuda")
    with torch.no_grad():
        runs = _check_row(row, work, exact, record, lock)
        print("ready", flush=True)
        sys.stdin.readline()
        _time_runs(runs, work, record)
    return record


@contextmanager
def exclusive_lock(lock: Path) -> Generator[None]:
    """Hold an exclusive file lock; free unused memory before releasing it."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            gc.collect()
            cuda.empty_cache()
            fcntl.flock(file, fcntl.LOCK_UN)


def _compute_exact(work: RowWork) -> list[Any]:
    """Return the results in f64, in host memory; a module of `work` becomes f64."""
    function: Any = work.function
    if isinstance(function, torch.nn.Module):
        function = cast(Any, function).double()
    results = function(*cast_all(work.arguments, torch.float64))
    return [each.cpu() for each in tensors_of(results)]


def _check_row(
    row: GateRow, work: RowWork, exact: list[Any], record: dict[str, Any], lock: Path
) -> dict[str, Run]:
    """
    Compile the row with each compiler; record errors and the resources of kernels.
    """
    runs: dict[str, Run] = {"eager": work.function, **work.peers}
    T.backends.cudnn.allow_tf32 = row.has_default_switches
    record["switches"] = "default" if row.has_default_switches else "tf32 off"
    runs["inductor"] = T.compile(work.function)
    for name in ("eager", "inductor"):
        started = time.perf_counter()
        results = runs[name](*work.arguments)
        cuda.synchronize()
        record[f"{name} first s"] = round(time.perf_counter() - started, 2)
        record[f"{name} error"] = relative_error(results, exact)
    REPORT.clear()
    options = {
        "target": "triton",
        "numerics": row.numerics,
        "fallback": "strict",
        "cache": False,
    }
    runs["tlf"] = T.compile(work.function, backend=torch_backend.tlf, options=options)
    started = time.perf_counter()
    results = runs["tlf"](*work.arguments)
    cuda.synchronize()
    record["tlf first s"] = round(time.perf_counter() - started, 2)
    record["tlf error"] = relative_error(results, exact)
    # A second call directly after the first exposes hazards between launches.
    record["tlf error again"] = relative_error(runs["tlf"](*work.arguments), exact)
    record["left to PyTorch"] = sorted(REPORT.eager)
    del results
    with exclusive_lock(lock):
        for name in ("eager", "tlf"):
            peak = measure_peak(runs[name], work.arguments)
            kept = measure_kept_memory() if name == "tlf" else 0.0
            record[f"{name} memory MB"] = round(peak + kept, 1)
    record |= _collect_facts()
    return runs


def _collect_facts() -> dict[str, Any]:
    """Return the maximum of each resource over the kernels of all programs."""
    programs = [each for each in gc.get_objects() if isinstance(each, Executable)]
    facts = [fact for program in programs for fact in program.facts.values()]
    return {
        "kernels": max((len(program.plan.kernels) for program in programs), default=0),
        "spills": max((fact.spilled for fact in facts), default=0),
        "shared": max((fact.shared for fact in facts), default=0),
    }


def _time_runs(runs: dict[str, Run], work: RowWork, record: dict[str, Any]) -> None:
    """Record the microseconds of calls, from Python and in a CUDA graph."""
    testing: Any = import_module("triton.testing")
    calls = {
        f"{name} {kind} us": timed
        for name, run in runs.items()
        for kind, timed in _timed_calls(run, work)
    }
    graphs = [key for key in calls if key.endswith("graph us")]
    for key in [*calls, *graphs * (ROUNDS - 1)]:
        time_ms: float = testing.do_bench(
            calls[key], warmup=WARMUP, rep=TIMED, return_mode="median"
        )
        record[key] = min(record.get(key, math.inf), round(1e3 * time_ms, 2))
    peers = [
        value
        for key, value in record.items()
        if key.endswith("graph us") and not key.startswith("tlf")
    ]
    if peers and "tlf graph us" in record:
        record["ratio"] = round(min(peers) / record["tlf graph us"], 3)


def _timed_calls(run: Run, work: RowWork) -> Iterator[tuple[str, Run]]:
    """Yield the call, and the replay of its graph if it can be captured."""

    def call() -> Any:
        return run(*work.arguments)

    yield "called", call
    if (graph := _capture_graph(call)) is not None:
        yield "graph", graph


def _capture_graph(call: Run) -> Run | None:
    """Return the replay of a CUDA graph of one call, or `None` if capture fails."""
    try:
        stream = cuda.Stream()
        stream.wait_stream(cuda.current_stream())
        with cuda.stream(stream):
            for _ in range(2):
                call()
        cuda.current_stream().wait_stream(stream)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            results = call()

        def replay() -> Any:
            graph.replay()
            return results

        return replay
    except RuntimeError:
        return None


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:]))
