"""
Time of the partition search, and quality of its schedules, by strategy.

    python bench/partition_search.py --graphs residual,u-net --blocks 5,20 --strategies
    dp,greedy
"""

import argparse
from collections.abc import Sequence
from time import process_time

from partition_graphs import GRAPHS, RooflineCosts

from tlf.support.partition import STRATEGIES, search_schedule

HEADER = (
    f"{'graph':12} {'blocks':>6} {'ops':>5} {'strategy':10} {'cycles':>9} {'kB':>8} "
    f"{'groups':>6} {'states':>7} {'tried':>7} {'asked':>6} {'exact':>5} {'s':>6}"
)


def split_names(text: str) -> list[str]:
    """Return the names of a list separated by commas."""
    return text.split(",")


def format_line(graph: str, blocks: int, strategy: str) -> str:
    """Run one search, and return its line of the table."""
    problem, work = GRAPHS[graph](blocks)
    start = process_time()
    result = search_schedule(problem, RooflineCosts(problem, work), strategy)
    seconds = process_time() - start
    schedule, statistics = result.schedule, result.statistics
    exact = "yes" if statistics.exact else "no"
    return (
        f"{graph:12} {blocks:6} {len(problem.nodes):5} {strategy:10} "
        f"{schedule.time:9,} {schedule.bytes:8,} {len(schedule.steps):6} "
        f"{statistics.states:7} {statistics.candidates:7} {statistics.queries:6} "
        f"{exact:>5} {seconds:6.2f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=split_names, default=list(GRAPHS))
    parser.add_argument("--blocks", type=split_names, default=["5", "20"])
    parser.add_argument("--strategies", type=split_names, default=list(STRATEGIES))
    options = parser.parse_args(arguments)
    print(HEADER)
    for graph in options.graphs:
        for blocks in options.blocks:
            for strategy in options.strategies:
                print(format_line(graph, int(blocks), strategy), flush=True)


if __name__ == "__main__":
    main()
