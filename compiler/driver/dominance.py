"""
Driver: verifier that every use of a value is dominated by its definition.

xDSL's verifier does not check this. Every region is treated as an SSACFG region.
"""

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, OpResult, Region
from xdsl.utils.exceptions import VerifyException

from tlf.compiler.driver.diagnostics import Position


def verify_dominance(op: Operation) -> None:
    """
    Raise a `VerifyException` at the first operation inside of `op` that uses a value
    that does not dominate it. Unreachable blocks are not checked.
    """
    for region in op.regions:
        _verify_region_dominance(region, set())


def _verify_region_dominance(region: Region, visible_ids: set[int]) -> None:
    """
    Check `region`, in which the values with `visible_ids` may be used; restore
    `visible_ids`. Values are represented by their ids, whose hashes are fast.
    """
    if (entry := region.first_block) is None:
        return
    if entry.next_block is None:
        visible_ids.difference_update(_verify_block_dominance(entry, visible_ids))
        return
    children = _dominator_tree_of(entry)
    stack: list[tuple[Block, list[int] | None]] = [(entry, None)]
    while stack:
        block, defined = stack.pop()
        if defined is not None:
            visible_ids.difference_update(defined)
            continue
        stack.append((block, _verify_block_dominance(block, visible_ids)))
        stack.extend((child, None) for child in children[block])


def _verify_block_dominance(block: Block, visible_ids: set[int]) -> list[int]:
    """
    Check `block` and return the ids of the values it defines, which are visible at its
    end.
    """
    defined = list(map(id, block.args))
    visible_ids.update(defined)
    for op in block.ops:
        if not visible_ids.issuperset(map(id, op.operands)):
            _report_undominated_use(op, visible_ids)
        for region in op.regions:
            _verify_region_dominance(region, visible_ids)
        if results := op.results:
            ids = list(map(id, results))
            visible_ids.update(ids)
            defined += ids
    return defined


def _report_undominated_use(op: Operation, visible_ids: set[int]) -> None:
    """
    Raise `VerifyException` at `op`, naming the definition of the first operand that is
    not visible.
    """
    uses = enumerate(op.operands)
    index, operand = next(use for use in uses if id(use[1]) not in visible_ids)
    if isinstance(operand, OpResult):
        at = Position.from_operation(operand.op)
        where = "" if at is None else f" at {at.line}:{at.column}"
        definition = f"defined by `{operand.op.name}`{where}"
    else:
        definition = "a block argument"
    message = f"operand {index}, {definition}, does not dominate this use"
    op.emit_error(message, VerifyException(message))


def _dominator_tree_of(entry: Block) -> dict[Block, list[Block]]:
    """
    Return the children in the dominator tree of each block reachable from `entry`.
    """
    order = _reverse_postorder_from(entry)
    index = {block: i for i, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for block in order:
        for successor in _successors_of(block):
            predecessors[index[successor]].append(index[block])
    children: dict[Block, list[Block]] = {block: [] for block in order}
    for block, parent in enumerate(_immediate_dominators(predecessors)):
        if block != 0:
            children[order[parent]].append(order[block])
    return children


def _immediate_dominators(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """
    Return the immediate dominators of blocks numbered in reverse postorder, by
    intersection over predecessors until a fixed point. The entry, block 0, is its own.
    """
    parent = [0] + [-1] * (len(predecessors) - 1)
    changed = True
    while changed:
        changed = False
        for block in range(1, len(predecessors)):
            processed = [p for p in predecessors[block] if parent[p] != -1]
            common = processed[0]
            for other in processed[1:]:
                common = _nearest_common_dominator(parent, common, other)
            changed |= parent[block] != common
            parent[block] = common
    return parent


def _nearest_common_dominator(
    dominators: Sequence[int], block: int, other_block: int
) -> int:
    """Return the first block that the `dominators` chains of two blocks share."""
    while block != other_block:
        if block > other_block:
            block = dominators[block]
        else:
            other_block = dominators[other_block]
    return block


def _reverse_postorder_from(entry: Block) -> list[Block]:
    """
    Return the blocks reachable from `entry`, by depth-first search without recursion.
    """
    order: list[Block] = []
    visited = {entry}
    stack: list[tuple[Block, Iterator[Block]]] = [(entry, iter(_successors_of(entry)))]
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in visited:
                visited.add(successor)
                stack.append((successor, iter(_successors_of(successor))))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


def _successors_of(block: Block) -> Sequence[Block]:
    return () if (last := block.last_op) is None else last.successors
