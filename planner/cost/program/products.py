"""Choice of the products that start iterations ahead, as `mem-pipeline` decides it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlf.planner.cost.program.program import Buffer, Nest, Step


def early_products(
    nest: Nest, loads: Sequence[Step], slotted: Sequence[Buffer]
) -> list[Step]:
    """
    Products that others wait for, through other engines, and that need nothing of an
    iteration but loads that start ahead.
    """
    steps = [item for item in nest.body if isinstance(item, Step)]
    if len(steps) < len(nest.body):
        return []
    return [
        step
        for number, step in enumerate(steps)
        if step.product
        and step.sums in slotted
        and _is_first(step, steps, loads)
        and _leads_to_another(step, steps[number + 1 :])
    ]


def with_waits(products: Sequence[Step], nest: Nest) -> list[Step]:
    """Products, with the waits before them for what they read, in order."""
    found: list[Step] = []
    waits: list[Step] = []
    for item in nest.body:
        if not isinstance(item, Step):
            continue
        if item.finishes:
            waits.append(item)
        elif item in products:
            read = {access.buffer for access in item.reads}
            found += [
                wait
                for wait in waits
                if wait not in found and not read.isdisjoint(_filled(wait))
            ]
            found.append(item)
    return found


def _filled(wait: Step) -> Iterator[Buffer]:
    """The buffers that moves have filled when a wait is over."""
    for move in wait.finishes:
        yield from (access.buffer for access in move.writes)


def _is_first(product: Step, steps: Sequence[Step], loads: Sequence[Step]) -> bool:
    """Return `True` if a product depends on no earlier step of the body but loads."""
    read = {access.buffer for access in product.reads}
    if product.sums in read:
        return False
    before = True
    for step in steps:
        if step is product:
            before = False
        elif step in loads:
            continue
        elif step.finishes:
            if before and not read.isdisjoint(_filled(step)):
                if any(move not in loads for move in step.finishes):
                    return False
        elif before and any(each.buffer is product.sums for each in step.touched):
            return False
        elif any(each.buffer in read for each in step.writes):
            return False
    return True


def _leads_to_another(product: Step, later: Sequence[Step]) -> bool:
    """Return `True` if a later product depends on its result, through others."""
    made = {access.buffer for access in product.writes}
    for step in later:
        if made.isdisjoint(access.buffer for access in step.touched):
            continue
        if step.product:
            return True
        made.update(access.buffer for access in step.writes)
    return False
