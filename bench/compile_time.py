"""
Compile time of the workloads of `zoo.py` for an NPU, and work of the group search.

    python bench/compile_time.py
    python bench/compile_time.py resnet50 mobilenet-v2 --target npu
    python bench/compile_time.py transformer --layers 3,6,12,24

`groups` is the number of groups after `graph-pipeline` and `graph-group`; `priced` the
number of sets of groups whose tile sizes were searched; `tilings` the number of tilings
analysed for them; `asked` the number of cost queries; and `states` the number of
visited search states. Times are CPU seconds of the search, and of the target's whole
pipeline.
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

from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.gc_tuning import reduce_garbage_collections
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.lowering.pipelines import pipelines_for
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.support.partition import SearchStatistics

NAMES = ("transformer", "mobilenet-v2", "resnet50")

HEADER = (
    f"{'workload':14} {'layers':>6} {'groups':>6} {'priced':>6} {'tilings':>7} "
    f"{'asked':>6} {'states':>6} {'search':>7} {'compile':>7}"
)


@dataclass(frozen=True)
class SearchEffort:
    """Effort of the partition search of a program."""

    groups: int
    """Number of groups before the search."""
    priced: int
    """Number of sets of groups whose tile sizes were searched."""
    tilings: int
    """Number of tilings that were analysed."""
    statistics: SearchStatistics
    seconds: float


def run_passes(
    text: str, context: Context, module: ModuleOp, target: TargetSpec
) -> float:
    """Run some passes, and return their CPU seconds."""
    passes = build_passes(text, PASSES, pipelines_for(target))
    start = process_time()
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)
    return process_time() - start


def measure_search(module: ModuleOp, target: TargetSpec) -> list[SearchEffort]:
    """Return the effort of the search of each block of a program."""
    context = new_context()
    target.attach_to_module(module)
    level = find_tile_level(target, None)
    run_passes(
        f"graph-pipeline,graph-group{{level={level.name}}}", context, module, target
    )
    efforts: list[SearchEffort] = []
    with reduce_garbage_collections():
        start = process_time()
        for each in GraphPartitionPass().search_partitions(
            context, module, target, level
        ):
            seconds = process_time() - start
            groups, costs = len(each.block_problem.nodes), each.costs
            counts = (
                groups,
                costs.evaluated_group_count,
                costs.tiling_count,
                each.search_result.statistics,
            )
            efforts.append(SearchEffort(*counts, seconds))
            start = process_time()
    return efforts


def format_line(name: str, layers: int, target: TargetSpec) -> str:
    """Return the table row of one workload."""
    text = str(zoo.workload(name).module(layers=layers))
    context = new_context()
    efforts = measure_search(parse_module(context, Source(text, name)), target)
    module = parse_module(context, Source(text, name))
    target.attach_to_module(module)
    compile_seconds = run_passes("npu-pipeline", context, module, target)
    counters = [each.statistics for each in efforts]
    return (
        f"{name:14} {layers:6} {sum(each.groups for each in efforts):6} "
        f"{sum(each.priced for each in efforts):6} "
        f"{sum(each.tilings for each in efforts):7} "
        f"{sum(each.queries for each in counters):6} "
        f"{sum(each.states for each in counters):6} "
        f"{sum(each.seconds for each in efforts):7.1f} {compile_seconds:7.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
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
