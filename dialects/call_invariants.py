"""IR utility of the dialects: query for values that are equal at every call."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tlf.dialects.function_calls import callee_name, calls_in
from tlf.dialects.interfaces import ReferenceInterface
from tlf.dialects.parameter_attribute import is_parameter
from tlf.dialects.pure_operations import is_pure


def call_invariant_values_of(block: Block) -> set[SSAValue]:
    """
    Return the values of a block that are equal at every call: arguments that are
    weights, constants, and values computed from these.
    """
    invariant = set[SSAValue](each for each in block.args if is_parameter(each))
    add_call_invariant_results(block.ops, invariant)
    return invariant


def add_call_invariant_results(
    operations: Iterable[Operation], invariant: set[SSAValue]
) -> None:
    """
    Add to `invariant` the results of those operations, in program order, that compute
    them from values of the set.
    """
    for op in operations:
        # Most operations read other values, which is found out quickly.
        if invariant.issuperset(op.operands) and is_hoistable(op):
            invariant.update(op.results)


class CallInvariantAnalysis:
    """Lazy query for call-invariant values that classifies each value once."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, bool] = {}

    def is_call_invariant(self, value: SSAValue) -> bool:
        """
        Return `True` if hoistable operations compute `value` only from constants and
        arguments marked as parameters.
        """
        pending = [value]
        while pending:
            each = pending[-1]
            if each in self._known:
                pending.pop()
                continue
            if not isinstance(each.owner, Operation) or not is_hoistable(each.owner):
                self._known[each] = is_parameter(each)
                continue
            missing = [e for e in each.owner.operands if e not in self._known]
            if not missing:
                known = map(self._known.__getitem__, each.owner.operands)
                self._known[each] = all(known)
            pending += missing
        return self._known[value]


def is_hoistable(op: Operation) -> bool:
    """Return `True` if an operation is a side-effect-free function of its operands."""
    return (
        not op.regions
        and isinstance(op, ReferenceInterface)
        and (is_pure(type(op)) or is_side_effect_free(op))
    )


def is_entry_function(function: func.FuncOp) -> bool:
    """
    Return `True` if no call in the parent module of `function` names it, or it has no
    parent.
    """
    module = function.parent_op()
    return module is None or function.sym_name.data not in map(
        callee_name, calls_in(module)
    )
