"""Base of instructions that accumulate into their destination or overwrite it."""

from abc import ABC

from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.npu.engine import EngineOp


class AccumulatingOp(EngineOp, ABC):
    """
    An instruction that accumulates where its condition, if it has one, is not 0.
    """

    condition = opt_operand_def(IndexType)

    accumulate = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_condition(self) -> None:
        """
        Check that only an instruction that accumulates has a condition.
        """
        if self.condition is not None and self.accumulate is None:
            raise VerifyException("expected `accumulate` before its condition")


def condition_of(accumulate: bool | SSAValue) -> SSAValue | None:
    """
    The operand for what a constructor is given: a value is a condition.
    """
    return accumulate if isinstance(accumulate, SSAValue) else None


def accumulate_of(accumulate: bool | SSAValue) -> UnitAttr | None:
    """
    The property for what a constructor is given.
    """
    return None if accumulate is False else UnitAttr()
