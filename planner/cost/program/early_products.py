"""
Cost model of `mem-pipeline`, on its schedule instead of IR: selection of products that
start iterations early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlf.planner.cost.program.instruction_nests import Buffer, Instruction, Nest


def select_early_products(
    nest: Nest, loads: Sequence[Instruction], multi_buffers: Sequence[Buffer]
) -> list[Instruction]:
    """
    Select the products that other products depend on and that depend on early loads
    only.
    """
    steps = [item for item in nest.body if isinstance(item, Instruction)]
    if len(steps) < len(nest.body):
        return []
    return [
        step
        for index, step in enumerate(steps)
        if step.is_product
        and step.accumulator in multi_buffers
        and _is_independent_except_loads(step, steps, loads)
        and _has_dependent_product(step, steps[index + 1 :])
    ]


def with_preceding_waits(
    products: Sequence[Instruction], nest: Nest
) -> list[Instruction]:
    """Return products with the preceding waits for their operands, in order."""
    selected: list[Instruction] = []
    waits: list[Instruction] = []
    for item in nest.body:
        if not isinstance(item, Instruction):
            continue
        if item.completed_moves:
            waits.append(item)
        elif item in products:
            read = {access.buffer for access in item.reads}
            selected += [
                wait
                for wait in waits
                if wait not in selected
                and not read.isdisjoint(_buffers_filled_after_wait(wait))
            ]
            selected.append(item)
    return selected


def _buffers_filled_after_wait(wait: Instruction) -> Iterator[Buffer]:
    """Yield the buffers that are filled once a wait is complete."""
    for move in wait.completed_moves:
        yield from (access.buffer for access in move.writes)


def _is_independent_except_loads(
    product: Instruction, steps: Sequence[Instruction], loads: Sequence[Instruction]
) -> bool:
    """
    Return `True` if a product depends on no earlier step of the body except loads.
    """
    read = {access.buffer for access in product.reads}
    if product.accumulator in read:
        return False
    before = True
    for step in steps:
        if step is product:
            before = False
        elif step in loads:
            continue
        elif step.completed_moves:
            if before and not read.isdisjoint(_buffers_filled_after_wait(step)):
                if any(move not in loads for move in step.completed_moves):
                    return False
        elif before and any(
            each.buffer is product.accumulator for each in step.reads_and_writes
        ):
            return False
        elif any(each.buffer in read for each in step.writes):
            return False
    return True


def _has_dependent_product(product: Instruction, later: Sequence[Instruction]) -> bool:
    """
    Return `True` if a later product depends on the result, directly or transitively.
    """
    written = {access.buffer for access in product.writes}
    for step in later:
        if written.isdisjoint(access.buffer for access in step.reads_and_writes):
            continue
        if step.is_product:
            return True
        written.update(access.buffer for access in step.writes)
    return False
