"""Deduplicate kernels that differ in nothing but names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.rewriter import Rewriter

from tlf.dialects import triton
from tlf.passes.graph.cse import body_key


def deduplicate_kernels(module: ModuleOp, kernels: Sequence[func.FuncOp]) -> None:
    """
    Let launches of kernels that differ in nothing but names launch the first of them,
    and erase the others. Layers that are alike then share their kernels.
    """
    launches: dict[str, list[triton.LaunchOp]] = {}
    for op in module.walk():
        if isinstance(op, triton.LaunchOp):
            launches.setdefault(op.kernel_name, []).append(op)
    known: dict[Hashable, func.FuncOp] = {}
    for kernel in kernels:
        users = launches.get(kernel.sym_name.data, [])
        how = {(op.grid, op.properties["warps"], op.stages) for op in users}
        attributes = frozenset(kernel.attributes.items())
        key = (kernel.function_type, attributes, frozenset(how), body_key(kernel))
        first = known.setdefault(key, kernel)
        if first is not kernel:
            for op in users:
                op.kernel = SymbolRefAttr(first.sym_name)
            Rewriter.erase_op(kernel)
