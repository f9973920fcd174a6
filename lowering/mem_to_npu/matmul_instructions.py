"""Lowering of contractions to loops over matrix engine instructions of the NPU."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.operations.banded_matmul import iterator_role_of
from tlf.dialects import mem, npu
from tlf.dialects.npu_element_types import unsupported_product_message
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.lowering.mem_to_npu.accumulation_condition import build_accumulation_condition
from tlf.lowering.mem_to_npu.instruction_dims import (
    InstructionDim,
    build_loops_over_dims,
    merge_contiguous_dims,
    split_loop_and_instruction_dims,
    strides_of_operand,
    view_and_domain_strides_of,
)
from tlf.lowering.mem_to_npu.memref_views import BufferView, BufferViews
from tlf.lowering.mem_to_npu.vector_opcodes import can_accumulate_in
from tlf.machine.instruction_costs import InstructionCosts

ROLES = ("batch", "m", "n", "k")


def convert_contraction_to_matmul(
    op: mem.ContractOp, views: BufferViews, machine: TargetSpec
) -> None:
    """
    Insert an `npu.matmul`, in loops over excess dims, before a `mem.contract`; it
    remains.

    A dim of the domain is a reduction dim (k) if the output does not have it. Other
    dims are indexed by the left input (m), the right input (n) or both (batch). The
    address generator iterates over the inner `MAX_MATMUL_DIMENSIONS` dims of each role,
    loops over the outer dims. The inputs are swapped if the array is faster then.
    """
    _check_element_types(op, machine)
    product = _Matmul.from_contraction(op, views)
    element = op.input_types[0].element_type
    if product.is_faster_swapped(
        str(element), InstructionCosts(build_npu_machine(machine))
    ):
        product = product.swap_inputs()
    outer, inner = product.loop_dims, product.instruction_dims
    index, iteration_views, counters = build_loops_over_dims(
        op, product.operands, outer
    )
    strides_by_operand = [
        _strides_of_operand_by_roles(inner, roles, number)
        for number, roles in enumerate(("batch m n", "batch m k", "batch k n"))
    ]
    accesses = [
        view.build_access(index, strides)
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
class _Matmul:
    """A contraction as a matmul: operand views and dims with their roles."""

    operands: Sequence[BufferView]
    """Views of the result, the left and the right input."""
    dims: Sequence[InstructionDim]

    @classmethod
    def from_contraction(cls, op: mem.ContractOp, views: BufferViews) -> "_Matmul":
        """
        Return a new description of `op` as a matrix product, `lhs` as the left input.
        """
        maps = [op.output_maps[0], *op.input_maps]
        views_and_strides = [
            view_and_domain_strides_of(views.view_of(value), indexing)
            for value, indexing in zip((op.acc, op.lhs, op.rhs), maps, strict=True)
        ]
        used = [indexing.used_dims() for indexing in maps]
        dims = [
            InstructionDim(
                extent,
                tuple(strides[dimension] for _, strides in views_and_strides),
                iterator_role_of(dimension in dimensions for dimensions in used),
            )
            for dimension, extent in enumerate(op.domain_extents)
        ]
        return cls([view for view, _ in views_and_strides], dims)

    def swap_inputs(self) -> "_Matmul":
        """
        Return a new, transposed product: inputs swapped, roles `m` and `n` exchanged.
        """
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
        return _Matmul([result, right, left], dims)

    def is_faster_swapped(self, element_kind: str, costs: InstructionCosts) -> bool:
        """
        Return `True` if the array executes an instruction of the transposed product in
        fewer cycles.
        """
        batch, m, n, k = (
            prod(dim.extent for dim in self.instruction_dims[role]) for role in ROLES
        )
        return costs.is_faster_transposed(batch, m, n, k, element_kind)

    @cached_property
    def loop_dims(self) -> list[InstructionDim]:
        """Dims that loops iterate over."""
        return [
            dim for role in ROLES for dim in self._loop_and_instruction_dims[role][0]
        ]

    @cached_property
    def instruction_dims(self) -> dict[str, list[InstructionDim]]:
        """Dims that an instruction iterates over, by role."""
        return {role: self._loop_and_instruction_dims[role][1] for role in ROLES}

    @cached_property
    def _loop_and_instruction_dims(
        self,
    ) -> dict[str, tuple[list[InstructionDim], list[InstructionDim]]]:
        """Merged dims of each role, split into dims of loops and of an instruction."""
        return {
            role: split_loop_and_instruction_dims(
                merge_contiguous_dims([dim for dim in self.dims if dim.role == role]),
                npu.MAX_MATMUL_DIMENSIONS,
            )
            for role in ROLES
        }


def _check_element_types(op: mem.ContractOp, machine: TargetSpec) -> None:
    """Raise `PassFailedException` if the matrix engine lacks the types of `op`."""
    element, total = op.input_types[0].element_type, op.output_types[0].element_type
    if (text := unsupported_product_message(op, element, machine)) is not None:
        raise PassFailedException(text)
    if not can_accumulate_in(element, total):
        raise PassFailedException(
            f"mem.contract: the npu cannot accumulate {element} in {total}"
        )


def _strides_of_operand_by_roles(
    instruction_dims: dict[str, list[InstructionDim]], roles: str, operand_index: int
) -> list[int]:
    """Return an operand's byte strides along the dims of space-separated `roles`."""
    return [
        stride
        for role in roles.split()
        for stride in strides_of_operand(instruction_dims[role], operand_index)
    ]
