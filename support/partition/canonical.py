"""A numbering of operations and values that does not depend on the one given."""

import heapq
from dataclasses import dataclass, replace
from hashlib import blake2b

from tlf.support.partition.bits import mask_of, members
from tlf.support.partition.costs import Context, Costs, Option
from tlf.support.partition.problem import Node, Problem
from tlf.support.partition.schedule import Alternative, Schedule, Step


@dataclass(frozen=True)
class Numbering:
    """Given numbers of the operations and values, in the order of the new ones."""

    nodes: tuple[int, ...]
    values: tuple[int, ...]

    def group(self, group: int) -> int:
        """A set of operations by given numbers, from one by new ones."""
        return mask_of(self.nodes[number] for number in members(group))

    def set(self, values: int) -> int:
        """A set of values by given numbers, from one by new ones."""
        return mask_of(self.values[number] for number in members(values))

    def context(self, context: Context) -> Context:
        """A context by given numbers."""
        resident, kept = self.set(context.resident), self.set(context.kept)
        return Context(resident, kept, self.set(context.stored), context.taken)

    def schedule(self, schedule: Schedule) -> Schedule:
        """A schedule by given numbers."""
        steps = tuple(map(self.step, schedule.steps))
        return Schedule(steps, schedule.time, schedule.bytes)

    def step(self, step: Step) -> Step:
        """A step by given numbers."""
        return Step(self.group(step.group), self.context(step.context), step.option)

    def alternative(self, alternative: Alternative) -> Alternative:
        """An alternative by given numbers."""
        return replace(alternative, step=self.step(alternative.step))

    def inverse(self, group: int) -> int:
        """A set of operations by new numbers, from one by given ones."""
        where = {given: new for new, given in enumerate(self.nodes)}
        return mask_of(where[number] for number in members(group))


@dataclass
class Renumbered(Costs):
    """A cost model of a problem, for the same one with other numbers."""

    costs: Costs
    numbering: Numbering

    def __post_init__(self) -> None:
        self.monotone = self.costs.monotone

    def options(self, group: int, context: Context) -> list[Option]:
        numbering = self.numbering
        given = numbering.group(group), numbering.context(context)
        return list(self.costs.options(*given))

    def bound(self, group: int, context: Context) -> Option | None:
        numbering = self.numbering
        return self.costs.bound(numbering.group(group), numbering.context(context))

    def is_runnable(self, group: int) -> bool:
        return self.costs.is_runnable(self.numbering.group(group))

    def objection(self, group: int) -> str | None:
        return self.costs.objection(self.numbering.group(group))


def identity(problem: Problem) -> Numbering:
    """The given numbers."""
    return Numbering(
        tuple(range(len(problem.nodes))), tuple(range(len(problem.values)))
    )


def canonical(problem: Problem) -> tuple[Problem, Numbering]:
    """
    A problem with numbers that follow from its structure: in topological order, and
    among operations that are ready by a digest of all that they wait for, then of all
    that waits for them. Where operations have equal digests, which those do that a
    symmetry of the graph exchanges, the given order decides.
    """
    digests = _digests(problem)
    left = [mask.bit_count() for mask in problem.predecessors]
    ready = [(digests[n], n) for n, count in enumerate(left) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(number)
        for after in members(problem.successors[number]):
            left[after] -= 1
            if not left[after]:
                heapq.heappush(ready, (digests[after], after))
    nodes = [problem.nodes[number] for number in order]
    values = dict.fromkeys(v for n in nodes for v in (*n.operands, *n.results))
    values.update(dict.fromkeys(range(len(problem.values))))
    numbering = Numbering(tuple(order), tuple(values))
    where = {given: new for new, given in enumerate(values)}
    renumbered = tuple(
        Node(
            tuple(where[value] for value in node.operands),
            tuple(where[value] for value in node.results),
            node.label,
        )
        for node in nodes
    )
    sizes = tuple(problem.values[value] for value in values)
    return Problem(renumbered, sizes, problem.capacity, problem.siblings), numbering


def _digests(problem: Problem) -> list[tuple[int, str]]:
    """For each operation how many it waits for, and a digest of its place."""
    down: list[str] = []
    for number, node in enumerate(problem.nodes):
        read = [_of(problem, value, down) for value in node.operands]
        own = [_of(problem, value, []) for value in node.results]
        down.append(_digest(node.label, *read, "", *own))
    up = [""] * len(problem.nodes)
    for number in reversed(range(len(problem.nodes))):
        after = sorted(up[each] for each in members(problem.successors[number]))
        up[number] = _digest(down[number], *after)
    shared = [
        _digest(*sorted(up[each] for each in members(readers)))
        for readers in problem.consumers
    ]
    return [
        (
            problem.ancestors[number].bit_count(),
            _digest(up[number], *(shared[value] for value in node.operands)),
        )
        for number, node in enumerate(problem.nodes)
    ]


def _of(problem: Problem, value: int, digests: list[str]) -> str:
    """A value, and where it comes from if digests of operations are given."""
    what = problem.values[value]
    producer = problem.producers[value]
    if producer is None or not digests:
        return _digest(str(what.size), str(what.is_output), what.label)
    position = problem.nodes[producer].results.index(value)
    return _digest(digests[producer], str(position))


def _digest(*texts: str) -> str:
    return blake2b(repr(texts).encode(), digest_size=16).hexdigest()
