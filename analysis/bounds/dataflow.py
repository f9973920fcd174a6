"""Analysis of a function or a group: its dataflow graph, with nested groups inlined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.graph import GroupOp, YieldOp
from tlf.dialects.interfaces import ConstantInterface, ReferenceInterface, ViewInterface


@dataclass
class DataflowGraph:
    """
    Read-only view of a function or group: its operations in program order, with nested
    groups inlined by aliases.
    """

    inputs: tuple[SSAValue, ...]
    """Tensor arguments."""
    operations: list[ReferenceInterface] = field(
        default_factory=list[ReferenceInterface]
    )
    outputs: tuple[SSAValue, ...] = ()
    """Result tensors, without duplicates."""
    _aliases: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _users: dict[SSAValue, list[tuple[ReferenceInterface, int]]] = field(
        default_factory=dict[SSAValue, list[tuple[ReferenceInterface, int]]]
    )

    @staticmethod
    def of(body: func.FuncOp | GroupOp) -> DataflowGraph:
        """Return the dataflow of a function of one block, or of a group."""
        block = body.body.block
        flow = DataflowGraph(tuple(each for each in block.args if is_tensor(each)))
        flow._add_operations_of_block(block)
        last = block.last_op
        flow.outputs = flow.operands_of(last) if last is not None else ()
        flow.outputs = tuple(dict.fromkeys(filter(is_tensor, flow.outputs)))
        return flow

    def _add_operations_of_block(self, block: Block) -> None:
        """
        Append the operations of a block and the uses of their operands; inline nested
        groups by aliasing their arguments and results.
        """
        for op in block.ops:
            if isinstance(op, GroupOp):
                pairs = zip(op.body.block.args, op.operands, strict=True)
                self._aliases |= {
                    inner: self.resolve_alias(outer) for inner, outer in pairs
                }
                self._add_operations_of_block(op.body.block)
                yielded = zip(op.results, op.yielded_values, strict=True)
                self._aliases |= {
                    outer: self.resolve_alias(inner) for outer, inner in yielded
                }
            elif isinstance(op, ReferenceInterface) and not isinstance(op, YieldOp):
                self.operations.append(op)
                for position, operand in enumerate(self.operands_of(op)):
                    self._users.setdefault(operand, []).append((op, position))

    def resolve_alias(self, value: SSAValue) -> SSAValue:
        """Return the value that a value is an alias of, through nested groups."""
        return self._aliases.get(value, value)

    def operands_of(self, op: Operation) -> tuple[SSAValue, ...]:
        """Return the operands of an operation, resolved through nested groups."""
        return tuple(map(self.resolve_alias, op.operands))

    def users_of(self, value: SSAValue) -> Sequence[tuple[ReferenceInterface, int]]:
        """Return the operations that use a value, with the operand index."""
        return self._users.get(value, ())

    def is_output(self, value: SSAValue) -> bool:
        """Return `True` if a value is an output of the dataflow."""
        return value in self.outputs

    def stored_constants(self) -> tuple[SSAValue, ...]:
        """Return the constants that are stored in memory: those that are not splats."""
        return tuple(
            op.results[0]
            for op in self.operations
            if isinstance(op, ConstantInterface)
            and not op.operands
            and op.splat_attribute() is None
        )

    def source_of_views(self, value: SSAValue) -> SSAValue:
        """Return the value that a value is a view of."""
        while isinstance(owner := value.owner, ViewInterface):
            value = self.resolve_alias(owner.operands[0])
        return value


def is_tensor(value: SSAValue) -> bool:
    """Return `True` if a value is a tensor."""
    return isinstance(value.type, TensorType)
