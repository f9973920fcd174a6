"""Values that are the same at every call."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tlf.dialects.interfaces import ReferenceInterface
from tlf.dialects.parameters import is_parameter


def invariant_values(block: Block) -> set[SSAValue]:
    """
    What a block knows before it is called: arguments that hold weights, constants, and
    what is computed from such values alone.
    """
    found = set[SSAValue](each for each in block.args if is_parameter(each))
    for op in block.ops:
        if is_computable(op) and all(operand in found for operand in op.operands):
            found.update(op.results)
    return found


def is_computable(op: Operation) -> bool:
    """Whether an operation can be computed anywhere from its operands."""
    return (
        isinstance(op, ReferenceInterface)
        and not op.regions
        and is_side_effect_free(op)
    )


def is_entry(function: func.FuncOp) -> bool:
    """Whether nothing else in the module calls a function."""
    module = function.parent_op()
    return module is None or not any(
        isinstance(op, func.CallOp)
        and op.callee.string_value() == function.sym_name.data
        for op in module.walk()
    )
