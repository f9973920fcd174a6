"""
Time and peak memory on a GPU of computations with cascaded reductions.

    python bench/cascades_on_gpu.py
    python bench/cascades_on_gpu.py differential soft_capped --autotune --relaxed
    python bench/cascades_on_gpu.py cross_entropy --inner 4096 --columns 50257
    python bench/cascades_on_gpu.py linear gate --graphs

The computations are the cases of `cascade_cases.py`, in bf16: compiled by TLF, by
Inductor, and eager. Times are of calls from Python, including a call overhead of about
0.1 ms. With `--graphs`, times are of calls in a CUDA graph: the overhead is negligible,
but inputs may be in the cache. Peak memory excludes the inputs and includes buffers
kept between calls. Errors are distances from the result in f32, as multiples of the
distance of the eager result in bf16. `apart` is the time of TLF without optional fusion
of cascaded reductions.
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
    """Inductor's compile mode."""
    options: dict[str, str]
    """TLF's compile options."""
    graphs: bool = False
    """True if calls are timed in a CUDA graph."""

    def microseconds(self, run: Callable[[], object]) -> float:
        """Return the median time of a call, in microseconds."""
        if not self.graphs:
            return microseconds(run)
        timing: Any = import_module("triton.testing")
        return 1e3 * timing.do_bench_cudagraph(run, rep=100, return_mode="median")

    def compile_after_reset(self, module: Any, backend: object) -> Any:
        """Discard compiled code, then compile a module for static shapes."""
        T._dynamo.reset()
        return self.compile_module(module, backend)

    def compile_module(self, module: Any, backend: object) -> Any:
        """Compile a module for static shapes; other compiled code stays."""
        is_own = backend != "inductor"
        mode, options = (None, self.options) if is_own else (self.mode, None)
        return T.compile(
            module, backend=backend, mode=mode, options=options, dynamic=False
        )


def allocated_bytes() -> int:
    """Return the number of allocated bytes after unused memory is freed."""
    T._dynamo.reset()
    gc.collect()
    T.cuda.empty_cache()
    return T.cuda.memory_allocated()


def peak_megabytes(run: Callable[[], object], before: int) -> float:
    """Return the peak memory of a call, in MB, above `before` bytes."""
    T.cuda.synchronize()
    T.cuda.reset_peak_memory_stats()
    run()
    T.cuda.synchronize()
    return (T.cuda.max_memory_allocated() - before) / 1e6


def flatten_outputs(found: Any) -> Any:
    """Return all elements of a result as one f32 vector."""
    tensors = (
        found if hasattr(found, "__iter__") and not T.is_tensor(found) else [found]
    )
    return T.cat([each.float().flatten() for each in tensors])


def time_unfused(module: Any, inputs: Sequence[Tensor], settings: Settings) -> float:
    """Return the time of a module without fusion of cascaded reductions."""
    with (
        patch.object(CascadeFusion, "is_profitable", return_value=False),
        patch.object(ChangeEvaluator, "cycles_saved_by_change", return_value=0),
    ):
        run = settings.compile_after_reset(module, tlf)
        run(*inputs)
    return settings.microseconds(lambda: run(*inputs))


def format_line(
    name: str, case: CascadeCase, sizes: CascadeSizes, settings: Settings
) -> str:
    """Return a row of the table."""
    tensors = case.inputs(sizes)
    module = module_of(case, tensors).cuda().requires_grad_(False)
    arguments = [e.cuda() for n, e in enumerate(tensors) if n not in case.weights]
    eager, times, peaks = (
        flatten_outputs(module(*arguments)),
        list[float](),
        list[float](),
    )
    result: Any = None
    for backend in (tlf, "inductor", None):
        # Peak memory includes buffers that a compiled module keeps between calls.
        before = allocated_bytes()
        function = settings.compile_after_reset(module, backend) if backend else module
        run = partial(function, *arguments)
        if result is None:
            # Moved to host memory, so that the peak excludes the result.
            result = flatten_outputs(run()).cpu()
        else:
            run()
        peaks.append(peak_megabytes(run, before))
        times.append(settings.microseconds(run))
        del run, function
    unfused = time_unfused(module, arguments, settings)
    wide = [e.float() if e.is_floating_point() else e for e in arguments]
    reference = flatten_outputs(module.float()(*wide))
    error = float((result.cuda() - reference).norm() / (eager - reference).norm())
    columns = (times[0], unfused, *times[1:], *peaks)
    return f"{name:<20}" + "".join(f"{n:>9,.0f}" for n in columns) + f"{error:>8.2f}x"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--rows", type=int, default=CascadeSizes.rows)
    parser.add_argument("--inner", type=int, default=CascadeSizes.k)
    parser.add_argument("--columns", type=int, default=CascadeSizes.n)
    parser.add_argument("--tokens", type=int, default=CascadeSizes.s)
    parser.add_argument("--autotune", action="store_true", help="in Inductor")
    parser.add_argument("--graphs", action="store_true", help="time CUDA graphs")
    parser.add_argument("--relaxed", action="store_true", help="numerics, in TLF")
    options = parser.parse_args(arguments)
    if not are_known(options.names, CASES) or lacks_gpu(__file__):
        return 1
    sizes = CascadeSizes(
        rows=options.rows, k=options.inner, n=options.columns, s=options.tokens
    )
    settings = Settings(
        "max-autotune-no-cudagraphs" if options.autotune else None,
        {"numerics": "relaxed"} if options.relaxed else {},
        options.graphs,
    )
    header = ("TLF us", "apart", "Inductor", "eager", "TLF MB", "Inductor", "eager")
    print(" " * 20 + "".join(f"{head:>9}" for head in (*header, "error")))
    for name in options.names:
        try:
            print(format_line(name, CASES[name], sizes, settings), flush=True)
        except T.OutOfMemoryError:
            print(f"{name:<20} out of memory", flush=True)
        T.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
