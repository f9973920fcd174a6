"""
Operation base of the `mem` dialect: reductions and contractions on buffers, which
accumulate or overwrite.
"""

from abc import ABC

from xdsl.dialects.builtin import DenseArrayBase, IndexType, UnitAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.structured_operation import StructuredOp


class AccumulatingOp(StructuredOp, ABC):
    """
    Compute operation that accumulates into its outputs, or overwrites them.

    With `overwrite`, accumulation starts from neutral elements, and outputs are not
    read. With `overwrite unless %i`, outputs are overwritten if `%i` is 0, and
    accumulated into otherwise.
    """

    unless = opt_operand_def(IndexType)

    overwrite = opt_prop_def(UnitAttr)

    @property
    def is_always_overwriting(self) -> bool:
        return self.overwrite is not None and self.unless is None

    @property
    def needs_output_contents(self) -> bool:
        return not self.is_always_overwriting

    @property
    def neutral_elements(self) -> tuple[float, ...]:
        """Initial value of each output when it is overwritten."""
        raise NotImplementedError

    def make_overwriting(self, accumulate_condition: SSAValue | None) -> None:
        """
        Make the operation overwrite its outputs: always, or if `accumulate_condition`
        is 0.
        """
        self.overwrite = UnitAttr()
        if accumulate_condition is None:
            return
        self.operands = (*self.operands, accumulate_condition)
        name = AttrSizedOperandSegments.attribute_name
        if name in self.properties:
            counts = len(self.input_operands), len(self.output_operands), 1
            self.properties[name] = DenseArrayBase.from_list(i32, counts)

    def verify_overwrite(self) -> None:
        """
        Check that overwritten outputs are buffers, and that a condition requires
        `overwrite`.
        """
        if self.overwrite is None and self.unless is not None:
            raise VerifyException("expected `overwrite` before its condition")
        if self.overwrite is not None and self.results:
            raise VerifyException("expected buffers to overwrite, got tensors")
