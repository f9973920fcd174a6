"""Base of reductions and contractions that accumulate into outputs or overwrite."""

from abc import ABC

from xdsl.dialects.builtin import DenseArrayBase, IndexType, UnitAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_operand_def, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.structured import StructuredOp


class AccumulatingOp(StructuredOp, ABC):
    """
    Compute that combines with the elements of its outputs unless it is to `overwrite`.

    Where it overwrites, it starts from neutral elements and does not read its outputs.
    `overwrite unless %i` does so where `%i` is 0, and combines elsewhere.
    """

    unless = opt_operand_def(IndexType)

    overwrite = opt_prop_def(UnitAttr)

    @property
    def always_overwrites(self) -> bool:
        return self.overwrite is not None and self.unless is None

    @property
    def reads_outputs(self) -> bool:
        return not self.always_overwrites

    @property
    def neutral_elements(self) -> tuple[float, ...]:
        """Initial value of each output where it is overwritten."""
        raise NotImplementedError

    def set_overwrite(self, unless: SSAValue | None) -> None:
        """
        Let an operation that combines overwrite: always, or where a value is 0.
        """
        self.overwrite = UnitAttr()
        if unless is None:
            return
        self.operands = (*self.operands, unless)
        name = AttrSizedOperandSegments.attribute_name
        if name in self.properties:
            counts = len(self.input_operands), len(self.output_operands), 1
            self.properties[name] = DenseArrayBase.from_list(i32, counts)

    def verify_overwrite(self) -> None:
        """
        Check that buffers are overwritten, and that only what overwrites has a
        condition.
        """
        if self.overwrite is None and self.unless is not None:
            raise VerifyException("expected `overwrite` before its condition")
        if self.overwrite is not None and self.results:
            raise VerifyException("expected buffers to overwrite, got tensors")
