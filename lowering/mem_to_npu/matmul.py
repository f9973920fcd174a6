"""
Contractions on the matrix engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.operations.bands import role_of
from tlf.dialects import mem, npu
from tlf.dialects.target import Target
from tlf.dialects.target.machine import machine_of
from tlf.lowering.mem_to_npu.accumulate import accumulates
from tlf.lowering.mem_to_npu.scalars import check_multiplied, widens
from tlf.lowering.mem_to_npu.views import View, Views
from tlf.lowering.mem_to_npu.walk import Dim, fit, nest, operand, simplify, stripped
from tlf.machine.costs import Costs

ROLES = ("batch", "m", "n", "k")


def convert_contract(op: mem.ContractOp, views: Views, machine: Target) -> None:
    """
    Replace a contraction by matrix instructions.

    A dimension of the domain is summed (k) if the output does not have it, and else
    belongs to the left (m), the right (n) or both inputs (batch). The address generator
    walks `MAX_MATMUL_DIMENSIONS` of each role, loops walk the others. Left and right
    change places where this fills the array better.
    """
    _check_types(op, machine)
    product = _Product.of(op, views)
    element = op.input_types[0].element_type
    if product.is_faster_exchanged(str(element), Costs(machine_of(machine))):
        product = product.exchanged()
    outer, inner = product.outer, product.inner
    index, moved, counters = nest(op, product.operands, outer)
    walked = [
        _walked(inner, roles, number)
        for number, roles in enumerate(("batch m n", "batch m k", "batch k n"))
    ]
    accesses = [
        view.access(index, strides) for view, strides in zip(moved, walked, strict=True)
    ]
    extents = [[dim.extent for dim in inner[role]] for role in ROLES]
    is_tf32 = op.precision == "tf32" and element == f32
    precision = "tf32" if is_tf32 else None
    summed = [c for c, dim in zip(counters, outer, strict=True) if dim.role == "k"]
    accumulate = accumulates(op, index, summed)
    index.builder.insert(npu.MatmulOp(accesses, extents, accumulate, precision))


@dataclass(frozen=True)
class _Product:
    """A product of matrices, as instructions in loops."""

    operands: Sequence[View]
    """The result, the left and the right input."""
    dims: Sequence[Dim]

    @classmethod
    def of(cls, op: mem.ContractOp, views: Views) -> "_Product":
        """The product, with what is left and what is right as in `op`."""
        maps = [op.output_maps[0], *op.input_maps]
        placed = [
            operand(views.view(value), indexing)
            for value, indexing in zip((op.acc, op.lhs, op.rhs), maps, strict=True)
        ]
        used = [indexing.used_dims() for indexing in maps]
        dims = [
            Dim(
                extent,
                tuple(strides[dimension] for _, strides in placed),
                role_of(dimension in dimensions for dimensions in used),
            )
            for dimension, extent in enumerate(op.extents)
        ]
        return cls([view for view, _ in placed], dims)

    def exchanged(self) -> "_Product":
        """The transposed product: what is left comes to the right."""
        roles = {"m": "n", "n": "m"}
        result, left, right = self.operands
        dims = [
            Dim(dim.extent, (of, at_right, at_left), roles.get(dim.role, dim.role))
            for dim in self.dims
            for of, at_left, at_right in [dim.strides]
        ]
        return _Product([result, right, left], dims)

    def is_faster_exchanged(self, kind: str, costs: Costs) -> bool:
        """
        Return `True` if the array is faster at an instruction of the transposed
        product.
        """
        batch, m, n, k = (
            prod(dim.extent for dim in self.inner[role]) for role in ROLES
        )
        return costs.is_faster_exchanged(batch, m, n, k, kind)

    @cached_property
    def outer(self) -> list[Dim]:
        """The dimensions that loops iterate over."""
        return [dim for role in ROLES for dim in self._fitted[role][0]]

    @cached_property
    def inner(self) -> dict[str, list[Dim]]:
        """By role, what an instruction walks."""
        return {role: self._fitted[role][1] for role in ROLES}

    @cached_property
    def _fitted(self) -> dict[str, tuple[list[Dim], list[Dim]]]:
        return {
            role: fit(
                simplify([dim for dim in self.dims if dim.role == role]),
                npu.MAX_MATMUL_DIMENSIONS,
            )
            for role in ROLES
        }


def _check_types(op: mem.ContractOp, machine: Target) -> None:
    element, total = op.input_types[0].element_type, op.output_types[0].element_type
    check_multiplied(op, element, machine)
    if not widens(element, total):
        raise PassFailedException(
            f"mem.contract: the npu cannot accumulate {element} in {total}"
        )


def _walked(inner: dict[str, list[Dim]], roles: str, number: int) -> list[int]:
    return [
        stride for role in roles.split() for stride in stripped(inner[role], number)
    ]
