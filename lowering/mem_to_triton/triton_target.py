"""Output target `triton`: kernel sources and the plan that launches them."""

import json
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from tlf.dialects import triton
from tlf.dialects.prepack import is_preparation
from tlf.lowering.mem_to_triton.launch_plan import Json, LaunchPlanBuilder

PLAN_MARKER = "# plan"
"""The line between the kernel sources and the plan."""

PARTS = ("all", "source", "plan")


@dataclass(frozen=True)
class TritonTarget(Target):
    """
    Print each kernel as readable Python, then the plan as JSON after a line `# plan`.

    Takes what `convert-mem-to-triton` leaves. `tlf.runtime.triton.load_plan` reads the
    text.
    """

    name = "triton"

    parts: str = "all"
    """Parts to print: `all`, `source` or `plan`."""

    function: str | None = None
    """The host function to plan; unless given, the one that prepares no other."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        if self.parts not in PARTS:
            raise DiagnosticException(
                f"triton: expected parts of {', '.join(PARTS)}, got {self.parts}"
            )
        plan = build_plan(module, self.function)
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
    """
    A plan, and the sources of its kernels.
    """

    json: Json
    kernels: tuple[str, ...]


def build_plan(module: ModuleOp, function: str | None = None) -> PrintedPlan:
    """
    The plan of a host function of `module`: unless it is named, the only one that
    computes no arguments of another.

    Raises `DiagnosticException`.
    """
    hosts = [
        op
        for op in module.ops
        if isinstance(op, func.FuncOp)
        and not op.is_declaration
        and triton.KERNEL not in op.attributes
    ]
    found = [
        op
        for op in hosts
        if (op.sym_name.data == function if function else not is_preparation(op))
    ]
    if len(found) != 1:
        names = ", ".join(op.sym_name.data for op in hosts)
        wanted = "one host function" if function is None else f"a function {function}"
        raise DiagnosticException(f"triton: expected {wanted}, got {names or 'none'}")
    builder = LaunchPlanBuilder(module, found[0])
    plan = builder.build()
    return PrintedPlan(plan, tuple(builder.sources))
