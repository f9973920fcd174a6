"""
Helper of the pass `graph-group`: attributes of a group's reductions that describe the
cascade which they form.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.cascade import Cascade, CascadeStep
from tlf.analysis.recurrence.formula import (
    ElementwiseFormula,
    Formula,
    ValueAfterIteration,
    ValueBeforeIteration,
)
from tlf.analysis.recurrence.reduction_restarts import Restart
from tlf.analysis.recurrence.running_limits import is_loop_carried, values_to_clamp
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.structural_keys import StructuralKeys
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.dialects.graph.cascade_step import STEP_ATTRIBUTE, CascadeStepAttr
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.reduction_combiner import reduce_kind_of

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


class CascadeStepAttributes:
    """
    Attributes of the reductions of groups under the same tile rules, found once for
    groups of equal structure.
    """

    def __init__(self, rules: TileRules) -> None:
        self._rules = rules
        self._structures = StructuralKeys()
        self._known: dict[Hashable, Mapping[int, CascadeStepAttr]] = {}

    def attach_to(self, members: GroupMembers) -> None:
        """Attach the steps of the cascade that the reductions of a group form."""
        if len(members.accumulating_operations) < 2:
            return
        operations, constants = members.operations, _constants_read_by(members)
        key = self._structures.structural_key_of(
            (*constants, *operations), members.results
        )
        if key not in self._known:
            self._known[key] = find_cascade_steps(members, self._rules)
        for index, attribute in self._known[key].items():
            operations[index].attributes[STEP_ATTRIBUTE] = attribute


def _constants_read_by(members: GroupMembers) -> Sequence[Operation]:
    """Return the constants that operations of a group read, each of them once."""
    owners = (operand.owner for op in members.operations for operand in op.operands)
    return list(dict.fromkeys(e for e in owners if isinstance(e, ConstantInterface)))


def find_cascade_steps(
    members: GroupMembers, rules: TileRules
) -> Mapping[int, CascadeStepAttr]:
    """
    Return the steps of the cascade that the reductions of a group form, by the index of
    the operation in the group.
    """
    cascade = members.reduction_loop(rules).cascade
    if cascade is None or len(cascade.steps) < 2:
        return {}
    found: dict[int, CascadeStepAttr] = {}
    positions = {op: index for index, op in enumerate(members.operations)}
    values = [op for op in members.operations if is_loop_carried(cascade, op)]
    results: list[SSAValue] = [op.results[0] for op in values]
    indices = {value: index for index, value in enumerate(results)}
    for index, op in enumerate(values):
        step = cascade.steps.get(op)
        found[positions[op]] = (
            CascadeStepAttr(index)
            if step is None
            else _to_step_attribute(step, cascade, indices)
        )
    return found


def _to_step_attribute(
    step: CascadeStep, cascade: Cascade, value_indices: Mapping[SSAValue, int]
) -> CascadeStepAttr:
    """Return a step as an attribute with its reduction and correction formula."""
    correction, last = "", ""
    if step.correction is not None:
        correction = format_formula(step.correction.formula, value_indices)
        is_limited = values_to_clamp(cascade).intersection(step.correction.values)
        last = correction if is_limited else ""
    if step.restart is not None:
        correction = format_restart(step.restart, value_indices)
    return CascadeStepAttr(
        value_indices[step.op.results[0]],
        str(step.op.neutral_element()),
        str(reduce_kind_of(step.op)),
        correction,
        last,
    )


def format_restart(restart: Restart, value_indices: Mapping[SSAValue, int]) -> str:
    """Return the restart condition of a reduction, as text."""
    index = value_indices[restart.extreme]
    return f"restart if r{index} != r{index}'"


def format_formula(formula: Formula, value_indices: Mapping[SSAValue, int]) -> str:
    """
    Return a formula as text, with values as `r<index>`, primed after the iteration.
    """
    match formula:
        case ValueBeforeIteration(value):
            return f"r{value_indices[value]}"
        case ValueAfterIteration(value):
            return f"r{value_indices[value]}'"
        case ElementwiseFormula("exp", (operand,)):
            return f"exp({format_formula(operand, value_indices)})"
        case ElementwiseFormula(name, (first, second)):
            texts = [
                _format_formula_operand(each, value_indices) for each in (first, second)
            ]
            return f" {SIGNS[name]} ".join(texts)
        case _:
            return f"{formula:g}"


def _format_formula_operand(
    formula: Formula, value_indices: Mapping[SSAValue, int]
) -> str:
    text = format_formula(formula, value_indices)
    is_simple = not isinstance(formula, ElementwiseFormula) or formula.name == "exp"
    return text if is_simple else f"({text})"
