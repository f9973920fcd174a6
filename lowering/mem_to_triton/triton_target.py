"""Output target `triton`: emission of kernel sources and the launch plan as text."""

import json
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from tlf.dialects import triton
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.lowering.mem_to_triton.launch_plan import Json, LaunchPlanBuilder

PLAN_MARKER = "# plan"
"""Line that separates the kernel sources from the plan."""

PARTS = ("all", "source", "plan")


@dataclass(frozen=True)
class TritonTarget(Target):
    """
    Print each kernel as Python source, a line `# plan`, and the launch plan as JSON.

    Requires a module lowered by `convert-mem-to-triton`. The text is input of
    `tlf.runtime.triton.load_plan`.
    """

    name = "triton"

    parts: str = "all"
    """Parts to print: `all`, `source` or `plan`."""

    function: str | None = None
    """Host function; by default the only one that is not load-time preparation."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the kernel sources, the launch plan as JSON, or both to `output`."""
        if self.parts not in PARTS:
            raise DiagnosticException(
                f"triton: expected parts of {', '.join(PARTS)}, got {self.parts}"
            )
        plan = build_launch_plan(module, self.function)
        if self.parts != "plan":
            for kernel in plan.kernels:
                output.write(f"{kernel}\n\n")
        if self.parts == "all":
            output.write(f"{PLAN_MARKER}\n")
        if self.parts != "source":
            json.dump(plan.json, output, indent=1)
            output.write("\n")


@dataclass(frozen=True)
class PrintedPlan:
    """A launch plan and the sources of its kernels."""

    json: Json
    kernels: tuple[str, ...]


def build_launch_plan(
    module: ModuleOp, host_function: str | None = None
) -> PrintedPlan:
    """
    Return the plan of a host function of `module`, by default the only one that is not
    load-time preparation.

    Raises `DiagnosticException` unless there is exactly one such function.
    """
    hosts = [
        op
        for op in module.ops
        if isinstance(op, func.FuncOp)
        and not op.is_declaration
        and triton.KERNEL not in op.attributes
    ]
    matches = [
        op
        for op in hosts
        if (
            op.sym_name.data == host_function
            if host_function
            else not is_preparation_function(op)
        )
    ]
    if len(matches) != 1:
        names = ", ".join(op.sym_name.data for op in hosts)
        expected = (
            "one host function"
            if host_function is None
            else f"a function {host_function}"
        )
        raise DiagnosticException(f"triton: expected {expected}, got {names or 'none'}")
    builder = LaunchPlanBuilder(module, matches[0])
    plan = builder.build_plan_json()
    return PrintedPlan(plan, tuple(builder.sources))
