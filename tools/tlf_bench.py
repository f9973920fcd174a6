"""
`tlf-bench`: measure the compiler against baselines and ablations.

Errors are one line on stderr, and the exit status is 1. A variant that does not compile
a program is a row of the table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tlf.tools.bench_options import BenchOptions, parse_arguments
from tlf.tools.define_tool import define_tool

if TYPE_CHECKING:
    from tlf.compiler.experiments.experiment_program import Program
    from tlf.compiler.experiments.result_table import Table
    from tlf.dialects.target import TargetSpec

OCTAVES = range(16, 27)
"""Powers of two of the capacities of a sweep: from 64 KiB to 64 MiB."""


@define_tool("tlf-bench")
def main(arguments: Sequence[str] | None, tool: str) -> None:
    """Run the `tlf-bench` command."""
    options = parse_arguments(arguments, tool)

    # Modules that need xDSL are imported only now, so that `--help` is quick.
    from xdsl.utils.exceptions import DiagnosticException

    from tlf.compiler.driver.diagnostics import CompileError
    from tlf.compiler.driver.source import SourceError

    try:
        table = _run_experiment(options)
    except CompileError as error:
        print(error.diagnostic, file=sys.stderr)
        sys.exit(1)
    except (DiagnosticException, SourceError) as error:
        options.exit_with_error(str(error))
    print(json.dumps(table.to_data(), indent=1) if options.json else table.to_text())


def _run_experiment(options: BenchOptions) -> Table:
    """Read all programs, and return the table of the chosen experiment."""
    from tlf.compiler.driver.target_loading import load_target
    from tlf.compiler.experiments import (
        dp_gains,
        machine_balance,
        strategy_comparison,
        variant_comparison,
    )
    from tlf.compiler.experiments.experiment_program import Program

    target = load_target(options.target)
    target.require_backend("npu")
    programs = [Program(each, options.layout is not None) for each in options.files]
    for program in programs:
        program.read_module()
    jobs = options.jobs
    match options.experiment:
        case "baselines":
            return variant_comparison.tabulate_baselines(programs, target, jobs)
        case "ablate":
            return variant_comparison.tabulate_ablations(programs, target, jobs)
        case "targets":
            variants = (
                {options.target: target}
                if options.only
                else machine_balance.make_balance_variants(target)
            )
            return machine_balance.tabulate_gaps(programs, variants, jobs)
        case "strategies":
            sizes = _targets_by_size(options, target)
            if options.brief:
                return dp_gains.tabulate_gains(programs, sizes)
            return strategy_comparison.compare_strategies(
                programs, sizes, jobs, not options.model
            )
        case _:
            return _sweep_l2(options, programs, target)


def _targets_by_size(
    options: BenchOptions, target: TargetSpec
) -> Mapping[str, TargetSpec]:
    """Return the target with each requested capacity, by display name."""
    from tlf.dialects.target import parse_bytes

    if options.l2 is None:
        return {options.target: target}
    return {
        f"L2={size}": target.with_capacities({"L2": parse_bytes(size)})
        for size in options.l2.split(",")
    }


def _sweep_l2(
    options: BenchOptions, programs: Sequence[Program], target: TargetSpec
) -> Table:
    """Return traffic over capacities of L2 as a table; write the plot if requested."""
    from tlf.compiler.driver.source import write_text_file
    from tlf.compiler.experiments.capacity_sweep import (
        sweep_capacities,
        tabulate_curves,
    )
    from tlf.compiler.experiments.traffic_plot import render_curves
    from tlf.dialects.target import parse_bytes

    sizes = [1 << power for power in OCTAVES]
    if options.l2 is not None:
        sizes = [parse_bytes(size) for size in options.l2.split(",")]
    curves = sweep_capacities(programs, target, "L2", sizes, options.jobs)
    if options.plot is not None:
        write_text_file(str(options.plot), render_curves(curves, "L2"))
    return tabulate_curves(curves, "L2")


if __name__ == "__main__":
    main()
