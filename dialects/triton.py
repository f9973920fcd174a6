"""
The `triton` dialect: launches of kernels that become Triton programs.

A kernel is a function with the attribute `triton.kernel`. Its arguments are buffers, or
induction variables of host loops. Its body has at most one nest of grid loops, whose
iterations are the programs. The host function allocates buffers and launches kernels.
"""

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    MemoryReadEffect,
    MemoryWriteEffect,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

KERNEL = "triton.kernel"
"""Attribute of a function that is a kernel."""

DEPENDENT = "triton.dependent"
"""
Attribute of a kernel that waits for the kernel before it, and may be launched before
that ends: programmatic dependent launch in CUDA's programming guide.
"""

WARP_SIZE = 32
"""Threads per warp."""


def default_warp_count(
    largest_element_count: int, reduced_element_count: int = 0
) -> int:
    """
    Return the default number of warps of a program: 4 if a thread then has at most 128
    elements of the `largest_element_count` value and 64 elements of
    `reduced_element_count`, else 8.

    `reduced_element_count` is the size of a matrix product that is reduced in the same
    program, with several resident copies.
    """
    threads = 4 * WARP_SIZE
    return (
        8
        if largest_element_count > 128 * threads or reduced_element_count > 64 * threads
        else 4
    )


def warps_of_loop(loop: Operation) -> int | None:
    """
    Return the number of warps that run an iteration of a grid loop, or `None` if it
    follows from the tiles.
    """
    warps = loop.attributes.get("warps")
    return warps.value.data if isinstance(warps, IntegerAttr) else None


class _LaunchSymbolUse(SymbolUserOpInterface):
    """Check that a launch names a kernel of the module and matches its arguments."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, LaunchOp)
        kernel = SymbolTable.lookup_symbol(op, op.kernel)
        if not isinstance(kernel, FuncOp) or KERNEL not in kernel.attributes:
            raise VerifyException(
                f"expected a function with `{KERNEL}`, got {op.kernel}"
            )
        expected = list(kernel.function_type.inputs)
        if (got := list(op.arguments.types)) != expected:
            raise VerifyException(
                f"expected arguments of types ({', '.join(map(str, expected))}), got "
                f"({', '.join(map(str, got))})"
            )


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    Launch a kernel, with one program per point of `grid`.

    Each program is run by `warps` groups of 32 threads. Loops without a number of
    stages are pipelined over `stages` stages. Launches complete in order.

    ```mlir
    func.func @add_0(%x: memref<64xf32, "L3">) attributes {triton.kernel} {
      func.return
    }
    func.func @add(%x: memref<64xf32, "L3">) attributes {tlf.results = 0 : i64} {
      triton.launch @add_0(%x) grid [4] warps 4 stages 3 : (memref<64xf32, "L3">)
      func.return
    }
    ```
    """

    name = "triton.launch"

    arguments = var_operand_def()

    kernel = prop_def(SymbolRefAttr)
    grid = prop_def(DenseArrayBase.constr(i64))
    warps = prop_def(IntegerAttr.constr(i64))
    stages = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(_LaunchSymbolUse(), MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$kernel `(` $arguments `)` `grid` $grid `warps` $warps `stages` $stages "
        "attr-dict `:` `(` type($arguments) `)`"
    )

    def __init__(
        self,
        kernel: str,
        arguments: Sequence[SSAValue],
        grid: Sequence[int],
        warps: int,
        stages: int,
    ) -> None:
        super().__init__(
            operands=[arguments],
            properties={
                "kernel": SymbolRefAttr(kernel),
                "grid": DenseArrayBase.from_list(i64, grid),
                "warps": IntegerAttr(warps, i64),
                "stages": IntegerAttr(stages, i64),
            },
        )

    @property
    def kernel_name(self) -> str:
        return self.kernel.root_reference.data

    @property
    def grid_sizes(self) -> tuple[int, ...]:
        """Number of programs along each axis of the grid."""
        return tuple(self.grid.get_values())

    def verify_(self) -> None:
        if not 1 <= len(self.grid_sizes) <= 3 or min(self.grid_sizes) < 1:
            raise VerifyException(
                f"expected 1 to 3 positive grid sizes, got {list(self.grid_sizes)}"
            )
        if math.prod(self.grid_sizes) >= 2**31:
            raise VerifyException(
                f"expected fewer than 2**31 programs, got {math.prod(self.grid_sizes)}"
            )
        warps, stages = self.warps.value.data, self.stages.value.data
        if warps not in (1, 2, 4, 8, 16, 32):
            raise VerifyException(
                f"expected a power of two of at most 32 warps, got {warps}"
            )
        if stages < 1:
            raise VerifyException(f"expected at least 1 stage, got {stages}")


Triton = Dialect(
    "triton",
    [
        LaunchOp,
    ],
    [],
)
