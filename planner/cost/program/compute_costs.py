"""Cost of the instructions that compute tiles in the innermost memory level."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32

from tlf.analysis.operations.banded_matmul import MatmulWork
from tlf.analysis.operations.op_facts import OpFacts
from tlf.dialects.interfaces import (
    ContractionInterface,
    ReductionInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.machine.machine_spec import MatrixEngine
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError


def product_cost(op: ContractionInterface, costs: InstructionCosts) -> Cost:
    """
    Return the cost of a product of tiles; the roles of its iterators follow from the
    operands that they index.
    """
    facts = OpFacts(op)
    work = MatmulWork.of(facts.roles, facts.extents)
    return costs.cost_of_fastest_matmul(*work, kind=_kind_of(op, costs))


def _kind_of(op: ContractionInterface, costs: InstructionCosts) -> str:
    """
    Return the name of the array's rate for a product. Raises `UnpredictableTimeError`
    if the array has none.
    """
    unit = costs.machine.engines["matrix"]
    assert isinstance(unit, MatrixEngine)
    element = tensor_type(op.operands[0]).element_type
    is_tf32 = op.precision == "tf32" and element == f32
    kind = "tf32" if is_tf32 and "tf32" in unit.cycles else str(element)
    if kind not in unit.cycles:
        known = ", ".join(unit.cycles)
        raise UnpredictableTimeError(op, f"expected products of {known}, got {kind}")
    return kind


def reduction_cost(op: ReductionInterface, costs: InstructionCosts) -> Cost:
    """Return the cost of a reduction of a tile."""
    return costs.cost_of_elementwise(_element_count(op))


def _element_count(op: TilingInterface) -> int:
    return prod(each.extent for each in op.iteration_domain())
