"""
Time and peak memory on a GPU of computations with cascaded reductions.

    python bench/cascades_on_gpu.py
    python bench/cascades_on_gpu.py differential soft_capped --autotune --relaxed
    python bench/cascades_on_gpu.py cross_entropy --inner 4096 --columns 50257
    python bench/cascades_on_gpu.py linear gate --graphs

The computations are those of `cascade_cases.py`, in bf16: compiled by TLF, by Inductor
and not at all. Times are those of calls from Python, which takes a tenth of a
millisecond by itself; with `--graphs`, those of calls in a CUDA graph, which takes next
to nothing, but inputs may be in the cache. Memory is counted beside inputs, with what
is kept from call to call. Errors are distances from the same in f32, in multiples of
those of PyTorch in bf16. `apart` is the time of TLF where nothing runs in one loop that
need not.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

from attention import Tensor, microseconds
from cascade_cases import CASES, CascadeCase, CascadeSizes, T
from cascades import module_of
from gpu_check import lacks_gpu
from name_check import are_known

from tlf.compiler.api.torch_backend import tlf
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.planner.fusion.cascade_fusion import CascadeFusion


@dataclass(frozen=True)
class Settings:
    """Settings of the two compilers."""

    mode: str | None
    """Of Inductor."""
    options: dict[str, str]
    """Of TLF."""
    graphs: bool = False
    """True if calls in a CUDA graph are timed."""

    def microseconds(self, run: Callable[[], object]) -> float:
        """The median time of a call."""
        if not self.graphs:
            return microseconds(run)
        timing: Any = import_module("triton.testing")
        return 1e3 * timing.do_bench_cudagraph(run, rep=100, return_mode="median")

    def compile_after_reset(self, module: Any, backend: object) -> Any:
        """A module, compiled for the shapes that it is called with, and others not."""
        T._dynamo.reset()
        return self.compile_module(module, backend)

    def compile_module(self, module: Any, backend: object) -> Any:
        """The same, while what others compiled stays."""
        is_own = backend != "inductor"
        mode, options = (None, self.options) if is_own else (self.mode, None)
        return T.compile(
            module, backend=backend, mode=mode, options=options, dynamic=False
        )


def allocated_bytes() -> int:
    """The bytes that are taken once what nothing uses is given back."""
    T._dynamo.reset()
    gc.collect()
    T.cuda.empty_cache()
    return T.cuda.memory_allocated()


def peak_megabytes(run: Callable[[], object], before: int) -> float:
    """The most memory that is taken during a call, beside so many bytes."""
    T.cuda.synchronize()
    T.cuda.reset_peak_memory_stats()
    run()
    T.cuda.synchronize()
    return (T.cuda.max_memory_allocated() - before) / 1e6


def flatten_outputs(found: Any) -> Any:
    """All numbers of a result, in f32."""
    parts = found if hasattr(found, "__iter__") and not T.is_tensor(found) else [found]
    return T.cat([each.float().flatten() for each in parts])


def time_unfused(module: Any, inputs: Sequence[Tensor], settings: Settings) -> float:
    """The time of a module whose groups are not joined."""
    with (
        patch.object(CascadeFusion, "is_profitable", return_value=False),
        patch.object(ChangeEvaluator, "saved_cycles", return_value=0),
    ):
        run = settings.compile_after_reset(module, tlf)
        run(*inputs)
    return settings.microseconds(lambda: run(*inputs))


def format_line(
    name: str, case: CascadeCase, sizes: CascadeSizes, settings: Settings
) -> str:
    """A row of the table."""
    every = case.inputs(sizes)
    module = module_of(case, every).cuda().requires_grad_(False)
    given = [e.cuda() for n, e in enumerate(every) if n not in case.weights]
    eager, times, needed = flatten_outputs(module(*given)), list[float](), list[float]()
    found: Any = None
    for backend in (tlf, "inductor", None):
        # Buffers that a compiled module keeps from call to call count.
        before = allocated_bytes()
        called = settings.compile_after_reset(module, backend) if backend else module
        run = partial(called, *given)
        if found is None:
            # In the memory of the host, so that it does not count.
            found = flatten_outputs(run()).cpu()
        else:
            run()
        needed.append(peak_megabytes(run, before))
        times.append(settings.microseconds(run))
        del run, called
    apart = time_unfused(module, given, settings)
    wide = [e.float() if e.is_floating_point() else e for e in given]
    right = flatten_outputs(module.float()(*wide))
    error = float((found.cuda() - right).norm() / (eager - right).norm())
    columns = (times[0], apart, *times[1:], *needed)
    return f"{name:<20}" + "".join(f"{n:>9,.0f}" for n in columns) + f"{error:>8.2f}x"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--rows", type=int, default=CascadeSizes.rows)
    parser.add_argument("--inner", type=int, default=CascadeSizes.k)
    parser.add_argument("--columns", type=int, default=CascadeSizes.n)
    parser.add_argument("--tokens", type=int, default=CascadeSizes.s)
    parser.add_argument("--autotune", action="store_true", help="in Inductor")
    parser.add_argument("--graphs", action="store_true", help="time CUDA graphs")
    parser.add_argument("--relaxed", action="store_true", help="numerics, in TLF")
    found = parser.parse_args(arguments)
    if not are_known(found.names, CASES) or lacks_gpu(__file__):
        return 1
    sizes = CascadeSizes(
        rows=found.rows, k=found.inner, n=found.columns, s=found.tokens
    )
    settings = Settings(
        "max-autotune-no-cudagraphs" if found.autotune else None,
        {"numerics": "relaxed"} if found.relaxed else {},
        found.graphs,
    )
    heads = ("TLF us", "apart", "Inductor", "eager", "TLF MB", "Inductor", "eager")
    print(" " * 20 + "".join(f"{head:>9}" for head in (*heads, "error")))
    for name in found.names:
        try:
            print(format_line(name, CASES[name], sizes, settings), flush=True)
        except T.OutOfMemoryError:
            print(f"{name:<20} out of memory", flush=True)
        T.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
