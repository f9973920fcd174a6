"""
Count GPU kernels and NPU loop nests of computations with cascaded reductions.

    python bench/cascades.py
    python bench/cascades.py causal sink

The computations are the cases of `cascade_cases.py`, in bf16. `kernels` is the number
of groups formed by `triton-pipeline` for the preset `h200`; `nests` the number of tile
loop nests formed by `npu-pipeline` between L3 and L2 of the preset `npu`; and `groups`
the number of groups formed from these between L2 and L1. Reductions fused into one loop
count once in each column.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from attention import Tensor
from cascade_cases import CASES, CascadeCase, T
from name_check import are_known
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.compiler.driver.driver import PASSES, new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph, tile
from tlf.dialects.target import load_target_spec
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.frontend.torch import from_torch
from tlf.lowering.pipelines import pipelines_for


def module_of(case: CascadeCase, inputs: Sequence[Tensor]) -> Any:
    """Return a module that holds the weights of a case and takes its other inputs."""

    class Module(T.nn.Module):
        def forward(self, *given: Any) -> Any:
            weights, rest = iter(self.parameters()), iter(given)
            indices = range(len(inputs))
            return case.form(
                *(next(weights if index in case.weights else rest) for index in indices)
            )

    module = Module()
    for index in case.weights:
        module.register_parameter(f"w{index}", T.nn.Parameter(inputs[index]))
    return module


def import_case(case: CascadeCase, inputs: Sequence[Tensor]) -> ModuleOp:
    """Return a case as an imported program."""
    arguments = [e for index, e in enumerate(inputs) if index not in case.weights]
    return from_torch(module_of(case, inputs), arguments).module


def group_module(module: ModuleOp, target: str, level: int) -> ModuleOp:
    """
    Return a copy of a program after the target pipeline's grouping pass number `level`.
    """
    chip, copy = load_target_spec(target), module.clone()
    chip.attach_to_module(copy)
    passes = build_passes(f"{chip.backend}-pipeline", PASSES, pipelines_for(chip))
    ends = [end for end, each in enumerate(passes, 1) if each.name == "graph-group"]
    PassManager(passes[: ends[level - 1]]).run(new_context(), copy)
    return copy


def count_operations(module: ModuleOp, matches: Callable[[Operation], bool]) -> int:
    """Return the number of matching operations in functions that run on every call."""
    return sum(
        sum(map(matches, op.walk()))
        for op in module.body.block.ops
        if isinstance(op, func.FuncOp) and not is_preparation_function(op)
    )


def is_group(op: Operation) -> bool:
    """Return `True` if an operation is a group."""
    return isinstance(op, graph.GroupOp)


def is_nest(op: Operation) -> bool:
    """Return `True` if an operation is an outermost loop."""
    return isinstance(op, tile.WhileOp) and not isinstance(op.parent_op(), tile.WhileOp)


def format_line(name: str) -> str:
    """Return a row of the table."""
    module = import_case(CASES[name], CASES[name].inputs())
    kernels = count_operations(group_module(module, "h200", 1), is_group)
    grouped = group_module(module, "npu", 2)
    nests, groups = (count_operations(grouped, each) for each in (is_nest, is_group))
    return f"{name:20} {kernels:7} {nests:5} {groups:6}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(CASES))
    names = parser.parse_args(arguments).names
    if not are_known(names, CASES):
        return 1
    print(f"{'computation':20} {'kernels':>7} {'nests':>5} {'groups':>6}")
    for name in names:
        print(format_line(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
