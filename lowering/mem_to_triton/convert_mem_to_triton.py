"""Pass `convert-mem-to-triton`: outline kernels and replace them by launches."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import triton
from tlf.dialects.target import TargetSpec
from tlf.lowering.mem_to_triton.kernel_deduplication import deduplicate_kernels
from tlf.lowering.mem_to_triton.kernel_legality import check_kernel
from tlf.lowering.mem_to_triton.kernel_outlining import KernelOutliner


@dataclass(frozen=True)
class ConvertMemToTritonPass(ModulePass):
    """
    Outline kernels, and leave allocations, loops and launches in the host function.

    Each outermost `scf.parallel` with the mapping `grid` becomes a kernel, and its
    iterations become programs. Moves and computation outside of such nests become
    kernels of one program. A loop with the mapping `host`, or around a grid, stays in
    the host. Every kernel is checked: tiles have extents that are powers of two and at
    most 2**20 elements, values are not read through windows, and Triton has all
    operations. Kernels that differ in nothing but names become one.

    The number of warps comes from the attribute `warps` of a grid loop, else from the
    pass; the number of stages is the largest of the kernel's loops, else from the pass.

    Programs that share the factors of a matrix product run in groups, so that a factor
    is still in the cache when it is read again: the attribute `group` of a grid loop,
    else the one of the pass, says how many steps along its last axis but one go with
    each step along the last. A loop with an `order` keeps that.
    """

    name = "convert-mem-to-triton"

    warps: int | None = None
    """Warps per program; without it, chosen by the size of the kernel's tiles."""

    stages: int = 3
    """Pipeline stages of kernels with no loop that says how many."""

    group: int = 16
    """Programs that read the same columns of a matrix product one after the other."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if TargetSpec.is_attached_to(op):
            TargetSpec.of(op).check_backend("triton")
        functions = [
            function
            for function in op.ops
            if isinstance(function, func.FuncOp)
            and not function.is_declaration
            and triton.KERNEL not in function.attributes
        ]
        taken = {
            function.sym_name.data
            for function in op.ops
            if isinstance(function, func.FuncOp)
        }
        made: list[func.FuncOp] = []
        for function in functions:
            kernels = KernelOutliner(
                function, self.warps, self.stages, self.group, taken
            ).run()
            for kernel in kernels:
                Rewriter.insert_op(kernel, InsertPoint.before(function))
            made += kernels
        deduplicate_kernels(op, made)
        for kernel in op.ops:
            if isinstance(kernel, func.FuncOp) and triton.KERNEL in kernel.attributes:
                check_kernel(kernel)
