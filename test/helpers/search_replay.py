"""Carries a schedule out step by step, and checks that it holds what it says."""

from tlf.support.partition import CostModel, Problem, Schedule, mask_of, members


def check(problem: Problem, costs: CostModel, schedule: Schedule) -> None:
    """
    Each operation runs once, after those it reads from, in a group that may run. Values
    are where they are read, and what is in the retained memory fits. Costs add up.
    """
    everywhere = {n for n, writer in enumerate(problem.producers) if writer is None}
    near = set[int]()
    done = 0
    for step in schedule.steps:
        group, context = step.group, step.context
        assert not group & done
        assert problem.is_connected(group)
        assert costs.objection(group) is None
        read = {v for n in members(group) for v in problem.nodes[n].operands}
        written = {v for n in members(group) for v in problem.nodes[n].results}
        inputs = read - written
        assert mask_of(inputs & near) == context.resident
        assert inputs <= near | everywhere
        others = near - inputs
        assert context.occupied == sum(problem.values[v].size for v in others)
        assert step.option.footprint + context.occupied <= problem.capacity
        assert step.option in costs.options(group, context)
        done |= group
        wanted = {v for v in read | written if problem.consumers[v] & ~done}
        kept, stored = set(members(context.retained)), set(members(context.stored))
        assert kept <= wanted
        assert stored <= written
        near = others | kept
        everywhere |= stored
        assert wanted <= near | everywhere
    assert done == problem.all_operations
    assert set(members(problem.outputs)) <= everywhere
    assert not near
    assert schedule.time == sum(step.option.time for step in schedule.steps)
    assert schedule.bytes == sum(step.option.bytes for step in schedule.steps)
