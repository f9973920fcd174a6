"""
Contractions on the matrix engine.
"""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.target import Target
from tlf.lowering.npu.accumulate import accumulates
from tlf.lowering.npu.scalars import widens
from tlf.lowering.npu.views import Views
from tlf.lowering.npu.walk import Dim, fit, nest, operand, simplify, stripped

ROLES = ("batch", "m", "n", "k")


def convert_contract(op: mem.ContractOp, views: Views, machine: Target) -> None:
    """
    Replace a contraction by matrix instructions.

    A dimension of the domain is summed (k) if the output does not have it, and else
    belongs to the left (m), the right (n) or both inputs (batch). The address generator
    walks `MAX_MATMUL_DIMENSIONS` of each role, loops walk the others.
    """
    _check_types(op, machine)
    operands = [op.acc, op.lhs, op.rhs]
    maps = [op.output_maps[0], *op.input_maps]
    placed = [
        operand(views.view(value), indexing)
        for value, indexing in zip(operands, maps, strict=True)
    ]
    used = [indexing.used_dims() for indexing in maps]
    dims = [
        Dim(
            extent,
            tuple(strides[dimension] for _, strides in placed),
            _role([dimension in dimensions for dimensions in used]),
        )
        for dimension, extent in enumerate(op.extents)
    ]
    outer: list[Dim] = []
    inner: dict[str, list[Dim]] = {}
    for role in ROLES:
        mine = simplify([dim for dim in dims if dim.role == role])
        loops, inner[role] = fit(mine, npu.MAX_MATMUL_DIMENSIONS)
        outer += loops
    index, moved, counters = nest(op, [view for view, _ in placed], outer)
    walked = [
        _walked(inner, roles, number)
        for number, roles in enumerate(("batch m n", "batch m k", "batch k n"))
    ]
    accesses = [
        view.access(index, strides) for view, strides in zip(moved, walked, strict=True)
    ]
    extents = [[dim.extent for dim in inner[role]] for role in ROLES]
    is_tf32 = op.precision == "tf32" and op.input_types[0].element_type == f32
    precision = "tf32" if is_tf32 else None
    summed = [c for c, dim in zip(counters, outer, strict=True) if dim.role == "k"]
    accumulate = accumulates(op, index, summed)
    index.builder.insert(npu.MatmulOp(accesses, extents, accumulate, precision))


def _check_types(op: mem.ContractOp, machine: Target) -> None:
    cycles = machine.engines.get("matrix", {}).get("cycles", {})
    known = sorted(cycles) if isinstance(cycles, Mapping) else []
    element, total = op.input_types[0].element_type, op.output_types[0].element_type
    if str(element) not in known:
        raise PassFailedException(
            f"mem.contract: the npu multiplies {', '.join(known) or 'nothing'}, got "
            f"{element}"
        )
    if not widens(element, total):
        raise PassFailedException(
            f"mem.contract: the npu cannot accumulate {element} in {total}"
        )


def _role(used: Sequence[bool]) -> str:
    """The role of a dimension, by which of output, left and right input have it."""
    output, left, right = used
    if not output:
        return "k"
    if left and right:
        return "batch"
    return "n" if right else "m"


def _walked(inner: dict[str, list[Dim]], roles: str, number: int) -> list[int]:
    return [
        stride for role in roles.split() for stride in stripped(inner[role], number)
    ]
