"""Pass `convert-mem-to-triton`: lower device code to kernels and launches."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import triton
from tlf.dialects.function_calls import (
    called_names_in,
    functions_of,
)
from tlf.dialects.target import TargetSpec
from tlf.lowering.mem_to_triton.cache_retention import select_retained_loads
from tlf.lowering.mem_to_triton.descriptor_selection import select_descriptor_loads
from tlf.lowering.mem_to_triton.kernel_legality import check_kernel_is_supported
from tlf.lowering.mem_to_triton.kernel_outlining import KernelOutliner
from tlf.passes.graph.cse import structural_key_of_regions
from tlf.planner.cost.gpu.gpu_parameters import Chip


@dataclass(frozen=True)
class ConvertMemToTritonPass(ModulePass):
    """
    Outline kernels; allocations, loops and launches stay in the host function.

    Each outermost `scf.parallel` with the mapping `grid` becomes a kernel, and its
    iterations become programs. Moves and compute outside grids become kernels of one
    program. A loop with the mapping `host`, or around a grid, stays in the host
    function. Kernels are verified: the extents of tiles are powers of two, tiles have
    at most 2**20 elements, values are not read through windows, and Triton supports all
    operations. Kernels that only differ in names are merged. A function that is called
    is outlined at its first call, and its kernels are launched again at others.

    The number of warps is the attribute `warps` of a grid loop, or the option of the
    pass. The number of stages is the maximum over the loops of a kernel, or the option
    of the pass.

    Programs that share factors of a matrix product run in groups, so that factors are
    reused from the cache: the attribute `group` of a grid loop, or the option of the
    pass, is the number of iterations along the second to last axis per iteration along
    the last axis. The order of a loop with the attribute `order` is not changed.

    The iterations of a loop with the mapping `persistent` become those of one program
    for each eight warps whose threads have all registers, or of as many programs as its
    attribute `programs`: a program runs every n-th one, in a loop that the compiler may
    pipeline across iterations.

    Loads that are copies of boxes by tensor descriptors get the attribute
    `triton.descriptor`, if the target has such copies.
    """

    name = "convert-mem-to-triton"

    warps: int | None = None
    """Warps per program; by default derived from the kernel's tile sizes."""

    stages: int = 3
    """Pipeline stages of kernels without loops that have the attribute `stages`."""

    group: int = 16
    """Consecutive programs that read the same columns of a matrix product."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = _target_of(op)
        if target is not None:
            target.require_backend("triton")
        chip = None if target is None else Chip.from_target(target)
        functions = functions_of(op)
        called = {
            name: functions[name] for name in called_names_in(op) if name in functions
        }
        taken = {*functions}
        outlined: list[func.FuncOp] = []
        for name, function in functions.items():
            is_kernel = triton.KERNEL in function.attributes
            if is_kernel or name in called or function.is_declaration:
                continue
            kernels = KernelOutliner(
                function, self.warps, self.stages, self.group, chip, taken, called
            ).outline_kernels()
            for kernel in kernels:
                Rewriter.insert_op(kernel, InsertPoint.before(function))
            outlined += kernels
        for function in called.values():
            Rewriter.erase_op(function)
        _deduplicate_kernels(op, outlined)
        for kernel in op.ops:
            if isinstance(kernel, func.FuncOp) and triton.KERNEL in kernel.attributes:
                check_kernel_is_supported(kernel)
                if chip is not None and kernel in outlined:
                    _select_features_of_gpu(kernel, chip)


def _select_features_of_gpu(kernel: func.FuncOp, chip: Chip) -> None:
    """
    Mark the loads of a kernel that the GPU has better instructions for, and the kernel
    if it can wait for the one before.
    """
    if chip.gpu.dependent_launch:
        kernel.attributes[triton.DEPENDENT] = UnitAttr()
    if chip.gpu.boxes is not None:
        select_descriptor_loads(kernel, chip.gpu.boxes)
    if chip.gpu.retains_loads:
        select_retained_loads(kernel, chip.cache.capacity)


def _target_of(module: ModuleOp) -> TargetSpec | None:
    """Return the target of a module, if one is attached."""
    if not TargetSpec.is_attached_to(module):
        return None
    return TargetSpec.read_from_module(module)


def _deduplicate_kernels(module: ModuleOp, kernels: Sequence[func.FuncOp]) -> None:
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
            structural_key_of_regions(kernel),
        )
        first = first_of.setdefault(key, kernel)
        if first is not kernel:
            for op in users:
                op.kernel = SymbolRefAttr(first.sym_name)
            Rewriter.erase_op(kernel)
