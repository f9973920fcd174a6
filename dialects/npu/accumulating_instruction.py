"""
Operation base of the `npu` dialect: instructions that accumulate into their destination
or overwrite it.
"""

from abc import ABC

from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.npu.engine_operation import EngineOp


class AccumulatingOp(EngineOp, ABC):
    """
    Instruction that accumulates if it has no condition, or its condition is not 0.
    """

    condition = opt_operand_def(IndexType)

    accumulate = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_condition(self) -> None:
        """Check that a condition requires `accumulate`."""
        if self.condition is not None and self.accumulate is None:
            raise VerifyException("expected `accumulate` before its condition")


def accumulate_condition_of(accumulate: bool | SSAValue) -> SSAValue | None:
    """
    Return the condition operand of a constructor argument: the argument if it is a
    value.
    """
    return accumulate if isinstance(accumulate, SSAValue) else None


def accumulate_property_of(accumulate: bool | SSAValue) -> UnitAttr | None:
    """Return the `accumulate` property of a constructor argument."""
    return None if accumulate is False else UnitAttr()
