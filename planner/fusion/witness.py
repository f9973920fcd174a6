"""
Attributes that describe how the reductions of a group form one loop, at each of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from tlf.analysis.recurrence.cascade import Cascade, Step
from tlf.analysis.recurrence.formula import After, Apply, Before, Formula
from tlf.analysis.recurrence.limits import is_carried, limited
from tlf.analysis.recurrence.restarts import Restart
from tlf.analysis.tiling.group import Members
from tlf.analysis.tiling.rules import Rules
from tlf.dialects.combining import kind_of
from tlf.dialects.graph.step import ATTRIBUTE, StepAttr

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def witness(members: Members, rules: Rules) -> None:
    """
    Say of the reductions of a group what the steps of their loop are, if they are one
    in tiles of a level, which have these rules.
    """
    cascade = members.loop(rules).cascade
    if cascade is None or len(cascade.steps) < 2:
        return
    values = [op for op in members.operations if is_carried(cascade, op)]
    results: list[SSAValue] = [op.results[0] for op in values]
    numbers = {value: number for number, value in enumerate(results)}
    for number, op in enumerate(values):
        step = cascade.steps.get(op)
        attribute = StepAttr(number) if step is None else _told(step, cascade, numbers)
        op.attributes[ATTRIBUTE] = attribute


def _told(step: Step, cascade: Cascade, numbers: Mapping[SSAValue, int]) -> StepAttr:
    correction, last = "", ""
    if step.correction is not None:
        correction = spelled(step.correction.formula, numbers)
        is_limited = limited(cascade).intersection(step.correction.values)
        last = correction if is_limited else ""
    if step.restart is not None:
        correction = restarts(step.restart, numbers)
    return StepAttr(
        numbers[step.op.results[0]],
        str(step.op.neutral()),
        str(kind_of(step.op)),
        correction,
        last,
    )


def restarts(restart: Restart, numbers: Mapping[SSAValue, int]) -> str:
    """Return the restart condition of a reduction, as text."""
    number = numbers[restart.extreme]
    return f"restart if r{number} != r{number}'"


def spelled(formula: Formula, numbers: Mapping[SSAValue, int]) -> str:
    """A formula as text, its values by their numbers."""
    match formula:
        case Before(value):
            return f"r{numbers[value]}"
        case After(value):
            return f"r{numbers[value]}'"
        case Apply("exp", (operand,)):
            return f"exp({spelled(operand, numbers)})"
        case Apply(name, (first, second)):
            texts = [_within(each, numbers) for each in (first, second)]
            return f" {SIGNS[name]} ".join(texts)
        case _:
            return f"{formula:g}"


def _within(formula: Formula, numbers: Mapping[SSAValue, int]) -> str:
    text = spelled(formula, numbers)
    is_simple = not isinstance(formula, Apply) or formula.name == "exp"
    return text if is_simple else f"({text})"
