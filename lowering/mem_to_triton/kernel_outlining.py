"""
Lowering of device code to Triton kernels: outline it into kernel functions and insert
launches.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.memory_effects import BUFFER_OPS
from tlf.dialects import mem, triton
from tlf.dialects.function_calls import Functions, callee_name
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.types import element_count_of
from tlf.lowering.mem_to_triton.access_writer import OFFSET_LIMIT
from tlf.lowering.mem_to_triton.dot_shapes import (
    has_split_factors,
    is_computed_by_lanes,
    is_lowered_to_dot,
)
from tlf.lowering.mem_to_triton.index_expressions import (
    INDEX_OPERATIONS,
    IndexExpr,
    IndexTable,
)
from tlf.lowering.mem_to_triton.program_grid import (
    grid_trip_counts,
    is_grid_loop,
    is_persistent_loop,
    loop_mapping_of,
    persistent_program_count_of,
)
from tlf.lowering.mem_to_triton.repeated_calls import RepeatedCalls
from tlf.passes.graph.inline import insert_callee_before
from tlf.planner.cost.gpu.gpu_parameters import Chip

_DEVICE_OPERATIONS = (
    mem.ArgsortOp,
    mem.DmaOp,
    mem.GatherOp,
    mem.Im2colOp,
    mem.LoadOp,
    mem.MaskOp,
    mem.ScatterOp,
    mem.StoreOp,
    mem.StructuredOp,
)
"""Operations that are device code outside loops, in addition to buffer fills."""

_REMATERIALIZED = (
    memref.SubviewOp,
    memref.ReinterpretCastOp,
    mem.FillOp,
    *INDEX_OPERATIONS,
)
"""Pure operations that are cloned into a kernel instead of passed as arguments."""


@dataclass
class KernelOutliner:
    """Outliner of the device code of one function into kernels named after it."""

    function: func.FuncOp
    warps: int | None
    stages: int
    group: int
    chip: Chip | None
    """GPU whose programs run the iterations of persistent grids, if known."""
    used_names: set[str]
    functions: Functions = field(default_factory=dict[str, func.FuncOp])
    """Functions of device code that are called, by name."""
    kernels: list[func.FuncOp] = field(default_factory=list[func.FuncOp])
    _calls: RepeatedCalls = field(init=False, default_factory=RepeatedCalls)

    def outline_kernels(self) -> list[func.FuncOp]:
        """Leave buffers, loops and launches in the function and return its kernels."""
        self._outline_block(self.function.body.block)
        _erase_unused_rematerialized(self.function.body)
        return self.kernels

    def _outline_block(self, block: Block) -> None:
        """Outline each run of device code and each grid loop of `block` to a kernel."""
        self._outline_operations(list(block.ops))

    def _outline_operations(self, operations: Sequence[Operation]) -> None:
        """Outline each run of device code and each grid loop to a kernel."""
        pending: list[Operation] = []
        for op in operations:
            if _is_device_code(op):
                pending.append(op)
                continue
            if _is_rematerialized(op):
                # Cloned into kernels on demand; erased if the host has no use.
                continue
            self._outline_into_kernel(pending)
            pending = []
            if is_grid_loop(op):
                self._outline_into_kernel([op])
            elif isinstance(op, scf.ForOp | scf.ParallelOp):
                self._outline_host_loop(op)
            elif isinstance(op, func.CallOp):
                self._outline_call(op)
            elif not isinstance(
                op, (*BUFFER_OPS, func.ReturnOp, scf.YieldOp, scf.ReduceOp)
            ):
                raise PassFailedException(f"the host does not support {op.name}")
        self._outline_into_kernel(pending)

    def _outline_host_loop(self, op: scf.ForOp | scf.ParallelOp) -> None:
        """Outline the body of a host loop; raise if the loop carries values."""
        if op.results:
            raise PassFailedException(
                f"{op.name}: expected a loop around launches without carried values"
            )
        self._outline_block(op.body.block)

    def _outline_call(self, call: func.CallOp) -> None:
        """
        Replace a call by the host code of a function, whose device code is outlined at
        the first call.
        """
        if (callee := self.functions.get(callee_name(call))) is None:
            raise PassFailedException(f"the host does not support {call.name}")
        if not self._calls.repeat(callee, call):
            before = call.prev_op
            self._outline_operations(insert_callee_before(call, callee))
            self._calls.record(callee, call, before)
        Rewriter.erase_op(call)

    def _outline_into_kernel(self, ops: Sequence[Operation]) -> None:
        """Move `ops` into a new kernel function, and launch it in their place."""
        if not ops:
            return
        insertion_point = InsertPoint.after(ops[-1])
        marker = triton.LaunchOp("marker", (), [1], 1, 1)
        Rewriter.insert_op(marker, insertion_point)
        for op in ops:
            op.detach()
        captures = _CapturedValues(Block())
        for op in ops:
            captures.move_operation_to_kernel(op)
        captures.check_unused_outside_kernel(ops)
        captures.block.add_op(func.ReturnOp())
        kernel = self._build_kernel(captures.block)
        kernel.location = ops[0].location
        launch = self._build_launch(kernel, captures.outer)
        launch.location = ops[0].location
        replace_op(marker, launch)

    def _build_kernel(self, block: Block) -> func.FuncOp:
        """Build the kernel function with body `block`, and append it to `kernels`."""
        for op in block.ops:
            if isinstance(op, scf.ParallelOp) and _has_shared_matmul_operands(op):
                op.attributes.setdefault("group", IntegerAttr(self.group, i64))
        types = [argument.type for argument in block.args]
        kernel = func.FuncOp(
            self._unique_kernel_name(),
            FunctionType.from_lists(types, []),
            Region(block),
        )
        kernel.attributes[triton.KERNEL] = UnitAttr()
        self._set_persistent_program_count(kernel)
        self.kernels.append(kernel)
        return kernel

    def _set_persistent_program_count(self, kernel: func.FuncOp) -> None:
        """Set the attribute `programs` of a persistent grid that has none."""
        loops = filter(is_persistent_loop, kernel.body.block.ops)
        for op in loops:
            if "programs" not in op.attributes:
                op.attributes["programs"] = IntegerAttr(
                    self._count_programs(kernel), i64
                )

    def _count_programs(self, kernel: func.FuncOp) -> int:
        """
        Return the number of programs that run the persistent grid of a kernel. Raises
        `PassFailedException` if the target has no GPU with known figures.
        """
        if self.chip is None:
            raise PassFailedException(
                "expected the target of a persistent grid, or its number of programs"
            )
        return self.chip.count_persistent_programs(self._warp_count(kernel))

    def _unique_kernel_name(self) -> str:
        """Return an unused name: the host function's identifier and a number."""
        base = _to_python_identifier(self.function.sym_name.data)
        number = len(self.kernels)
        while (name := f"{base}_{number}") in self.used_names:
            number += 1
        self.used_names.add(name)
        return name

    def _build_launch(
        self, kernel: func.FuncOp, arguments: Sequence[SSAValue]
    ) -> triton.LaunchOp:
        """Return the launch of `kernel`, with grid size, warps and pipeline stages."""
        loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
        stages = [
            attribute.value.data
            for op in loops
            if isinstance(attribute := op.attributes.get("stages"), IntegerAttr)
        ]
        return triton.LaunchOp(
            kernel.sym_name.data,
            arguments,
            [_program_count(kernel)],
            self._warp_count(kernel),
            max(stages, default=self.stages),
        )

    def _warp_count(self, kernel: func.FuncOp) -> int:
        """Return the warps per program: by attribute, by option, or by tile size."""
        for op in kernel.body.block.ops:
            if (warps := triton.warps_of_loop(op)) is not None:
                return warps
        return self.warps or _default_warp_count(kernel)


