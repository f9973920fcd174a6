"""The event model: exact on small cases, monotone on random ones."""

import random
from dataclasses import replace

from machine_steps import LEVELS, MACHINE, SEMAPHORES, run, steps

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import InstructionCosts
from tlf.machine.machine_spec import Machine, MatrixEngine, VectorEngine


def faster(generator: random.Random) -> Machine:
    """The machine with one of its parts faster."""
    levels, engines = dict(LEVELS), dict(MACHINE.engines)
    name = generator.choice(list(levels))
    level = levels[name]
    changes = [
        replace(level, bandwidth=level.bandwidth * generator.choice([1.25, 2, 8])),
        replace(level, latency=level.latency // 2),
        replace(level, burst=1),
        replace(level, shared=False),
    ]
    levels[name] = generator.choice(changes)
    array, lanes = engines["matrix"], engines["vector"]
    assert isinstance(array, MatrixEngine)
    assert isinstance(lanes, VectorEngine)
    if generator.random() < 0.3:
        engines["matrix"] = replace(array, rows=generator.choice([5, 8, 16]))
    if generator.random() < 0.3:
        engines["matrix"] = replace(array, startup=0)
    if generator.random() < 0.3:
        engines["vector"] = replace(lanes, lanes=generator.choice([9, 16, 64]))
    if generator.random() < 0.3:
        engines["vector"] = replace(lanes, startup=0, transcendental=1)
    issue = generator.choice([0, MACHINE.issue_cycles])
    return replace(MACHINE, issue_cycles=issue, levels=levels, engines=engines)


def test_a_faster_part_never_makes_a_program_slower():
    generator = random.Random(11)
    for _ in range(400):
        program = steps(generator)
        assert (
            run(faster(generator), program).end_time <= run(MACHINE, program).end_time
        )


def test_less_work_never_takes_longer():
    """Leaving out work, but no signal or wait."""
    generator = random.Random(12)
    for _ in range(200):
        program = steps(generator)
        work = [index for index, (name, _) in enumerate(program) if " " not in name]
        without = list(program)
        del without[generator.choice(work or [0])]
        if work:
            assert run(MACHINE, without).end_time <= run(MACHINE, program).end_time


def test_every_cycle_is_accounted_for():
    """An engine works, stands still for a reason, or has nothing left to do."""
    generator = random.Random(13)
    for _ in range(200):
        program = steps(generator)
        model = run(MACHINE, program)
        costs = InstructionCosts(MACHINE)
        stalled = model.stall_cycles_by_cause()
        for name, queue in costs.queues.items():
            busy = model.next_start_times[queue] - sum(stalled[name].values())
            alone = run(MACHINE, [step for step in program if step[0] == name])
            wanted = alone.next_start_times[queue] - sum(
                alone.stall_cycles_by_cause()[name].values()
            )
            assert busy == wanted


def test_a_wait_needs_an_earlier_signal():
    model = EventModel.of_idle_machine(InstructionCosts(MACHINE), SEMAPHORES)
    assert not model.wait_for_semaphore([0], 0)
    model.signal_semaphore([1], 0)
    assert model.wait_for_semaphore([0], 0)
    assert not model.wait_for_semaphore([0], 0)
