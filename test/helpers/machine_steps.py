"""Random work for the event model of a small machine."""

import random

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import InstructionCosts, TransferEnd
from tlf.machine.machine_spec import (
    DmaEngine,
    Level,
    Machine,
    MatrixEngine,
    VectorEngine,
)

LEVELS = {
    "L2": Level("L2", 1 << 20, 64, 20, 32, 32, shared=True),
    "L1": Level("L1", 1 << 16, 128, 3, 1, 1),
}
MACHINE = Machine(
    levels=LEVELS,
    engines={
        "matrix": MatrixEngine("matrix", "L1", 4, 4, {"f32": 1}, 6),
        "vector": VectorEngine("vector", "L1", 8, 4, 2),
        "load": DmaEngine("load", "L2", "L1"),
        "store": DmaEngine("store", "L1", "L2"),
    },
)
SEMAPHORES = 4

Step = tuple[str, int]


def steps(generator: random.Random) -> list[Step]:
    """Return random work and synchronisation, every wait after its signal."""
    result: list[Step] = []
    signals = [0] * SEMAPHORES
    for _ in range(generator.randrange(5, 60)):
        engine = generator.choice(list(MACHINE.engines))
        semaphore = generator.randrange(SEMAPHORES)
        kind = generator.randrange(4)
        if kind == 0:
            signals[semaphore] += 1
            result.append((f"signal {engine}", semaphore))
        elif kind == 1 and signals[semaphore]:
            signals[semaphore] -= 1
            result.append((f"wait {engine}", semaphore))
        else:
            result.append((engine, generator.randrange(1, 200)))
    return result


def do(model: EventModel, costs: InstructionCosts, program: list[Step]) -> None:
    """Issue all steps of a program."""
    for name, number in program:
        model.time += costs.machine.issue_cycles
        verb, _, engine = name.rpartition(" ")
        if verb == "signal":
            model.signal_semaphore(costs.queues_of(engine), number)
        elif verb == "wait":
            assert model.wait_for_semaphore(costs.queues_of(engine), number)
        elif name == "matrix":
            model.execute_instruction(costs.cost_of_matmul(1, number, 4, 8, "f32"))
        elif name == "vector":
            model.execute_instruction(costs.cost_of_elementwise(number))
        else:
            end = TransferEnd(0, (number,), (4,))
            model.execute_instruction(costs.cost_of_move(name, end, end, 4))


def run(machine: Machine, program: list[Step]) -> EventModel:
    """Run a program on an idle machine."""
    costs = InstructionCosts(machine)
    model = EventModel.of_idle_machine(costs, SEMAPHORES)
    do(model, costs, program)
    return model
