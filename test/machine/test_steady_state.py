"""Repetition without doing it: the same state as doing it."""

import random
from collections.abc import Callable

import pytest
from machine_steps import MACHINE, SEMAPHORES, Step, do, steps

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import InstructionCosts
from tlf.machine.steady_state import repeat_body

State = tuple[object, ...]


def state(model: EventModel) -> State:
    semaphores = [list(queue) for queue in model.semaphores]
    rest = (
        model.next_start_times,
        model.result_times,
        model.channels,
        model.stalls,
        model.event_time_sum,
    )
    return (model.time, *rest, semaphores)


def balanced(generator: random.Random) -> list[Step]:
    """Steps that wait for as many signals as they give, some before they give them."""
    body = [step for step in steps(generator) if " " not in step[0]]
    for _ in range(generator.randrange(8)):
        semaphore = generator.randrange(SEMAPHORES)
        for verb in ("signal", "wait"):
            engine = generator.choice(list(MACHINE.engines))
            place = generator.randrange(len(body) + 1)
            body.insert(place, (f"{verb} {engine}", semaphore))
    return body


def ready(costs: InstructionCosts, generator: random.Random) -> EventModel:
    """A machine that has done something, with signals enough for a body."""
    model = EventModel.of_idle_machine(costs, SEMAPHORES)
    first = [step for step in steps(generator) if not step[0].startswith("wait")]
    do(model, costs, first)
    for _ in range(8):
        for semaphore in range(SEMAPHORES):
            do(model, costs, [("signal vector", semaphore)])
    return model


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(60))
def test_as_if_done(seed: int):
    costs = InstructionCosts(MACHINE)
    body = balanced(random.Random(seed))
    count = random.Random(seed).choice([1, 2, 3, 4, 7, 50, 401])
    short, long = (ready(costs, random.Random(seed)) for _ in range(2))
    repeat_body(short, lambda: do(short, costs, body), count)
    for _ in range(count):
        do(long, costs, body)
    assert state(short) == state(long)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(40))
def test_repetition_in_repetition(seed: int):
    costs = InstructionCosts(MACHINE)
    generator = random.Random(seed)
    outer, inner = balanced(generator), balanced(generator)
    counts = generator.randrange(1, 40), generator.randrange(1, 40)

    def nest(model: EventModel, many: Callable[..., None]) -> Callable[[], None]:
        def body() -> None:
            do(model, costs, outer)
            many(model, lambda: do(model, costs, inner), counts[1])

        return body

    def one_by_one(model: EventModel, body: Callable[[], None], count: int) -> None:
        del model
        for _ in range(count):
            body()

    short, long = (ready(costs, random.Random(seed)) for _ in range(2))
    repeat_body(short, nest(short, repeat_body), counts[0])
    one_by_one(long, nest(long, one_by_one), counts[0])
    assert state(short) == state(long)


def test_a_change_far_ahead_is_found():
    """
    The vector engine starts far behind the array, which it waits for once per
    repetition, and catches up in the middle of the run.
    """
    costs = InstructionCosts(MACHINE)
    body = [("vector", 8), ("matrix", 4), ("signal matrix", 0), ("wait vector", 0)]
    slow = [("vector", 80), ("vector", 8)]

    def start() -> EventModel:
        model = EventModel.of_idle_machine(costs, SEMAPHORES)
        do(model, costs, [("vector", 8 * 5000), *slow])
        return model

    short, long = start(), start()
    calls = 0

    def once() -> None:
        nonlocal calls
        calls += 1
        do(short, costs, body)

    repeat_body(short, once, 3000)
    for _ in range(3000):
        do(long, costs, body)
    assert state(short) == state(long)
    assert calls < 300


def test_signals_that_add_up_are_kept():
    """Nothing settles where every repetition leaves a signal behind."""
    costs = InstructionCosts(MACHINE)
    model = EventModel.of_idle_machine(costs, SEMAPHORES)
    repeat_body(model, lambda: do(model, costs, [("signal matrix", 0)]), 20)
    assert len(model.semaphores[0]) == 20


def test_few_are_done_of_many():
    costs = InstructionCosts(MACHINE)
    model = EventModel.of_idle_machine(costs, SEMAPHORES)
    calls = 0

    def body() -> None:
        nonlocal calls
        calls += 1
        do(model, costs, [("matrix", 8), ("vector", 100)])

    repeat_body(model, body, 10**12)
    assert calls < 10
    assert model.next_start_times[0] == 10**12 * 16 + 1
