"""
Output target `analysis`: emission of roofline costs and lower bounds as a table or
JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from tlf.analysis.bounds.lower_bounds import LowerBounds
from tlf.dialects.graph import GroupOp
from tlf.dialects.interfaces import BottleneckKind
from tlf.dialects.module_paths import module_path_of
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.passes.report.graph_annotate_lower_bound import (
    figures_of_lower_bounds,
    lower_bounds_of_functions,
)
from tlf.passes.report.graph_annotate_roofline import (
    OperationRooflineCost,
    roofline_costs_of_operations,
    total_roofline_cost,
)

FORMATS = ("table", "json")


@dataclass(frozen=True)
class AnalysisTarget(Target):
    """
    Print the `graph-annotate-roofline` cost of every `graph` operation, the totals of
    each operation class, and the `graph-annotate-lower-bound` bounds of every function.

    A group counts in place of its members. Load-time preparation is not counted.
    Requires a module with a target description.
    """

    name = "analysis"

    format: str = "table"
    """`table` or `json`."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write roofline costs and lower bounds of `module` to `output` in `format`."""
        if self.format not in FORMATS:
            raise DiagnosticException(
                f"analysis: expected a format of {', '.join(FORMATS)}, "
                f"got {self.format}"
            )
        rows = [
            (op, cost)
            for op, cost in roofline_costs_of_operations(module)
            if cost.work.bytes and _is_ungrouped_runtime_op(op)
        ]
        bounds = list(lower_bounds_of_functions(module))
        if self.format == "json":
            json.dump(
                _costs_of_operations_to_json(rows) | _lower_bounds_to_json(bounds),
                output,
                indent=1,
            )
            output.write("\n")
            return
        output.write(
            _format_operation_cost_table(rows) + _format_lower_bound_table(bounds)
        )


def _is_ungrouped_runtime_op(op: Operation) -> bool:
    """Return `True` if an operation is in no group and runs on every call."""
    parent = op.parent_op()
    is_once = isinstance(parent, func.FuncOp) and is_preparation_function(parent)
    return not isinstance(parent, GroupOp) and not is_once


def _display_name_of_op_or_group(op: Operation) -> str:
    """
    Return the operation's name, or the names of a group's members except constants.
    """
    if not isinstance(op, GroupOp):
        return op.name.removeprefix("graph.")
    names = [each.name.removeprefix("graph.") for each in op.body.block.ops]
    return ", ".join(name for name in names[:-1] if name != "constant")


def _total_costs_by_operation_class(
    costs: Sequence[OperationRooflineCost],
) -> dict[str, OperationRooflineCost]:
    """Return the total cost of each operation class present, and of all classes."""
    totals = {
        str(kind): total_roofline_cost([cost for cost in costs if cost.kind == kind])
        for kind in BottleneckKind
        if any(cost.kind == kind for cost in costs)
    }
    return {**totals, "all": total_roofline_cost(list(costs))}


def _operation_cost_to_json(cost: OperationRooflineCost) -> dict[str, Any]:
    """Return a roofline cost as JSON figures, with the time floor in microseconds."""
    return {
        "class": str(cost.kind),
        "flops": cost.work.flops,
        "bytes": cost.work.bytes,
        "intensity": round(cost.work.intensity, 4),
        "floor_us": round(cost.seconds * 1e6, 6),
    }


def _costs_of_operations_to_json(
    operation_costs: Sequence[tuple[Operation, OperationRooflineCost]],
) -> dict[str, Any]:
    """Return the cost of each operation and the total of each class for JSON output."""
    return {
        "operations": [
            {
                "name": op.name,
                "part": module_path_of(op),
                **_operation_cost_to_json(cost),
            }
            for op, cost in operation_costs
        ],
        "totals": {
            name: _operation_cost_to_json(cost)
            for name, cost in _total_costs_by_operation_class(
                [cost for _, cost in operation_costs]
            ).items()
        },
    }


COST_COLUMNS = (
    f"{'class':<9}{'flops':>16}{'bytes':>14}{'flops/byte':>12}{'floor us':>12}"
)


def _format_operation_cost_table(
    operation_costs: Sequence[tuple[Operation, OperationRooflineCost]],
) -> str:
    """Return a text table with a cost row per operation and a total row per class."""
    totals = _total_costs_by_operation_class([cost for _, cost in operation_costs])
    names = [_display_name_of_op_or_group(op) for op, _ in operation_costs]
    width = max(map(len, [*names, *totals, "operation"])) + 2
    lines = [f"{'operation':<{width}}{COST_COLUMNS}  part"]
    for name, (op, cost) in zip(names, operation_costs, strict=True):
        part = module_path_of(op) or ""
        lines.append(f"{name:<{width}}{_format_cost_columns(cost)}  {part}")
    lines.append("")
    lines += [
        f"{name:<{width}}{_format_cost_columns(cost)}" for name, cost in totals.items()
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _format_cost_columns(cost: OperationRooflineCost) -> str:
    """Return the class, flops, bytes, intensity and floor in us at fixed widths."""
    work = cost.work
    return (
        f"{cost.kind!s:<9}{work.flops:>16,}{work.bytes:>14,}"
        f"{work.intensity:>12.2f}{cost.seconds * 1e6:>12.3f}"
    )


FunctionBounds: TypeAlias = tuple[func.FuncOp, LowerBounds, LowerBounds | None]

BOUND_COLUMNS = (
    f"{'payload bytes':>18}{'bus bytes':>16}{'macs':>20}{'cycles':>16}"
    f"{'quantised':>16}{'any engine':>16}  bottleneck"
)


def _lower_bounds_to_json(function_bounds: Sequence[FunctionBounds]) -> dict[str, Any]:
    """Return each function's lower bounds, and those of its groups, for JSON output."""
    functions = {
        function.sym_name.data: {
            **figures_of_lower_bounds(bounds),
            **({} if parts is None else {"partition": figures_of_lower_bounds(parts)}),
        }
        for function, bounds, parts in function_bounds
    }
    return {"bounds": functions}


def _format_lower_bound_table(function_bounds: Sequence[FunctionBounds]) -> str:
    """Return a text table of lower bounds per function; empty without functions."""
    lines: list[tuple[str, LowerBounds]] = []
    for function, bounds, parts in function_bounds:
        lines.append((f"@{function.sym_name.data}", bounds))
        lines += [("  its groups", parts)] if parts is not None else []
    if not lines:
        return ""
    width = max(len(name) for name, _ in (*lines, ("lower bounds", None))) + 2
    text = [f"{'lower bounds':<{width}}{BOUND_COLUMNS}"]
    for name, bounds in lines:
        text.append(
            f"{name:<{width}}{bounds.payload_bytes:>18,}{bounds.bus_bytes:>16,}"
            f"{bounds.macs:>20,}{bounds.cycles:>16,}{bounds.cycles_quantised:>16,}"
            f"{bounds.cycles_any_engine:>16,}  {bounds.binding}"
        )
        text += [f"  extra traffic: {cut}" for cut in bounds.extra_traffic]
        text += [f"  waits for {each}" for each in bounds.binding_stalls]
    return "\n" + "\n".join(text) + "\n"
