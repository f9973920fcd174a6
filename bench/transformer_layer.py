"""
Kernel time of a transformer layer on a GPU.

    python bench/transformer_layer.py
    python bench/transformer_layer.py --tokens 4096 --autotune --relaxed --kernels

The layer is compiled by TLF, by TLF with its norms in separate kernels, by Inductor,
and run eagerly. It is a pre-norm layer in bf16 of PyTorch's attention function and an
MLP with four times as many channels. Times are microseconds of all kernels of a call,
the median over rounds that run all variants, in reverse order every other round; the
number of kernels follows. `saved` is the reduction by folding the norms, compared
within a round. Errors are distances from the result in f32, as multiples of the eager
distance in bf16.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, TypeAlias
from unittest.mock import patch

from cascade_cases import T
from cascades_on_gpu import Settings, flatten_outputs
from gpu_check import lacks_gpu
from split_reductions import kernel_time
from torch_models_attention import PreNormLayer

from tlf.compiler.api.torch_backend import tlf
from tlf.passes.graph import graph_expose_cascaded_reductions

Run: TypeAlias = Callable[[], object]
Taken: TypeAlias = tuple[float, int]
"""Microseconds of kernels, and their number."""

FOLDED, APART = "folded", "norms apart"


def profile_kernels(run: Run) -> Iterator[str]:
    """Yield a line for each kernel of a call, with its microseconds."""
    kinds = [T.profiler.ProfilerActivity.CUDA]
    with T.profiler.profile(activities=kinds) as profile:
        run()
        T.cuda.synchronize()
    for each in profile.events():
        if each.device_time:
            yield f"    {each.device_time:>9,.1f} {each.name[:80]}"


def compile_without_folding(
    source: Any, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compile with the TLF backend without exposing cascaded reductions."""
    with patch.object(graph_expose_cascaded_reductions, "expose_cascades_of_block"):
        return tlf(source, inputs, options=options)


def time_rounds(ways: Mapping[str, Run], count: int) -> Iterator[Mapping[str, Taken]]:
    """Yield the times of all variants round by round, in alternating order."""
    order = list(ways)
    for _ in range(count):
        yield {name: kernel_time(ways[name]) for name in order}
        order.reverse()


def format_summary(
    ways: Sequence[str], taken: Sequence[Mapping[str, Taken]]
) -> Iterator[str]:
    """Yield the median times over all rounds, and the savings of folding per round."""
    for name in ways:
        time = median(each[name][0] for each in taken)
        yield f"{name:<16}{time:>9,.1f}{taken[0][name][1]:>4}"
    saved = [each[APART][0] - each[FOLDED][0] for each in taken]
    wins = sum(each > 0 for each in saved)
    yield f"{'saved':<16}{median(saved):>9,.1f}  in {wins} of {len(saved)} turns"


def measure_lines(found: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """Yield the lines of all measurements."""
    T.manual_seed(0)
    layer = PreNormLayer(found.width, found.width // 64, is_fused=True)
    layer = layer.cuda().to(T.bfloat16).eval().requires_grad_(False)
    shape = found.batches, found.tokens, found.width
    x = T.randn(*shape, dtype=T.bfloat16, device="cuda")
    eager = flatten_outputs(layer(x))
    backends = {FOLDED: tlf, APART: compile_without_folding, "Inductor": "inductor"}
    compiled = {
        name: settings.compile_module(layer, each) for name, each in backends.items()
    }
    runs = {
        name: partial(run, x) for name, run in (*compiled.items(), ("eager", layer))
    }
    result = flatten_outputs(runs[FOLDED]())
    yield from format_summary([*runs], [*time_rounds(runs, found.slot_nest)])
    if found.kernels:
        for name, run in runs.items():
            yield name
            yield from profile_kernels(run)
    reference = flatten_outputs(layer.float()(x.float()))
    error = float((result - reference).norm() / (eager - reference).norm())
    yield f"{'error':<16}{error:>9.2f}x"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--width", type=int, default=1024, help="64 for each head")
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--autotune", action="store_true", help="in Inductor")
    parser.add_argument("--relaxed", action="store_true", help="numerics, in TLF")
    parser.add_argument("--kernels", action="store_true", help="the time of each")
    options = parser.parse_args(arguments)
    if lacks_gpu(__file__):
        return 1
    settings = Settings(
        "max-autotune-no-cudagraphs" if options.autotune else None,
        {"numerics": "relaxed"} if options.relaxed else {},
    )
    for text in measure_lines(options, settings):
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
