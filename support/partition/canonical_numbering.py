"""Canonical numbering of operations and values, from graph structure alone."""

import heapq
from dataclasses import dataclass, replace
from hashlib import blake2b

from tlf.support.partition.bit_sets import mask_of, members
from tlf.support.partition.cost_model import Context, CostModel, Option
from tlf.support.partition.partition_problem import Node, Problem
from tlf.support.partition.schedule import Alternative, Schedule, Step


@dataclass(frozen=True)
class Numbering:
    """Given numbers of the operations and values, in the order of the new ones."""

    nodes: tuple[int, ...]
    values: tuple[int, ...]

    def map_group(self, group: int) -> int:
        """Map a set of canonical operations to the given numbering."""
        return mask_of(self.nodes[number] for number in members(group))

    def map_values(self, values: int) -> int:
        """A set of values by given numbers, from one by new ones."""
        return mask_of(self.values[number] for number in members(values))

    def map_context(self, context: Context) -> Context:
        """A context by given numbers."""
        resident, kept = (
            self.map_values(context.resident),
            self.map_values(context.retained),
        )
        return Context(
            resident, kept, self.map_values(context.stored), context.occupied
        )

    def map_schedule(self, schedule: Schedule) -> Schedule:
        """A schedule by given numbers."""
        steps = tuple(map(self.map_step, schedule.steps))
        return Schedule(steps, schedule.time, schedule.bytes)

    def map_step(self, step: Step) -> Step:
        """A step by given numbers."""
        return Step(
            self.map_group(step.group), self.map_context(step.context), step.option
        )

    def map_alternative(self, alternative: Alternative) -> Alternative:
        """An alternative by given numbers."""
        return replace(alternative, step=self.map_step(alternative.step))

    def unmap_group(self, group: int) -> int:
        """A set of operations by new numbers, from one by given ones."""
        where = {given: new for new, given in enumerate(self.nodes)}
        return mask_of(where[number] for number in members(group))


@dataclass
class RenumberedCosts(CostModel):
    """A cost model of a problem, for the same one with other numbers."""

    costs: CostModel
    numbering: Numbering

    def __post_init__(self) -> None:
        self.monotone = self.costs.monotone

    def options(self, group: int, context: Context) -> list[Option]:
        numbering = self.numbering
        given = numbering.map_group(group), numbering.map_context(context)
        return list(self.costs.options(*given))

    def bound(self, group: int, context: Context) -> Option | None:
        numbering = self.numbering
        return self.costs.bound(
            numbering.map_group(group), numbering.map_context(context)
        )

    def is_runnable(self, group: int) -> bool:
        return self.costs.is_runnable(self.numbering.map_group(group))

    def objection(self, group: int) -> str | None:
        return self.costs.objection(self.numbering.map_group(group))


def identity_numbering(problem: Problem) -> Numbering:
    """The given numbers."""
    return Numbering(
        tuple(range(len(problem.nodes))), tuple(range(len(problem.values)))
    )


def canonicalize_problem(problem: Problem) -> tuple[Problem, Numbering]:
    """
    A problem with numbers that follow from its structure: in topological order, and
    among operations that are ready by a digest of all that they wait for, then of all
    that waits for them. Where operations have equal digests, which those do that a
    symmetry of the graph exchanges, the given order decides.
    """
    digests = _digest_operations(problem)
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


def _digest_operations(problem: Problem) -> list[tuple[int, str]]:
    """For each operation how many it waits for, and a digest of its place."""
    down: list[str] = []
    for number, node in enumerate(problem.nodes):
        read = [_digest_value(problem, value, down) for value in node.operands]
        own = [_digest_value(problem, value, []) for value in node.results]
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


def _digest_value(problem: Problem, value: int, digests: list[str]) -> str:
    """A value, and where it comes from if digests of operations are given."""
    what = problem.values[value]
    producer = problem.producers[value]
    if producer is None or not digests:
        return _digest(str(what.size), str(what.is_output), what.label)
    position = problem.nodes[producer].results.index(value)
    return _digest(digests[producer], str(position))


def _digest(*texts: str) -> str:
    return blake2b(repr(texts).encode(), digest_size=16).hexdigest()
