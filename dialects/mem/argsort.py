"""Operation `mem.argsort`: indices that sort the rows of a value."""

from xdsl.irdl import irdl_op_definition

from tlf.dialects.argsort_operation import ArgsortOperation


@irdl_op_definition
class ArgsortOp(ArgsortOperation):
    """
    Indices of the elements of each row of a value in stable ascending or `descending`
    order, along the last axis. NaN is greater than all numbers.

    Elements at index `count` and after it are not sorted: their indices are last. The
    result may be shorter along the axis, and then contains the first indices.

    ```mlir
    %i = mem.argsort %v count 100 : tensor<2x128xf32> -> tensor<2x128xi32>
    ```
    """

    name = "mem.argsort"
