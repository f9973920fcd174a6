"""
Kernel time on a GPU of reductions with few results.

    python bench/split_reductions.py
    python bench/split_reductions.py decode product --autotune

Reductions are compiled by TLF, by TLF without split-K, by Inductor, and run eagerly;
times are sums over all kernels of a call. `floor` is the time to move the bytes of
inputs and results at 4.8 TB/s, the bandwidth of an H200. Tensors are in bf16. Errors
are distances from the result in f32, as multiples of the eager distance in bf16, or of
2^-8 times the norm of the result if that is larger.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from unittest.mock import patch

from attention import Tensor, compile_form, grouped_query, plain
from cascade_cases import T
from gpu_check import lacks_gpu
from name_check import are_known

from tlf.compiler.api.torch_backend import tlf
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator

BANDWIDTH = 4.8e6
"""Memory bandwidth in bytes per microsecond."""

Form = Callable[..., Tensor]


def product(x: Tensor, weight: Tensor) -> Tensor:
    """Matrix product with few results."""
    return x @ weight


def softmax(x: Tensor) -> Tensor:
    """Softmax of long rows."""
    return T.softmax(x, -1)


def total(x: Tensor) -> Tensor:
    """Sum of all elements."""
    return x.sum(dtype=T.float32)


def norm(x: Tensor) -> Tensor:
    """Euclidean norm of a vector."""
    return T.linalg.vector_norm(x, dtype=T.float32)


def column_sums(x: Tensor) -> Tensor:
    """Sums of columns, as in the gradient of a bias."""
    return x.sum(0)


CASES: Mapping[str, tuple[Form, Sequence[Sequence[int]]]] = {
    "decode": (plain, [(4, 16, 1, 64), (4, 16, 4096, 64), (4, 16, 4096, 64)]),
    "decode_one": (plain, [(1, 16, 1, 128), (1, 16, 16384, 128), (1, 16, 16384, 128)]),
    "decode_grouped": (
        grouped_query,
        [(4, 32, 1, 128), (4, 8, 8192, 128), (4, 8, 8192, 128)],
    ),
    "product": (product, [(64, 16384), (16384, 512)]),
    "row": (product, [(1, 4096), (4096, 4096)]),
    "long_product": (product, [(256, 65536), (65536, 256)]),
    "softmax": (softmax, [(1, 131072)]),
    "softmaxes": (softmax, [(16, 131072)]),
    "total": (total, [(1 << 26,)]),
    "norm": (norm, [(1 << 24,)]),
    "column_sums": (column_sums, [(65536, 1024)]),
}


def kernel_time(run: Callable[[], object], calls: int = 20) -> tuple[float, int]:
    """Return the microseconds of the kernels of a call, and their number."""
    for _ in range(5):
        run()
    T.cuda.synchronize()
    kinds = [T.profiler.ProfilerActivity.CUDA]
    with T.profiler.profile(activities=kinds) as profile:
        for _ in range(calls):
            run()
        T.cuda.synchronize()
    events = profile.key_averages()
    microseconds = sum(each.self_device_time_total for each in events)
    return microseconds / calls, round(
        sum(e.count for e in events if e.device_time) / calls
    )


def format_line(name: str, mode: str | None) -> str:
    """Return a row of the table."""
    form, shapes = CASES[name]
    T.manual_seed(0)
    inputs = [T.randn(*shape, dtype=T.bfloat16, device="cuda") for shape in shapes]
    reference, eager = form(*(each.float() for each in inputs)), form(*inputs).float()
    with_tlf = compile_form(form, tlf)
    result = with_tlf(*inputs).float()
    times = [kernel_time(lambda: with_tlf(*inputs))]
    with patch.object(ChangeEvaluator, "cycles_saved_by_change", return_value=0):
        without_split = compile_form(form, tlf)
        times.append(kernel_time(lambda: without_split(*inputs)))
    inductor = compile_form(form, "inductor", mode)
    times.append(kernel_time(lambda: inductor(*inputs)))
    times.append(kernel_time(lambda: form(*inputs)))
    traffic = sum(each.nbytes for each in inputs) + result.numel() * 2
    resolution = 2.0**-8 * reference.norm()
    error = float(
        (result - reference).norm() / T.maximum((eager - reference).norm(), resolution)
    )
    columns = "".join(f"{time:>9,.1f} {count:>2}" for time, count in times)
    return f"{name:<16}{traffic / BANDWIDTH:>9,.1f}{columns}{error:>8.2f}x"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--autotune", action="store_true")
    options = parser.parse_args(arguments)
    if not are_known(options.names, CASES) or lacks_gpu(__file__):
        return 1
    mode = "max-autotune-no-cudagraphs" if options.autotune else None
    headings = ("TLF us", "whole", "Inductor", "eager")
    header = "".join(f"{head:>12}" for head in headings)
    print(f"{'':<16}{'floor':>9}{header}{'error':>9}")
    for name in options.names:
        print(format_line(name, mode), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