class _CapturedValues:
    """Captured values of a kernel: arguments and rematerialized operations."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.outer: list[SSAValue] = []
        self.inner: dict[SSAValue, SSAValue] = {}

    def move_operation_to_kernel(self, op: Operation) -> None:
        """
        Append a detached operation to the kernel, with captured values for outer
        operands.
        """
        local_values = {value for nested in op.walk() for value in nested.results}
        local_values |= {
            argument
            for nested in op.walk()
            for region in nested.regions
            for block in region.blocks
            for argument in block.args
        }
        self.inner.update({result: result for result in op.results})
        for nested in op.walk():
            for index, value in enumerate(nested.operands):
                if value not in local_values:
                    nested.operands[index] = self._capture_value(value, op)
        self.block.add_op(op)

    def _capture_value(self, value: SSAValue, op: Operation) -> SSAValue:
        """Return `value` in the kernel: a clone of its operation, or an argument."""
        if (captured := self.inner.get(value)) is not None:
            return captured
        owner = value.owner
        if isinstance(owner, Operation) and _is_rematerialized(owner):
            operands = [self._capture_value(operand, op) for operand in owner.operands]
            mapping = dict(zip(owner.operands, operands, strict=True))
            copy = owner.clone(mapping)
            copy.location = owner.location
            self.block.add_op(copy)
            result = copy.results[0]
        elif _is_kernel_argument(value):
            result = self.block.insert_arg(value.type, len(self.outer))
            self.outer.append(value)
        else:
            raise PassFailedException(
                f"{op.name}: a kernel cannot use a value of type {value.type} that "
                f"another kernel computes"
            )
        result.name_hint = value.name_hint
        self.inner[value] = result
        return result

    def check_unused_outside_kernel(self, ops: Sequence[Operation]) -> None:
        """Raise `PassFailedException` if a result is used outside the kernel."""
        for op in ops:
            for result in op.results:
                for use in result.uses:
                    if self.block.find_ancestor_op_in_block(use.operation) is None:
                        raise PassFailedException(
                            f"{op.name}: a kernel cannot return a value of type "
                            f"{result.type} to another kernel"
                        )


def _is_kernel_argument(value: SSAValue) -> bool:
    """
    Return `True` if a value becomes a kernel argument: a buffer, or the induction
    variable of a host loop.
    """
    type_: Attribute = value.type
    if isinstance(value, BlockArgument):
        return isinstance(type_, MemRefType | IndexType)
    return isinstance(value.owner, BUFFER_OPS)


def _is_device_code(op: Operation) -> bool:
    """
    Return `True` if an operation outside grid loops is device code, rather than host
    control flow.
    """
    if isinstance(op, scf.ForOp | scf.ParallelOp):
        if is_grid_loop(op) or loop_mapping_of(op) == "host":
            return False
        return not any(map(is_grid_loop, op.walk()))
    if isinstance(op, mem.FillOp):
        return not op.results
    return isinstance(op, _DEVICE_OPERATIONS)


def _is_rematerialized(op: Operation) -> bool:
    return isinstance(op, _REMATERIALIZED) and len(op.results) > 0


def _has_shared_matmul_operands(op: scf.ParallelOp) -> bool:
    """Return `True` if programs of a grid share matmul operands and have no `order`."""
    if len(op.lowerBound) < 2 or "order" in op.attributes:
        return False
    contractions = (o for o in op.walk() if isinstance(o, mem.ContractOp) and o.value)
    return any(is_lowered_to_dot(contraction) for contraction in contractions)


def _program_count(kernel: func.FuncOp) -> int:
    """Return the number of programs: the iterations of the kernel's grid."""
    indices = IndexTable()
    for argument in kernel.body.block.args:
        indices.expressions[argument] = IndexExpr("h", 0, OFFSET_LIMIT)
    total = 1
    for op in kernel.body.block.ops:
        if isinstance(op, INDEX_OPERATIONS):
            indices.evaluate_and_record(op)
        elif is_grid_loop(op):
            total *= _program_count_of_grid(op, indices)
            _check_no_nested_grid(op)
    return total


