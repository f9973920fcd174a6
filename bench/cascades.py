"""
How many kernels on a GPU, and nests of loops on an NPU, computations become whose
reductions depend on each other.

    python bench/cascades.py
    python bench/cascades.py causal sink

The computations are those of `cascade_forms.py`, in f32. `kernels` counts the groups
that `triton-pipeline` makes for the preset `h200`, `nests` the loops over tiles that
`npu-pipeline` makes between L3 and L2 of the preset `npu`, and `groups` what it makes
of them between L2 and L1. Reductions in one loop are one of each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cascade_forms import CASES, Case, T
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.dialects import graph, tile
from tlf.dialects.target import load
from tlf.frontend.torch import from_torch
from tlf.lowering.pipelines import pipelines_for, tiling
from tlf.tools.driver import PASSES, new_context
from tlf.tools.pass_manager import PassManager
from tlf.tools.pipeline import build_passes

KERNELS = "graph-pipeline,graph-unfold-windows,tidy,graph-group"
MERGE = "graph-partition{level=L2},graph-choose-layouts{level=L2},"
NESTS = f"graph-pipeline,{tiling('L2', MERGE)}"
GROUPS = "graph-collapse-axes,graph-group{level=L1}"


def imported(case: Case) -> ModuleOp:
    """A computation as a program."""

    class Module(T.nn.Module):
        def forward(self, *inputs: Any) -> Any:
            return case.form(*inputs)

    return from_torch(Module(), case.inputs()).module


def run(text: str, module: ModuleOp, target: str) -> None:
    """Run passes for a target."""
    chip = load(target)
    chip.attach(module)
    passes = build_passes(text, PASSES, pipelines_for(chip))
    PassManager(passes).run(new_context(), module)


def count(module: ModuleOp, matches: Callable[[Operation], bool]) -> int:
    """How many operations of a module are of a kind."""
    return sum(map(matches, module.walk()))


def is_group(op: Operation) -> bool:
    """Whether an operation is a group."""
    return isinstance(op, graph.GroupOp)


def is_nest(op: Operation) -> bool:
    """Whether an operation is a loop in no other one."""
    return isinstance(op, tile.WhileOp) and not isinstance(op.parent_op(), tile.WhileOp)


def line(name: str) -> str:
    """A row of the table."""
    for_gpu, for_npu = imported(CASES[name]), imported(CASES[name])
    run(KERNELS, for_gpu, "h200")
    run(NESTS, for_npu, "npu")
    nests = count(for_npu, is_nest)
    run(GROUPS, for_npu, "npu")
    groups = count(for_npu, is_group)
    return f"{name:20} {count(for_gpu, is_group):7} {nests:5} {groups:6}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CASES))
    names = parser.parse_args(arguments).names
    if unknown := [name for name in names if name not in CASES]:
        known = ", ".join(CASES)
        print(f"expected some of {known}, got {unknown[0]}", file=sys.stderr)
        return 1
    print(f"{'computation':20} {'kernels':>7} {'nests':>5} {'groups':>6}")
    for name in names:
        print(line(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
