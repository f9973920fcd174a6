"""The event simulation against one that looks at every engine and slot by name."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeAlias

import pytest

from tlf.dialects.target import load_target_spec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.planner.cost.npu.event_program import Buffer, EventProgram, Item, Loop, Task
from tlf.planner.cost.npu.event_simulation import Timeline, simulate_cycles
from tlf.planner.settings.control_code import CONTROL_CODE

COSTS = InstructionCosts(build_npu_machine(load_target_spec("npu")))

ENGINES = len(COSTS.machine.engine_units)

CHANNELS = len(COSTS.channel_levels)

BUFFERS = "abcd"

Access: TypeAlias = tuple[str, Buffer, int]
"""Kind, buffer, and slot."""


def random_task(random: Random, max_distance: int = 0) -> Task:
    """A task of random cost with random buffers, issued early or not."""
    channels = [
        (channel, random.randrange(1, 40))
        for channel in random.sample(range(CHANNELS), random.randrange(CHANNELS + 1))
    ]
    engine, latency = random.randrange(ENGINES), random.randrange(9)
    cost = Cost(engine, random.randrange(1, 40), latency, tuple(channels), ())
    reads, writes = (
        tuple(random.sample(BUFFERS, random.randrange(3))) for _ in range(2)
    )
    return Task(cost, reads, writes, random.randrange(max_distance + 1))


def random_loop(random: Random, depth: int) -> Loop:
    """A loop of few iterations, none of which are extrapolated."""
    slots = random.randrange(1, 4)
    body = [
        random_loop(random, depth - 1)
        if depth and random.random() < 0.3
        else random_task(random, slots - 1)
        for _ in range(random.randrange(1, 6))
    ]
    buffers = frozenset(random.sample(BUFFERS, random.randrange(3)))
    return Loop(random.randrange(1, slots + 1), tuple(body), buffers, slots)


def tasks_in_order(items: Sequence[Item], slots: dict[Buffer, int]) -> Iterator[Task]:
    """Yield each task as it is issued; `slots` are those of the buffers by then."""
    for item in items:
        if isinstance(item, Task):
            yield item
            continue
        tasks = [each for each in item.body if isinstance(each, Task)]
        ahead = max((each.prefetch_distance for each in tasks), default=0)
        for iteration in range(-ahead, item.trips):
            slots |= dict.fromkeys(item.multi_buffers, iteration % item.slot_count)
            for each in item.body:
                distance = each.prefetch_distance if isinstance(each, Task) else 0
                at = iteration + distance
                if 0 <= at < item.trips and (distance or iteration >= 0):
                    if distance:
                        slots |= dict.fromkeys(item.multi_buffers, at % item.slot_count)
                    yield from tasks_in_order([each], slots)
                    if distance:
                        now = iteration % item.slot_count
                        slots |= dict.fromkeys(item.multi_buffers, now)


def reference_cycles(items: Sequence[Item]) -> int:
    """The cycles, by a search through the accesses of all engines."""
    model = EventModel.of_idle_machine(COSTS, 0)
    accesses: dict[Access, dict[int, int]] = {}
    slots: dict[Buffer, int] = dict.fromkeys(BUFFERS, 0)
    for task in tasks_in_order(items, slots):
        queue = task.cost.queue
        reads, writes = (
            [(each, slots[each]) for each in buffers]
            for buffers in (task.reads, task.writes)
        )
        conflicts = [("write", *e) for e in (*reads, *writes)]
        conflicts += [("read", *e) for e in writes]
        others = [
            time
            for each in conflicts
            for engine, time in accesses.get(each, {}).items()
            if engine != queue
        ]
        model.time += COSTS.machine.issue_cycles * CONTROL_CODE.issue_instructions
        starts = model.next_start_times
        starts[queue] = max([starts[queue], *others])
        model.execute_instruction(task.cost)
        for kind, used in (("read", reads), ("write", writes)):
            for each in used:
                accesses.setdefault((kind, *each), {})[queue] = model.result_times[
                    queue
                ]
    return model.end_time


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(40))
def test_only_accesses_of_other_engines_to_a_slot_are_awaited(seed: int):
    random = Random(seed)
    program = [random_loop(random, 1), random_task(random), random_loop(random, 2)]
    assert simulate_cycles(program, COSTS) == reference_cycles(program)


def test_a_chain_of_engines_waits_for_its_buffer():
    load, compute = (Cost(queue, 10, 5, (), ()) for queue in (0, 1))
    program = [Task(load, (), ("a",)), Task(compute, ("a",), ("b",))]
    issue = COSTS.machine.issue_cycles * CONTROL_CODE.issue_instructions
    assert simulate_cycles(program, COSTS) == issue + 2 * 15


def test_long_loops_are_extrapolated():
    """Each iteration takes as long as the one before."""
    load, compute = (Cost(queue, 100, 0, (), ()) for queue in (0, 1))
    body = Task(load, (), ("a",)), Task(compute, ("a",), ("b",))
    cycles = [simulate_cycles([Loop(n, body)], COSTS) for n in (10, 1000, 1990)]
    assert cycles[2] - cycles[1] == cycles[1] - cycles[0]


def test_engines_that_use_no_buffer_have_no_entries():
    tasks = [Task(Cost(queue, 1, 0, (), ()), ("a",), ()) for queue in (0, 0, 1)]
    assert EventProgram(tasks).entry_count == 2
    slotted = Loop(4, tuple(tasks), frozenset("a"), 3)
    assert EventProgram([slotted]).entry_count == 6
    assert Timeline([slotted], COSTS).end_cycles > 0
