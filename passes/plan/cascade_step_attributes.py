"""
Helper of the pass `graph-group`: attributes of a group's reductions that describe the
cascade which they form.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from tlf.analysis.recurrence.cascade import Cascade, CascadeStep
from tlf.analysis.recurrence.formula import After, Apply, Before, Formula
from tlf.analysis.recurrence.reduction_restarts import Restart
from tlf.analysis.recurrence.running_limits import is_loop_carried, limited_values
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.dialects.graph.cascade_step import STEP_ATTRIBUTE, StepAttr
from tlf.dialects.reduction_combiner import reduce_kind_of

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def attach_cascade(members: GroupMembers, rules: TileRules) -> None:
    """Attach the steps of the cascade that the reductions of a group form."""
    cascade = members.reduction_loop(rules).cascade
    if cascade is None or len(cascade.steps) < 2:
        return
    values = [op for op in members.operations if is_loop_carried(cascade, op)]
    results: list[SSAValue] = [op.results[0] for op in values]
    indices = {value: index for index, value in enumerate(results)}
    for index, op in enumerate(values):
        step = cascade.steps.get(op)
        attribute = (
            StepAttr(index) if step is None else _step_attribute(step, cascade, indices)
        )
        op.attributes[STEP_ATTRIBUTE] = attribute


def _step_attribute(
    step: CascadeStep, cascade: Cascade, numbers: Mapping[SSAValue, int]
) -> StepAttr:
    correction, last = "", ""
    if step.correction is not None:
        correction = format_formula(step.correction.formula, numbers)
        is_limited = limited_values(cascade).intersection(step.correction.values)
        last = correction if is_limited else ""
    if step.restart is not None:
        correction = restart_text(step.restart, numbers)
    return StepAttr(
        numbers[step.op.results[0]],
        str(step.op.neutral_element()),
        str(reduce_kind_of(step.op)),
        correction,
        last,
    )


def restart_text(restart: Restart, numbers: Mapping[SSAValue, int]) -> str:
    """Return the restart condition of a reduction, as text."""
    index = numbers[restart.extreme]
    return f"restart if r{index} != r{index}'"


def format_formula(formula: Formula, numbers: Mapping[SSAValue, int]) -> str:
    """Return a formula as text, with values by their indices."""
    match formula:
        case Before(value):
            return f"r{numbers[value]}"
        case After(value):
            return f"r{numbers[value]}'"
        case Apply("exp", (operand,)):
            return f"exp({format_formula(operand, numbers)})"
        case Apply(name, (first, second)):
            texts = [_format_operand(each, numbers) for each in (first, second)]
            return f" {SIGNS[name]} ".join(texts)
        case _:
            return f"{formula:g}"


def _format_operand(formula: Formula, numbers: Mapping[SSAValue, int]) -> str:
    text = format_formula(formula, numbers)
    is_simple = not isinstance(formula, Apply) or formula.name == "exp"
    return text if is_simple else f"({text})"
