"""Step-by-step validation of a schedule."""

from tlf.support.partition import (
    CostModel,
    PartitionProblem,
    Schedule,
    elements_of_mask,
    mask_of,
)


def check(problem: PartitionProblem, costs: CostModel, schedule: Schedule) -> None:
    """
    Check a schedule.

    Each operation runs once, after its producers, in a legal group. Values are
    available when read, and retained values fit in memory. Costs add up.
    """
    stored_values = {n for n, writer in enumerate(problem.producers) if writer is None}
    resident = set[int]()
    done = 0
    for step in schedule.steps:
        group, context = step.group, step.context
        assert not group & done
        assert problem.is_connected(group)
        assert costs.objection_to_group(group) is None
        read = {v for n in elements_of_mask(group) for v in problem.nodes[n].operands}
        written = {v for n in elements_of_mask(group) for v in problem.nodes[n].results}
        inputs = read - written
        assert mask_of(inputs & resident) == context.resident
        assert inputs <= resident | stored_values
        passing = resident - inputs
        assert context.occupied_bytes == sum(problem.values[v].size for v in passing)
        assert step.option.footprint + context.occupied_bytes <= problem.capacity
        assert step.option in costs.options_of_group(group, context)
        done |= group
        live = {v for v in read | written if problem.consumers[v] & ~done}
        retained, stored = (
            set(elements_of_mask(context.retained)),
            set(elements_of_mask(context.stored)),
        )
        assert retained <= live
        assert stored <= written
        resident = passing | retained
        stored_values |= stored
        assert live <= resident | stored_values
    assert done == problem.all_operations
    assert set(elements_of_mask(problem.outputs)) <= stored_values
    assert not resident
    assert schedule.time == sum(step.option.time for step in schedule.steps)
    assert schedule.bytes == sum(step.option.bytes for step in schedule.steps)
