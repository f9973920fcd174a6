"""Kernels that workers compiled are found by launches, by equal keys."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from empty_library import COMPILER, write_empty_library
from process_state import is_running

from tlf.runtime.triton import dtypes
from tlf.runtime.triton.device_tensors import TORCH_DTYPES

HEAD = """\
import sys
from dataclasses import replace
from hopper_stand_in import BufferStandIn, compile_as_launched, install_driver
from triton_requests import COPY, make_kernel, make_plan
from tlf.runtime.triton.kernel_admission import KernelVariant
from tlf.runtime.triton.kernel_prefetch import prefetch_plan_kernels
from tlf.runtime.triton.launch_plan import Descriptor, load_plan
from tlf.runtime.triton.worker_pool import POOL

found = install_driver()
f32, copy = BufferStandIn("torch.float32"), KernelVariant(make_kernel(COPY))
"""
"""Start of the scripts: processes that have Triton's compiler, not its interpreter."""


def start_script(text: str, folder: Path, **settings: str) -> subprocess.Popen[str]:
    """Start a process that compiles kernels for a Hopper GPU."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return subprocess.Popen(
        [sys.executable, "-c", f"{HEAD}{text}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **environment,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TLF_CACHE": "1",
            "TLF_CACHE_DIR": str(folder),
            "TLF_COMPILE_WORKERS": "2",
            **settings,
        },
    )


def read_lines(script: subprocess.Popen[str]) -> list[str]:
    """Return what a script prints. It must succeed."""
    output, errors = script.communicate()
    assert script.returncode == 0, errors
    return output.splitlines()


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_types_of_plans_are_those_of_tensors(name: str):
    jit: Any = import_module("triton.runtime.jit")
    tensor = torch.empty(1, dtype=TORCH_DTYPES[name])
    assert dtypes.triton_pointer_type(name) == jit.mangle_type(tensor)


LAUNCHES = """\
def variant(old, new):
    return KernelVariant(make_kernel(COPY.replace(old, new)))

cases = [
    (copy, BufferStandIn(f"torch.{source}", 32), BufferStandIn(f"torch.{result}", at))
    for source, result, at in [
        ("float32", "bfloat16", 16), ("float16", "float64", 8), ("int64", "int32", 0),
        ("int8", "int16", 2), ("bool", "bool", 1),
    ]
]
described = COPY.replace("(p0, p1)", "(p0, p1, d0)").replace(
    "tl.load(p0 + r)", "d0.load([tl.program_id(0) * 16])"
)
boxes = Descriptor(0, "f32", 4, (12,), (1,), (16,))
cases += [
    (KernelVariant(replace(make_kernel(described), descriptors=(boxes,))), f32, f32),
    (replace(copy, kernel=replace(copy.kernel, num_warps=4, num_stages=3)), f32, f32),
    (replace(copy, is_newest=True), f32, f32),
    (variant("(p0, p1)", "(p0, p1, p2)"), f32, BufferStandIn("torch.float32", 4), f32),
    (variant("(p0, p1)", "(p0, p1, h0)"), f32, f32, 1),
]
for case in cases:
    compile_as_launched(*case)
print(*map(int, found))
try:
    compile_as_launched(variant("arange(0, 16)", "arange(0, 15)"), f32, f32)
except Exception as error:
    print(type(error).__name__, error.error_message)
print(len(POOL.pids))
"""


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.long), 1])
def test_launches_find_kernels_of_workers(workers: int, tmp_path: Path):
    """
    Keys are equal for all types, alignments and options. Launches with integers are
    left to this process, and errors are its own.
    """
    script = start_script(LAUNCHES, tmp_path, TLF_COMPILE_WORKERS=f"{workers}")
    keys, error, count = read_lines(script)
    assert keys == " ".join([f"{workers}"] * 9 + ["0"])
    assert error.startswith("CompilationError ")
    assert "power of 2" in error
    assert count == f"{workers}"


LAUNCHERS = """\
import os
from contextlib import suppress
from pathlib import Path
from triton.backends.nvidia.driver import CudaLauncher
from tlf.runtime.triton.kernel_cache import compile_through_cache

for case in cases[:6]:
    compiled = compile_as_launched(*case)
    with suppress(ImportError):  # The library has no functions.
        compile_through_cache(lambda: CudaLauncher(compiled.src, compiled.metadata))
print(len([*Path(os.environ["TLF_CACHE_DIR"]).rglob("__triton_launcher*.so")]))
"""


@pytest.mark.skipif(COMPILER is None, reason="launchers are compiled by a C compiler")
def test_launches_find_launchers_of_workers(tmp_path: Path):
    """
    Launchers are built ahead for each number of pointers, and with descriptors; a
    launch builds no other.
    """
    write_empty_library(tmp_path / "libcuda.so.1")
    cases, _, _ = LAUNCHES.partition("for case in cases:")
    script = start_script(
        cases + LAUNCHERS,
        tmp_path,
        TLF_COMPILE_WORKERS="1",
        TRITON_LIBCUDA_PATH=str(tmp_path),
    )
    assert read_lines(script) == ["2"]


PREFETCH = """\
plan = load_plan(make_plan(COPY, COPY.replace("copy", "other")))
prefetch_plan_kernels(plan)
print(len(POOL.pids))
"""

LAUNCH = """\
for kernel in plan.kernels:
    compile_as_launched(KernelVariant(kernel), f32, f32)
print(*map(int, found), *POOL.pids)
"""


def test_kernels_of_a_plan_are_compiled_ahead(tmp_path: Path):
    """
    Two processes at once do so; a later one finds the kernels in the cache, and starts
    no worker.
    """
    workers = 0
    one = {"TLF_COMPILE_WORKERS": "1"}
    for script in [start_script(PREFETCH + LAUNCH, tmp_path, **one) for _ in range(2)]:
        count, last = read_lines(script)
        assert last.startswith("1 1")
        assert not any(is_running(int(each)) for each in last.split()[2:])
        workers += int(count)
    assert workers == 2
    times = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.cubin")}
    assert len(times) == 2
    assert read_lines(start_script(PREFETCH, tmp_path)) == ["0"]
    assert times == {file: file.stat().st_mtime_ns for file in times}


KILL = """\
import os, signal
submit = POOL.submit

def submit_and_kill(request):
    answer = submit(request)
    for worker in POOL.pids:
        os.kill(worker, signal.SIGKILL)
    return answer

POOL.submit = submit_and_kill
compile_as_launched(copy, f32, f32)
print(*map(int, found))
"""


def test_killed_worker(tmp_path: Path):
    """This process compiles the kernel, and logs that."""
    script = start_script(KILL, tmp_path)
    output, errors = script.communicate()
    assert output == "0\n"
    assert "ended with status -9 at kernel 'copy'; this process compiles it" in errors
