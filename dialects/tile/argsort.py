"""Operation `tile.argsort`: indices that sort the rows of a tile."""

from xdsl.irdl import irdl_op_definition

from tlf.dialects.argsort_operation import ArgsortOperation


@irdl_op_definition
class ArgsortOp(ArgsortOperation):
    """
    Indices of the elements of each row of a tile in stable ascending or `descending`
    order, along the last axis. NaN is greater than all numbers.

    Elements at index `count` and after it are not sorted: their indices are last. The
    result may be shorter along the axis, and then contains the first indices.

    ```mlir
    %i = tile.argsort %t count 100 descending
        : tensor<2x128xf32, #tile.encoding<L1>> -> tensor<2x16xi32, #tile.encoding<L1>>
    ```
    """

    name = "tile.argsort"
