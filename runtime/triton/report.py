"""
Compilation of Triton kernels: report of the resources of a plan's kernels on a GPU that
is not present.

    tlf-opt layer.mlir -p triton-pipeline -t triton > layer.py
    python -m tlf.runtime.triton.report layer.py --json layer.json

Kernels are compiled for a Hopper GPU, or another `--capability`. The table lists for
each kernel the registers per thread, bytes of spills and shared memory, instructions
for matrix products, and the number of loads and stores by their width in bits. Spills,
and shared memory above the limit, are marked with `!` and set the exit status to 1.
Serialized asynchronous products are marked with `~`.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tlf.runtime.atomic_write import write_atomically
from tlf.runtime.interruption import exit_on_interruption
from tlf.runtime.triton.launch_plan import Plan, load_plan
from tlf.runtime.triton.offline_compiler import (
    CAPABILITY,
    SHARED_LIMITS,
    KernelResources,
    OfflineCompiler,
)
from tlf.runtime.triton.runtime_errors import TritonRuntimeError

PROG = "python -m tlf.runtime.triton.report"

COLUMNS = (
    "kernel",
    "grid",
    "warps",
    "stages",
    "registers",
    "spills",
    "shared",
    "wgmma",
    "mma",
    "loads",
    "stores",
)


def compile_kernel_resources(
    plan: Plan, capability: int = CAPABILITY
) -> tuple[KernelResources, ...]:
    """Compile every kernel of a plan and return its resources. Raises `KernelError`."""
    with OfflineCompiler(capability) as compiler:
        return compiler.compile_plan_kernels(plan)


def find_kernel_faults(
    resources: KernelResources, capability: int = CAPABILITY
) -> list[str]:
    """
    Return sentences on faults that prevent a kernel from running, or from running fast.
    """
    sentences: list[str] = []
    if resources.assembly is not None and resources.assembly.spilled_bytes:
        sentences.append(
            f"kernel '{resources.kernel}' spills {resources.assembly.spilled_bytes} "
            "bytes"
        )
    limit = SHARED_LIMITS.get(capability)
    if limit is not None and resources.shared > limit:
        sentences.append(
            f"kernel '{resources.kernel}' takes {resources.shared} bytes of shared "
            "memory, "
            f"more than {limit}"
        )
    sentences += [
        f"kernel '{resources.kernel}' is assembled wrongly: {each}"
        for each in resources.wrong_descriptors
    ]
    if resources.assembly is not None and resources.assembly.narrow_extrema:
        sentences.append(
            f"kernel '{resources.kernel}' has {resources.assembly.narrow_extrema} "
            "minima or maxima in 16 bits, which may be assembled wrongly"
        )
    return sentences


def format_resource_table(
    kernel_resources: Sequence[KernelResources], capability: int = CAPABILITY
) -> str:
    """Return a text table of kernel resources: a header and one line per kernel."""
    rows = [
        COLUMNS,
        *(_format_resource_row(each, capability) for each in kernel_resources),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index in (0, 9, 10) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _format_resource_row(
    resources: KernelResources, capability: int
) -> tuple[str, ...]:
    """Return the cells of a kernel, with the marks `!` and `~` for its faults."""
    assembly = resources.assembly
    assert assembly is not None
    limit = SHARED_LIMITS.get(capability, resources.shared)
    return (
        resources.kernel,
        "x".join(map(str, resources.grid)),
        str(resources.warps),
        str(resources.stages),
        str(assembly.registers),
        f"{assembly.spilled_bytes}{'!' if assembly.spilled_bytes else ''}",
        f"{resources.shared}{'!' if resources.shared > limit else ''}",
        f"{assembly.wgmma}{'~' if assembly.is_serialised else ''}",
        str(assembly.mma),
        _format_access_widths(assembly.loads),
        _format_access_widths(assembly.stores),
    )


def _format_access_widths(counts: Mapping[int, int]) -> str:
    return " ".join(f"{bits}:{count}" for bits, count in counts.items()) or "none"


@exit_on_interruption(PROG)
def main(arguments: Sequence[str] | None = None) -> int:
    """
    Print the kernel resources of a plan file; return 1 on an error or a kernel fault.
    """
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Report the resources of the kernels of a plan on a GPU.",
    )
    parser.add_argument("plan", help="output of the target `triton`, or - for stdin")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="additional JSON file"
    )
    parser.add_argument(
        "--capability", type=int, default=CAPABILITY, help="90 for sm_90 (default)"
    )
    options = parser.parse_args(arguments)
    name, file, capability = str(options.plan), options.json, int(options.capability)
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
        found = compile_kernel_resources(load_plan(text), capability)
        print(format_resource_table(found, capability))
        if isinstance(file, Path):
            records = [each.to_record() for each in found]
            text = json.dumps(records, indent=1) + "\n"
            write_atomically(file, lambda path: path.write_text(text, "utf-8"))
    except (TritonRuntimeError, OSError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return int(any(find_kernel_faults(each, capability) for each in found))


if __name__ == "__main__":
    sys.exit(main())
