"""Explanation of plans: summary of the groups of a program, with remarks of passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.explain.group_costs import describe_group_costs
from tlf.compiler.explain.remark_report import Remark
from tlf.dialects.graph import GroupOp
from tlf.dialects.module_paths import module_path_of
from tlf.dialects.weight_preparation_attributes import is_preparation_function


def describe_groups(module: ModuleOp, remarks: Mapping[str, Sequence[Remark]]) -> str:
    """
    Return a description of the groups: a line with the plan of each, then its lower
    bound and predicted time where known. Remarks of passes follow: rewrites that were
    applied, and rewrites that were missed with the reason.
    """
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    costs = describe_group_costs(module)
    lines: list[str] = []
    for function in sorted(functions, key=is_preparation_function):
        lines += ["before the first call:"] if is_preparation_function(function) else []
        groups = (op for op in function.walk() if isinstance(op, GroupOp))
        for index, group in enumerate(groups):
            lines.append(_describe_group_on_one_line(index, group))
            lines += [f"  {costs[group]}"] if group in costs else []
    lines += [
        str(each) for function_remarks in remarks.values() for each in function_remarks
    ]
    return "\n".join(lines)


def _describe_group_on_one_line(group_index: int, group: GroupOp) -> str:
    """Return a group on one line: its operations, its plan, and its origin."""
    names = [op.name.removeprefix("graph.") for op in group.body.block.ops]
    plan = "" if group.plan is None else f"  {group.plan}"
    part = f"  {module_path_of(group)}" if module_path_of(group) else ""
    return f"group {group_index}: {', '.join(names[:-1])}{plan}{part}"
