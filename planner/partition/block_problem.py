"""
Planning of partitions: a block's operations and the tensors between them, read as a
partition problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.tiling.structural_keys import structural_key_of
from tlf.dialects import graph
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.target import Level
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.partition.fusible_views import is_view_or_slice
from tlf.support.allocation import align_offset
from tlf.support.partition import PartitionProblem, ProblemOperation, ProblemValue


@dataclass(frozen=True)
class BlockProblem:
    """
    Partition problem of operations of a block that compute, and the tensors between
    them.
    """

    nodes: tuple[Operation, ...]
    values: tuple[SSAValue, ...]
    problem: PartitionProblem
    free_values: AbstractSet[SSAValue] = frozenset()
    """Tensors that may have any axis order."""


def partition_problems_of(
    block: Block, level: Level, free_values: AbstractSet[SSAValue] = frozenset()
) -> Iterator[BlockProblem]:
    """
    Yield the problems of a block, one for each independent component: its operations
    are groups, and operations between groups. Values that are `free_values` may have
    any axis order.
    """
    nodes = [op for op in block.ops if _is_problem_node(op)]
    component_of: dict[Operation, list[Operation]] = {}
    for op in nodes:
        component = [op]
        for owner in dict.fromkeys(operand.owner for operand in op.operands):
            if isinstance(owner, Operation) and owner in component_of:
                if component_of[owner] is not component:
                    component = [*component_of[owner], *component]
                component_of.update((each, component) for each in component)
        component_of.update((each, component) for each in component)
    for members in {id(each): each for each in component_of.values()}.values():
        yield partition_problem_of(
            [op for op in nodes if op in set(members)], level, free_values
        )


def partition_problem_of(
    nodes: Sequence[Operation],
    level: Level,
    free_values: AbstractSet[SSAValue] = frozenset(),
) -> BlockProblem:
    """Build the partition problem of operations of a block, given in program order."""
    inside = set(nodes)
    indices: dict[SSAValue, int] = {}
    for op in nodes:
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType):
                indices.setdefault(value, len(indices))
    values = tuple(indices)
    return BlockProblem(
        tuple(nodes),
        values,
        PartitionProblem(
            tuple(
                ProblemOperation(
                    tuple(indices[v] for v in op.operands if v in indices),
                    tuple(indices[v] for v in op.results if v in indices),
                    _cost_label_of(op),
                )
                for op in nodes
            ),
            tuple(
                ProblemValue(
                    aligned_bytes(value, level),
                    any(use.operation not in inside for use in value.uses),
                    f"{'made' if value.owner in inside else 'given'} {value.type}"
                    f"{' in any order' if value in free_values else ''}",
                )
                for value in values
            ),
            level.capacity,
        ),
        free_values & indices.keys(),
    )


def aligned_bytes(value: SSAValue, level: Level) -> int:
    """Return the bytes of a tensor in a level, rounded up to the alignment."""
    return align_offset(byte_count(tensor_type(value)), level.alignment)


def _is_problem_node(op: Operation) -> bool:
    if isinstance(op, ConstantInterface) or not op.results or _is_view_of_input(op):
        return False
    return any(isinstance(value.type, TensorType) for value in op.results)


def _is_view_of_input(op: Operation) -> bool:
    """
    Return `True` if an operation is a view of a value that no operation of the block
    computes.
    """
    if not is_view_or_slice(op):
        return False
    owner = op.operands[0].owner
    if isinstance(owner, Block):
        return True
    return isinstance(owner, ConstantInterface) or _is_view_of_input(owner)


def _cost_label_of(op: Operation) -> str:
    """Return a label that is equal for operations of the same cost."""
    if not isinstance(op, graph.GroupOp):
        return f"{op.name} {op.properties}"
    return str(structural_key_of(tuple(op.body.block.ops), op.yielded_values))
