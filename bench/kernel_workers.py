"""
Time the compilation of a program's kernels for a Hopper GPU, without one: in threads,
and in worker processes that start with it or are running.

    tlf-opt network.mlir --target h200 -p triton-pipeline -t triton -o network.txt
    python bench/kernel_workers.py network.txt
    python bench/kernel_workers.py network.txt --workers 1,2,4,8 --runs 3

Each time is that of a new process with an empty cache, which does not count its
imports; the minimum of the runs is printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hopper_stand_in import BufferStandIn, compile_as_launched, install_driver

from tlf.runtime.triton.device_tensors import TORCH_DTYPES
from tlf.runtime.triton.kernel_admission import KernelVariant
from tlf.runtime.triton.kernel_prefetch import prefetch_plan_kernels
from tlf.runtime.triton.launch_plan import Launch, find_buffer_launches, load_plan
from tlf.runtime.triton.parallel_compilation import compile_in_threads
from tlf.runtime.triton.worker_pool import POOL

HEAD_START = 4.0
"""Seconds that running workers have to import Triton, as during the passes."""


class WorkerOptions(argparse.Namespace):
    """Command-line options."""

    plan: Path
    workers: str
    runs: int
    head_start: float | None


def time_compilation(text: str, head_start: float) -> float:
    """Return the seconds in which this process gets all kernels of a plan."""
    install_driver()
    if head_start:
        POOL.start()
        time.sleep(head_start)
    started = time.perf_counter()
    plan = load_plan(text)
    kernels = {kernel.name: kernel for kernel in plan.kernels}
    buffers = {
        each.name: BufferStandIn(str(TORCH_DTYPES[each.dtype])) for each in plan.buffers
    }

    def compile_one(launch: Launch) -> None:
        arguments = [buffers[name] for _, name in launch.arguments]
        compile_as_launched(KernelVariant(kernels[launch.kernel]), *arguments)

    prefetch_plan_kernels(plan)
    compile_in_threads(compile_one, find_buffer_launches(plan))
    return time.perf_counter() - started


def time_in_process(plan: Path, workers: int, head_start: float, runs: int) -> float:
    """Return the minimum of the times of new processes."""
    command = [sys.executable, __file__, str(plan), "--head-start", f"{head_start}"]
    times: list[float] = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            settings = {
                "TLF_CACHE": "1",
                "TLF_CACHE_DIR": folder,
                "TLF_COMPILE_WORKERS": f"{workers}",
            }
            environment = {**os.environ, **settings}
            environment.pop("TRITON_INTERPRET", None)
            output = subprocess.check_output(command, env=environment)
            times.append(float(output))
    return min(times)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the times by number of workers, or that of this process."""
    description = (__doc__ or "").strip().split("\n\n")[0]
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("plan", type=Path, help="output of the target `triton`")
    parser.add_argument("--workers", default="2", help="numbers of worker processes")
    parser.add_argument("--runs", type=int, default=1, help="runs of each")
    parser.add_argument("--head-start", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments, namespace=WorkerOptions())
    if options.head_start is not None:
        print(time_compilation(options.plan.read_text(), options.head_start))
        return
    seconds = time_in_process(options.plan, 0, 0.0, options.runs)
    print(f"threads {seconds:22.1f} s")
    for count in map(int, options.workers.split(",")):
        for label, head_start in (("that start", 0.0), ("that run", HEAD_START)):
            seconds = time_in_process(options.plan, count, head_start, options.runs)
            print(f"{count} workers {label:<12} {seconds:6.1f} s")


if __name__ == "__main__":
    main()
