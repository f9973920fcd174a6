"""Random axis orders of tensors in memory."""

from numpy.random import Generator
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.types import tensor_type
from tlf.passes.plan.graph_assign_layouts import set_axis_order, update_function_type
from tlf.planner.layout.stored_tensors import collect_stored_tensors


def shuffle(module: ModuleOp, rng: Generator) -> int:
    """Set random axis orders of all stored tensors. Returns the number of tensors."""
    count = 0
    for function in module.walk():
        if not isinstance(function, func.FuncOp):
            continue
        for tensor in list(collect_stored_tensors(function)):
            rank = tensor_type(tensor.value).get_num_dims()
            set_axis_order(tensor, [int(axis) for axis in rng.permutation(rank)])
            count += 1
        update_function_type(function)
    return count
