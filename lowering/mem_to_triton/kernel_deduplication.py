"""Deduplication of kernels that only differ in names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.rewriter import Rewriter

from tlf.dialects import triton
from tlf.passes.graph.cse import body_key


def deduplicate_kernels(module: ModuleOp, kernels: Sequence[func.FuncOp]) -> None:
    """
    Redirect launches of kernels that only differ in names to the first of them, and
    erase the others. Equal layers then share their kernels.
    """
    launches: dict[str, list[triton.LaunchOp]] = {}
    for op in module.walk():
        if isinstance(op, triton.LaunchOp):
            launches.setdefault(op.kernel_name, []).append(op)
    first_of: dict[Hashable, func.FuncOp] = {}
    for kernel in kernels:
        users = launches.get(kernel.sym_name.data, [])
        launch_parameters = {
            (op.grid, op.properties["warps"], op.stages) for op in users
        }
        attributes = frozenset(kernel.attributes.items())
        key = (
            kernel.function_type,
            attributes,
            frozenset(launch_parameters),
            body_key(kernel),
        )
        first = first_of.setdefault(key, kernel)
        if first is not kernel:
            for op in users:
                op.kernel = SymbolRefAttr(first.sym_name)
            Rewriter.erase_op(kernel)
