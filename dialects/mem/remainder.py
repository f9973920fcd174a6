"""
Operation `mem.remf`: floating-point remainder of scalars, which xDSL's `arith` lacks.
"""

from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """
    Compute the exact remainder of a floating-point division that truncates towards
    zero.

    The result has the sign of the dividend. It is NaN if the divisor is 0 or the
    dividend is infinite, and the dividend if the divisor is infinite.

    ```mlir
    %rest = mem.remf %a, %b : f32
    ```
    """

    name = "mem.remf"

    traits = traits_def(Pure())
