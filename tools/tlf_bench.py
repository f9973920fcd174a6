"""
`tlf-bench`: what the compiler gains, and what each of its means is worth.

Errors are one line on stderr, and the exit status is 1. A way that does not compile a
program is a row of the table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tlf.runtime.output import read_in_part
from tlf.tools.bench_options import Options, fail, parse_arguments

if TYPE_CHECKING:
    from tlf.compiler.experiments.program import Program
    from tlf.compiler.experiments.table import Table
    from tlf.dialects.target import Target

OCTAVES = range(16, 27)
"""Powers of two of the capacities of a sweep: from 64 KiB to 64 MiB."""


@read_in_part()
def main(arguments: Sequence[str] | None = None) -> None:
    """The `tlf-bench` command."""
    options = parse_arguments(arguments)

    # Modules that need xDSL are imported only now, so that `--help` is quick.
    from xdsl.utils.exceptions import DiagnosticException

    from tlf.compiler.driver.diagnostics import CompileError
    from tlf.compiler.driver.source import SourceError

    try:
        table = _table(options)
    except CompileError as error:
        print(error.diagnostic, file=sys.stderr)
        sys.exit(1)
    except (DiagnosticException, SourceError) as error:
        fail(str(error))
    print(json.dumps(table.data(), indent=1) if options.json else table.text())


def _table(options: Options) -> Table:
    from tlf.compiler.driver.described import load_target
    from tlf.compiler.experiments import chips, gains, strategies, ways
    from tlf.compiler.experiments.program import Program

    target = load_target(options.target)
    target.check_backend("npu")
    programs = [Program(each, options.layout is not None) for each in options.files]
    for program in programs:
        program.read()
    jobs = options.jobs
    match options.experiment:
        case "baselines":
            return ways.baselines(programs, target, jobs)
        case "ablate":
            return ways.ablations(programs, target, jobs)
        case "targets":
            variants = (
                {options.target: target} if options.only else chips.balances(target)
            )
            return chips.gaps(programs, variants, jobs)
        case "strategies":
            sizes = _sized(options, target)
            if options.brief:
                return gains.gained(programs, sizes)
            return strategies.compared(programs, sizes, jobs, not options.model)
        case _:
            return _sweep(options, programs, target)


def _sized(options: Options, target: Target) -> Mapping[str, Target]:
    """The target with each capacity that was asked for, by what it is called."""
    from tlf.dialects.target import bytes_of

    if options.l2 is None:
        return {options.target: target}
    return {
        f"L2={size}": target.resized({"L2": bytes_of(size)})
        for size in options.l2.split(",")
    }


def _sweep(options: Options, programs: Sequence[Program], target: Target) -> Table:
    from tlf.compiler.driver.source import write_text
    from tlf.compiler.experiments.curves import picture
    from tlf.compiler.experiments.sweep import listed, swept
    from tlf.dialects.target import bytes_of

    sizes = [1 << power for power in OCTAVES]
    if options.l2 is not None:
        sizes = [bytes_of(size) for size in options.l2.split(",")]
    curves = swept(programs, target, "L2", sizes, options.jobs)
    if options.plot is not None:
        write_text(str(options.plot), picture(curves, "L2"))
    return listed(curves, "L2")


if __name__ == "__main__":
    main()
