"""The groups of a program in words, and what passes did with them."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.graph import GroupOp, remarks_of
from tlf.dialects.parts import part_of
from tlf.dialects.prepared import is_preparation
from tlf.lowering.pipelines import PIPELINES
from tlf.tools.group_costs import costs_of


def told(module: ModuleOp) -> str:
    """
    What runs together, and by which plan: a line for each group, and where time is
    known, what it takes at least and by the model. Then what passes did, and what they
    left alone and why.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    costs = costs_of(module)
    lines: list[str] = []
    for function in sorted(functions, key=is_preparation):
        lines += ["before the first call:"] if is_preparation(function) else []
        groups = (op for op in function.walk() if isinstance(op, GroupOp))
        for number, group in enumerate(groups):
            lines.append(_described(number, group))
            lines += [f"  {costs[group]}"] if group in costs else []
    noted = [str(each) for op in functions for each in remarks_of(op)]
    return "\n".join([*lines, *sorted(noted, key=_pass_of)])


def _described(number: int, group: GroupOp) -> str:
    """A group on one line: its operations, its plan, and where it comes from."""
    names = [op.name.removeprefix("graph.") for op in group.body.block.ops]
    plan = "" if group.plan is None else f"  {group.plan}"
    part = f"  {part_of(group)}" if part_of(group) else ""
    return f"group {number}: {', '.join(names[:-1])}{plan}{part}"


def _pass_of(remark: str) -> int:
    """Where the pass of a remark stands among those on whole tensors."""
    name = remark.partition(":")[0]
    order = PIPELINES["graph-pipeline"].split(",")
    return order.index(name) if name in order else len(order)
