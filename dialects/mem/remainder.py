"""The floating-point remainder of scalars, which `arith` of xDSL lacks."""

from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """
    Remainder of a division of floats that truncates towards zero, without any rounding:
    it has the sign of the dividend, is NaN where the divisor is 0 or the dividend
    infinite, and the dividend where the divisor is infinite.

    ```mlir
    %rest = mem.remf %a, %b : f32
    ```
    """

    name = "mem.remf"

    traits = traits_def(Pure())
