"""
Compile time of the workloads of `zoo.py` for an NPU, and work of the group search.

    python bench/compile_time.py
    python bench/compile_time.py resnet50 mobilenet-v2 --target npu
    python bench/compile_time.py transformer --layers 3,6,12,24

Operations are those after `graph-pipeline`, `priced` the groups whose tiles were looked
at, of which `tilings` were analysed, `asked` how often groups were priced, `states` how
many the search visited. Times are CPU seconds: of the search, and of the whole pipeline
of the target.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time

import zoo
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.driver import PASSES, new_context, parse
from tlf.compiler.driver.gc_tuning import reduce_collections
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.lowering.pipelines import pipelines_for
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.support.partition import Statistics

NAMES = ("transformer", "mobilenet-v2", "resnet50")

HEADER = (
    f"{'workload':14} {'layers':>6} {'groups':>6} {'priced':>6} {'tilings':>7} "
    f"{'asked':>6} {'states':>6} {'search':>7} {'compile':>7}"
)


@dataclass(frozen=True)
class SearchEffort:
    """Effort of the search of a program."""

    groups: int
    """That were there before."""
    priced: int
    """Sets of them for which tiles were searched."""
    tilings: int
    """Tiles of these that were analysed."""
    statistics: Statistics
    seconds: float


def run_passes(
    text: str, context: Context, module: ModuleOp, target: TargetSpec
) -> float:
    """Run some passes; return the CPU seconds that they took."""
    passes = build_passes(text, PASSES, pipelines_for(target))
    start = process_time()
    PassManager(passes, verifies=False).run(context, module)
    return process_time() - start


def measure_search(module: ModuleOp, target: TargetSpec) -> list[SearchEffort]:
    """Return the effort of the search of each part of a program."""
    context = new_context()
    target.attach(module)
    level = find_tile_level(target, None)
    run_passes(
        f"graph-pipeline,graph-group{{level={level.name}}}", context, module, target
    )
    found: list[SearchEffort] = []
    with reduce_collections():
        start = process_time()
        for each in GraphPartitionPass().search_partitions(
            context, module, target, level
        ):
            seconds = process_time() - start
            groups, costs = len(each.block_problem.nodes), each.costs
            looked = (
                groups,
                costs.evaluated_groups,
                costs.tiling_count,
                each.result.statistics,
            )
            found.append(SearchEffort(*looked, seconds))
            start = process_time()
    return found


def format_line(name: str, layers: int, target: TargetSpec) -> str:
    """One workload, as a line of the table."""
    text = str(zoo.workload(name).module(layers=layers))
    context = new_context()
    found = measure_search(parse(context, Source(text, name)), target)
    module = parse(context, Source(text, name))
    target.attach(module)
    whole = run_passes("npu-pipeline", context, module, target)
    told = [each.statistics for each in found]
    return (
        f"{name:14} {layers:6} {sum(each.groups for each in found):6} "
        f"{sum(each.priced for each in found):6} "
        f"{sum(each.tilings for each in found):7} "
        f"{sum(each.queries for each in told):6} {sum(each.states for each in told):6} "
        f"{sum(each.seconds for each in found):7.1f} {whole:7.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--layers", default="1", help="of a transformer: such as 3,6")
    parser.add_argument("--target", default="npu")
    options = parser.parse_args(arguments)
    target = load_target_spec(options.target)
    print(HEADER)
    try:
        for name in options.names:
            for layers in map(int, options.layers.split(",")):
                print(format_line(name, layers, target), flush=True)
    except (zoo.ZooError, ValueError) as error:
        print(f"compile_time: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
