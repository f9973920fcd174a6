"""Planning of layouts: tensors that are stored between groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.encoding_attribute import layout_of, level_of
from tlf.dialects.graph.in_place_attribute import in_place_operands_of
from tlf.dialects.graph.residency import is_retained
from tlf.dialects.types import tensor_type
from tlf.support.affine.axis_orders import Order, row_major_order


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """
    Tensor in the outermost level. `denoting_values` are the values that denote it in
    the program: the argument or the result itself, the value that a group yields for
    it, and the block arguments of the groups that read it.
    """

    value: SSAValue
    denoting_values: tuple[SSAValue, ...]
    groups: tuple[graph.GroupOp, ...]
    """Groups that write or read it."""

    @property
    def is_argument(self) -> bool:
        """True if it is an argument of the function."""
        return isinstance(self.value.owner, Block)

    @property
    def is_returned(self) -> bool:
        """True if it is a result of the function."""
        uses = self.value.uses
        return any(isinstance(use.operation, func.ReturnOp) for use in uses)

    @property
    def axis_order(self) -> Order:
        """Axis order in memory."""
        type_ = tensor_type(self.value)
        return layout_of(type_) or row_major_order(type_.get_num_dims())


def collect_stored_tensors(function: func.FuncOp) -> Iterator[StoredTensor]:
    """
    Yield the tensors that may have another axis order: arguments, and results of
    groups, that only groups read or the function returns.
    """
    for block in function.body.blocks:
        values: list[SSAValue] = list(block.args)
        values += [result for op in block.ops for result in op.results]
        for value in values:
            if (tensor := _make_stored_tensor(value)) is not None:
                yield tensor


def _make_stored_tensor(value: SSAValue) -> StoredTensor | None:
    """
    Return the stored tensor of an argument or group result; None if it is in an inner
    level, updated in place or used otherwise.
    """
    if not isinstance(value.type, TensorType):
        return None
    if level_of(tensor_type(value)) is not None:
        return None
    names, groups = [value], list[graph.GroupOp]()
    owner = value.owner
    if isinstance(owner, Operation):
        if not isinstance(owner, graph.GroupOp):
            return None
        index = list[SSAValue](owner.results).index(value)
        yielded = owner.yielded_values[index]
        if owner.yielded_values.count(yielded) > 1 or not isinstance(
            yielded.owner, Operation
        ):
            return None
        if in_place_operands_of(owner)[index] is not None or is_retained(value):
            return None
        names.append(yielded)
        groups.append(owner)
    for use in value.uses:
        user = use.operation
        match user:
            case func.ReturnOp():
                if user.arguments.count(value) > 1:
                    return None
            case graph.GroupOp():
                if use.index in in_place_operands_of(user):
                    return None
                names.append(user.body.block.args[use.index])
                groups.append(user)
            case _:
                return None
    return StoredTensor(value, tuple(names), tuple(dict.fromkeys(groups)))
