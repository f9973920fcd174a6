"""Lowering of contractions to loops over matrix engine instructions of the NPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.operations.banded_matmul import role_of
from tlf.dialects import mem, npu
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.npu_machine import machine_of
from tlf.lowering.mem_to_npu.accumulation_mode import build_accumulation_condition
from tlf.lowering.mem_to_npu.instruction_dims import (
    InstructionDim,
    build_loop_nest,
    merge_dims,
    operand_strides,
    operand_view,
    split_dims,
)
from tlf.lowering.mem_to_npu.memref_views import BufferView, BufferViews
from tlf.lowering.mem_to_npu.vector_opcodes import can_accumulate_in, check_multipliable
from tlf.machine.instruction_costs import InstructionCosts

ROLES = ("batch", "m", "n", "k")


def convert_contract(
    op: mem.ContractOp, views: BufferViews, machine: TargetSpec
) -> None:
    """
    Lower a contraction to matrix instructions.

    A dim of the domain is a reduction dim (k) if the output does not have it. Other
    dims are indexed by the left input (m), the right input (n) or both (batch). The
    address generator iterates over the inner `MAX_MATMUL_DIMENSIONS` dims of each role,
    loops over the outer dims. The inputs are swapped if the array is faster then.
    """
    _check_types(op, machine)
    product = _Product.of(op, views)
    element = op.input_types[0].element_type
    if product.is_faster_swapped(str(element), InstructionCosts(machine_of(machine))):
        product = product.swap_operands()
    outer, inner = product.outer, product.inner
    index, iteration_views, counters = build_loop_nest(op, product.operands, outer)
    strides_by_operand = [
        _operand_strides(inner, roles, number)
        for number, roles in enumerate(("batch m n", "batch m k", "batch k n"))
    ]
    accesses = [
        view.to_access(index, strides)
        for view, strides in zip(iteration_views, strides_by_operand, strict=True)
    ]
    extents = [[dim.extent for dim in inner[role]] for role in ROLES]
    is_tf32 = op.precision == "tf32" and element == f32
    precision = "tf32" if is_tf32 else None
    reduction_counters = [
        c for c, dim in zip(counters, outer, strict=True) if dim.role == "k"
    ]
    accumulate = build_accumulation_condition(op, index, reduction_counters)
    index.builder.insert(npu.MatmulOp(accesses, extents, accumulate, precision))


@dataclass(frozen=True)
class _Product:
    """A contraction as a matmul: operand views and dims with their roles."""

    operands: Sequence[BufferView]
    """Views of the result, the left and the right input."""
    dims: Sequence[InstructionDim]

    @classmethod
    def of(cls, op: mem.ContractOp, views: BufferViews) -> "_Product":
        """Return the product with the operand order of `op`."""
        maps = [op.output_maps[0], *op.input_maps]
        views_and_strides = [
            operand_view(views.view_of(value), indexing)
            for value, indexing in zip((op.acc, op.lhs, op.rhs), maps, strict=True)
        ]
        used = [indexing.used_dims() for indexing in maps]
        dims = [
            InstructionDim(
                extent,
                tuple(strides[dimension] for _, strides in views_and_strides),
                role_of(dimension in dimensions for dimensions in used),
            )
            for dimension, extent in enumerate(op.extents)
        ]
        return cls([view for view, _ in views_and_strides], dims)

    def swap_operands(self) -> "_Product":
        """Return the transposed product, with swapped inputs."""
        roles = {"m": "n", "n": "m"}
        result, left, right = self.operands
        dims = [
            InstructionDim(
                dim.extent,
                (result_stride, right_stride, left_stride),
                roles.get(dim.role, dim.role),
            )
            for dim in self.dims
            for result_stride, left_stride, right_stride in [dim.strides]
        ]
        return _Product([result, right, left], dims)

    def is_faster_swapped(self, kind: str, costs: InstructionCosts) -> bool:
        """
        Return `True` if the array executes an instruction of the transposed product in
        fewer cycles.
        """
        batch, m, n, k = (
            prod(dim.extent for dim in self.inner[role]) for role in ROLES
        )
        return costs.is_faster_swapped(batch, m, n, k, kind)

    @cached_property
    def outer(self) -> list[InstructionDim]:
        """Dims that loops iterate over."""
        return [dim for role in ROLES for dim in self._split_dims[role][0]]

    @cached_property
    def inner(self) -> dict[str, list[InstructionDim]]:
        """Dims that an instruction iterates over, by role."""
        return {role: self._split_dims[role][1] for role in ROLES}

    @cached_property
    def _split_dims(
        self,
    ) -> dict[str, tuple[list[InstructionDim], list[InstructionDim]]]:
        return {
            role: split_dims(
                merge_dims([dim for dim in self.dims if dim.role == role]),
                npu.MAX_MATMUL_DIMENSIONS,
            )
            for role in ROLES
        }


def _check_types(op: mem.ContractOp, machine: TargetSpec) -> None:
    element, total = op.input_types[0].element_type, op.output_types[0].element_type
    check_multipliable(op, element, machine)
    if not can_accumulate_in(element, total):
        raise PassFailedException(
            f"mem.contract: the npu cannot accumulate {element} in {total}"
        )


def _operand_strides(
    inner: dict[str, list[InstructionDim]], roles: str, number: int
) -> list[int]:
    return [
        stride
        for role in roles.split()
        for stride in operand_strides(inner[role], number)
    ]
