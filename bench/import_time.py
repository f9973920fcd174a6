"""
Time the import of a PyTorch network as an optimised graph, step by step.

    python bench/import_time.py
    python bench/import_time.py --networks bert --profile
    python bench/import_time.py --networks gpt-2 --layers 6,12,24

The network and its weights are built before timing. Times are seconds, the minimum of
all runs for each step; `start` is the time of PyTorch's first export in a process, and
counts for every network. With `--layers`, times are microseconds per operation of the
graph, without `start`, for networks with the listed numbers of layers. The last column
is the factor for twice the operations; 1.00 means linear time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from cProfile import Profile
from functools import partial

import torch
from hot_spots import hot_spots
from scaling import format_table
from torch_model import Model
from torch_models import MODELS

from tlf.compiler.driver.driver import PASSES, new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.timing import Timing
from tlf.frontend.torch.export import decompose_program, export_module, import_program
from tlf.lowering.pipelines import PIPELINES

NETWORKS = {model.name: model for model in MODELS}

Seconds = Mapping[str, float]


class ImportTimeOptions(argparse.Namespace):
    """Command-line options."""

    networks: str
    size: str
    layers: str
    runs: int
    profile: bool


def import_and_optimise(
    network: torch.nn.Module, inputs: Sequence[object]
) -> tuple[int, Seconds]:
    """Return the number of imported operations, and the seconds of each step."""
    timing = Timing()
    with timing.measure("export (PyTorch)"):
        program = export_module(network, inputs)
    with timing.measure("decompose (PyTorch)"):
        program = decompose_program(program)
    with timing.measure("convert"):
        module = import_program(program).module
    operations = sum(1 for _ in module.walk())
    passes = build_passes("graph-pipeline", PASSES, PIPELINES)
    PassManager(passes, timing=timing).run(new_context(), module)
    return operations, timing.seconds


def measure_start() -> float:
    """Return the seconds of the first import in a process."""
    timing = Timing()
    with timing.measure("start"):
        import_and_optimise(torch.nn.Conv2d(1, 1, 1).eval(), [torch.zeros(1, 1, 2, 2)])
    return timing.seconds["start"]


def best_of(run: Callable[[], tuple[int, Seconds]], runs: int) -> tuple[int, Seconds]:
    """Return the number of operations, and the minimum seconds of each step."""
    results = [run() for _ in range(runs)]
    steps = results[0][1]
    return results[0][0], {
        step: min(each[step] for _, each in results) for step in steps
    }


def seconds_table(columns: Mapping[str, Seconds]) -> list[str]:
    """Return a line for each step, and the total."""
    steps = dict.fromkeys(step for each in columns.values() for step in each)
    lines = [f"{'seconds':36}" + "".join(f"{name:>14}" for name in columns)]
    for step in steps:
        figures = "".join(f"{each.get(step, 0):14.3f}" for each in columns.values())
        lines.append(f"  {step:34}{figures}")
    totals = "".join(f"{sum(each.values()):14.3f}" for each in columns.values())
    return [*lines, f"  {'total':34}{totals}"]


def report_networks(models: Sequence[Model], options: ImportTimeOptions) -> None:
    """Print the times of each network, and hot spots if profiling is enabled."""
    first = measure_start()
    columns: dict[str, Seconds] = {}
    spots: list[str] = []
    for model in models:
        run = partial(import_and_optimise, *model.build(options.size))
        _, seconds = best_of(run, options.runs)
        columns[model.name] = {"start": first, **seconds}
        if options.profile:
            profile = Profile()
            profile.runcall(run)
            spots += ["", f"{model.name}, seconds while profiled", *hot_spots(profile)]
    print("\n".join([*seconds_table(columns), *spots]))


def report_layers(
    model: Model, layers: Sequence[int], options: ImportTimeOptions
) -> None:
    """Print the time per operation for several numbers of layers."""
    measure_start()
    counts: list[int] = []
    times: list[Seconds] = []
    for layer_count in layers:
        run = partial(
            import_and_optimise, *model.build(options.size, layers=layer_count)
        )
        count, seconds = best_of(run, options.runs)
        counts.append(count)
        times.append({step: 1e6 * each / count for step, each in seconds.items()})
    print("\n".join(format_table(model.name, counts, times)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--networks", default="resnet-50,gpt-2")
    parser.add_argument("--size", default="full", choices=("full", "small", "tiny"))
    parser.add_argument("--layers", default="", help="numbers of layers to compare")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="print the hot spots")
    options = parser.parse_args(arguments, namespace=ImportTimeOptions())
    names = options.networks.split(",")
    if unknown := [name for name in names if name not in NETWORKS]:
        known = ", ".join(NETWORKS)
        parser.error(f"expected networks among {known}, got {', '.join(unknown)}")
    models = [NETWORKS[name] for name in names]
    if not options.layers:
        report_networks(models, options)
        return
    for model in models:
        layers = [int(count) for count in options.layers.split(",")]
        report_layers(model, layers, options)


if __name__ == "__main__":
    main()