def _program_count_of_grid(op: scf.ParallelOp, indices: IndexTable) -> int:
    """Return the iterations of a grid loop, at most the programs that run them."""
    iterations = math.prod(grid_trip_counts(op, indices))
    programs = persistent_program_count_of(op)
    return iterations if programs is None else min(iterations, programs)


def _check_no_nested_grid(op: scf.ParallelOp) -> None:
    """Raise `PassFailedException` if the body of `op` contains another grid loop."""
    nested = (n for n in op.body.walk() if isinstance(n, scf.ParallelOp))
    for op in nested:
        if is_grid_loop(op):
            raise PassFailedException("expected no grid loop inside of a grid loop")


def _default_warp_count(kernel: func.FuncOp) -> int:
    """
    Return the default number of warps of a kernel, by the sizes of its largest tiles.
    """
    operations = list(kernel.walk())
    is_reducing = any(isinstance(op, mem.ReduceOp) for op in operations)
    products = (op for op in operations if isinstance(op, mem.ContractOp))
    largest_product = _largest_tile_element_count(
        [
            op
            for op in products
            if is_lowered_to_dot(op)
            and (is_reducing or is_computed_by_lanes(op) or has_split_factors(op))
        ]
    )
    largest = _largest_tile_element_count(operations)
    carried = map(_accumulated_product_element_count, operations)
    return triton.default_warp_count(max(largest, *carried), largest_product)


def _accumulated_product_element_count(op: Operation) -> int:
    """
    Return the elements of all matrix products that a loop accumulates together; 0 if
    `op` is no loop.
    """
    if not isinstance(op, scf.ForOp):
        return 0
    terminator = op.body.block.last_op
    values = () if terminator is None else terminator.operands
    owners = (each.owner for each in values)
    return sum(
        element_count_of(each.results[0])
        for each in owners
        if isinstance(each, mem.ContractOp) and is_lowered_to_dot(each)
    )


def _largest_tile_element_count(operations: Sequence[Operation]) -> int:
    """Return the maximum element count of the tiles that operations compute."""
    sizes = (
        math.prod(cast(TensorType[Attribute], result.type).get_shape())
        for op in operations
        for result in op.results
        if isinstance(result.type, TensorType)
    )
    return max(sizes, default=0)


def _to_python_identifier(name: str) -> str:
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return text if text[:1].isalpha() else f"f{text}"


def _erase_unused_rematerialized(region: Region) -> None:
    """Erase rematerialized operations without remaining uses."""
    for op in reversed(list(region.walk())):
        if _is_rematerialized(op) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
