"""The instructions that compute tiles in the nearest memory."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32

from tlf.analysis.operations.bands import Work
from tlf.analysis.operations.form import Form
from tlf.dialects.interfaces import (
    ContractionInterface,
    ReductionInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.machine.costs import Cost, Costs
from tlf.machine.parts import MatrixEngine
from tlf.planner.cost.program.indices import UnknownTimeError


def product_of(op: ContractionInterface, costs: Costs) -> Cost:
    """A product of tiles; an iterator's role is told by the operands it moves."""
    form = Form(op)
    work = Work.of(form.roles, form.extents)
    return costs.fastest_product(*work, kind=_kind(op, costs))


def _kind(op: ContractionInterface, costs: Costs) -> str:
    """The name of the rate of the array for a product, which has to have one."""
    unit = costs.machine.engines["matrix"]
    assert isinstance(unit, MatrixEngine)
    element = tensor_type(op.operands[0]).element_type
    is_tf32 = op.precision == "tf32" and element == f32
    kind = "tf32" if is_tf32 and "tf32" in unit.cycles else str(element)
    if kind not in unit.cycles:
        known = ", ".join(unit.cycles)
        raise UnknownTimeError(op, f"expected products of {known}, got {kind}")
    return kind


def reduction_of(op: ReductionInterface, costs: Costs) -> Cost:
    """A reduction of a tile."""
    return costs.elementwise(_count(op))


def _count(op: TilingInterface) -> int:
    return prod(each.extent for each in op.iterators())
