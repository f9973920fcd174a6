"""The output format `analysis`: what operations cost at least, as a table or JSON."""

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

from tlf.analysis.bounds.bounds import Bounds
from tlf.dialects.graph import GroupOp
from tlf.dialects.interfaces import OperationClass
from tlf.dialects.parts import part_of
from tlf.dialects.prepared import is_preparation
from tlf.passes.report.graph_annotate_lower_bound import bounded, figures
from tlf.passes.report.graph_annotate_roofline import Cost, analyzed, total

FORMATS = ("table", "json")


@dataclass(frozen=True)
class AnalysisTarget(Target):
    """
    Print the cost of every operation of `graph`, as `graph-annotate-roofline` finds it,
    and the totals of each class: of groups instead of what is inside of them, and not
    of what is computed once; then the bounds of every function, as
    `graph-annotate-lower-bound` finds them.
    Needs a module with a target description.
    """

    name = "analysis"

    format: str = "table"
    """`table` or `json`."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        if self.format not in FORMATS:
            raise DiagnosticException(
                f"analysis: expected a format of {', '.join(FORMATS)}, "
                f"got {self.format}"
            )
        rows = [
            (op, cost)
            for op, cost in analyzed(module)
            if cost.work.bytes and _is_counted(op)
        ]
        bounds = list(bounded(module))
        if self.format == "json":
            json.dump(_json(rows) | _bounds_json(bounds), output, indent=1)
            output.write("\n")
            return
        output.write(_table(rows) + _bounds_table(bounds))


def _is_counted(op: Operation) -> bool:
    """Return `True` if an operation is in no group and runs at every call."""
    parent = op.parent_op()
    is_once = isinstance(parent, func.FuncOp) and is_preparation(parent)
    return not isinstance(parent, GroupOp) and not is_once


def _name(op: Operation) -> str:
    """The name of an operation, or of those in a group but for constants."""
    if not isinstance(op, GroupOp):
        return op.name.removeprefix("graph.")
    names = [each.name.removeprefix("graph.") for each in op.body.block.ops]
    return ", ".join(name for name in names[:-1] if name != "constant")


def _totals(costs: Sequence[Cost]) -> dict[str, Cost]:
    """The sums of each class that occurs, and of all."""
    found = {
        str(kind): total([cost for cost in costs if cost.kind == kind])
        for kind in OperationClass
        if any(cost.kind == kind for cost in costs)
    }
    return {**found, "all": total(list(costs))}


def _figures(cost: Cost) -> dict[str, Any]:
    return {
        "class": str(cost.kind),
        "flops": cost.work.flops,
        "bytes": cost.work.bytes,
        "intensity": round(cost.work.intensity, 4),
        "floor_us": round(cost.seconds * 1e6, 6),
    }


def _json(rows: Sequence[tuple[Operation, Cost]]) -> dict[str, Any]:
    return {
        "operations": [
            {"name": op.name, "part": part_of(op), **_figures(cost)}
            for op, cost in rows
        ],
        "totals": {
            name: _figures(cost)
            for name, cost in _totals([cost for _, cost in rows]).items()
        },
    }


COLUMNS = f"{'class':<9}{'flops':>16}{'bytes':>14}{'flops/byte':>12}{'floor us':>12}"


def _table(rows: Sequence[tuple[Operation, Cost]]) -> str:
    totals = _totals([cost for _, cost in rows])
    names = [_name(op) for op, _ in rows]
    width = max(map(len, [*names, *totals, "operation"])) + 2
    lines = [f"{'operation':<{width}}{COLUMNS}  part"]
    for name, (op, cost) in zip(names, rows, strict=True):
        part = part_of(op) or ""
        lines.append(f"{name:<{width}}{_columns(cost)}  {part}")
    lines.append("")
    lines += [f"{name:<{width}}{_columns(cost)}" for name, cost in totals.items()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _columns(cost: Cost) -> str:
    work = cost.work
    return (
        f"{cost.kind!s:<9}{work.flops:>16,}{work.bytes:>14,}"
        f"{work.intensity:>12.2f}{cost.seconds * 1e6:>12.3f}"
    )


Bounded: TypeAlias = tuple[func.FuncOp, Bounds, Bounds | None]

BOUNDS = (
    f"{'payload bytes':>18}{'bus bytes':>16}{'macs':>20}{'cycles':>16}"
    f"{'in passes':>16}{'any engine':>16}  binds"
)


def _bounds_json(rows: Sequence[Bounded]) -> dict[str, Any]:
    functions = {
        function.sym_name.data: {
            **figures(bounds),
            **({} if parts is None else {"partition": figures(parts)}),
        }
        for function, bounds, parts in rows
    }
    return {"bounds": functions}


def _bounds_table(rows: Sequence[Bounded]) -> str:
    lines: list[tuple[str, Bounds]] = []
    for function, bounds, parts in rows:
        lines.append((f"@{function.sym_name.data}", bounds))
        lines += [("  its groups", parts)] if parts is not None else []
    if not lines:
        return ""
    width = max(len(name) for name, _ in (*lines, ("no schedule beats", None))) + 2
    text = [f"{'no schedule beats':<{width}}{BOUNDS}"]
    for name, bounds in lines:
        text.append(
            f"{name:<{width}}{bounds.payload_bytes:>18,}{bounds.bus_bytes:>16,}"
            f"{bounds.macs:>20,}{bounds.cycles:>16,}{bounds.cycles_quantised:>16,}"
            f"{bounds.cycles_any_engine:>16,}  {bounds.binding}"
        )
        text += [f"  moved again by {cut}" for cut in bounds.cuts]
        text += [f"  waits for {each}" for each in bounds.waits]
    return "\n" + "\n".join(text) + "\n"
