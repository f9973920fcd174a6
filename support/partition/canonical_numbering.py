"""Canonical numbering of graph operations and values by structure only, without IR."""

import heapq
from dataclasses import dataclass, replace
from hashlib import blake2b

from tlf.support.bit_sets import elements_of_mask, mask_of
from tlf.support.partition.cost_model import CostModel, Option, ResidencyContext
from tlf.support.partition.partition_problem import PartitionProblem, ProblemOperation
from tlf.support.partition.schedule import Alternative, Schedule, Step


@dataclass(frozen=True)
class CanonicalNumbering:
    """Given indices of the operations and values, in canonical order."""

    nodes: tuple[int, ...]
    values: tuple[int, ...]

    def map_group(self, group: int) -> int:
        """Map a set of canonical operations to the given numbering."""
        return mask_of(self.nodes[index] for index in elements_of_mask(group))

    def map_values(self, values: int) -> int:
        """Map a set of canonical values to the given numbering."""
        return mask_of(self.values[index] for index in elements_of_mask(values))

    def map_context(self, context: ResidencyContext) -> ResidencyContext:
        """Return a context in canonical numbering as one in the given numbering."""
        resident, retained = (
            self.map_values(context.resident),
            self.map_values(context.retained),
        )
        return ResidencyContext(
            resident, retained, self.map_values(context.stored), context.occupied_bytes
        )

    def map_schedule(self, schedule: Schedule) -> Schedule:
        """Map a schedule to the given numbering."""
        steps = tuple(map(self.map_step, schedule.steps))
        return Schedule(steps, schedule.time, schedule.bytes)

    def map_step(self, step: Step) -> Step:
        """Map a step to the given numbering."""
        return Step(
            self.map_group(step.group), self.map_context(step.context), step.option
        )

    def map_alternative(self, alternative: Alternative) -> Alternative:
        """Map an alternative to the given numbering."""
        return replace(alternative, step=self.map_step(alternative.step))

    def map_group_to_canonical(self, group: int) -> int:
        """Map a set of operations in the given numbering to the canonical one."""
        canonical = {given: new for new, given in enumerate(self.nodes)}
        return mask_of(canonical[index] for index in elements_of_mask(group))


@dataclass
class RenumberedCosts(CostModel):
    """Cost model of a problem, for the same problem in canonical numbering."""

    costs: CostModel
    numbering: CanonicalNumbering

    def __post_init__(self) -> None:
        self.monotone = self.costs.monotone

    def options_of_group(self, group: int, context: ResidencyContext) -> list[Option]:
        numbering = self.numbering
        arguments = numbering.map_group(group), numbering.map_context(context)
        return list(self.costs.options_of_group(*arguments))

    def bound_of_options(self, group: int, context: ResidencyContext) -> Option | None:
        """
        Return the bound of `costs` for a group and context in canonical numbering.
        """
        numbering = self.numbering
        return self.costs.bound_of_options(
            numbering.map_group(group), numbering.map_context(context)
        )

    def is_runnable(self, group: int) -> bool:
        return self.costs.is_runnable(self.numbering.map_group(group))

    def report_progress(self, fraction: float) -> None:
        self.costs.report_progress(fraction)

    def objection_to_group(self, group: int) -> str | None:
        return self.costs.objection_to_group(self.numbering.map_group(group))


def identity_numbering(problem: PartitionProblem) -> CanonicalNumbering:
    """Return the numbering that keeps the given indices."""
    return CanonicalNumbering(
        tuple(range(len(problem.nodes))), tuple(range(len(problem.values)))
    )


def canonicalize_problem(
    problem: PartitionProblem,
) -> tuple[PartitionProblem, CanonicalNumbering]:
    """
    Return the problem in a numbering that follows from its structure, and this
    numbering. The order is topological; operations that are ready are ordered by a
    digest of their ancestors, then of their descendants. Operations with equal digests,
    such as those that a symmetry of the graph exchanges, keep the given order.
    """
    digests = _hash_operations(problem)
    unscheduled_predecessors = [mask.bit_count() for mask in problem.predecessors]
    ready = [
        (digests[n], n) for n, count in enumerate(unscheduled_predecessors) if not count
    ]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for after in elements_of_mask(problem.successors[index]):
            unscheduled_predecessors[after] -= 1
            if not unscheduled_predecessors[after]:
                heapq.heappush(ready, (digests[after], after))
    nodes = [problem.nodes[index] for index in order]
    values = dict.fromkeys(v for n in nodes for v in (*n.operands, *n.results))
    values.update(dict.fromkeys(range(len(problem.values))))
    numbering = CanonicalNumbering(tuple(order), tuple(values))
    canonical = {given: new for new, given in enumerate(values)}
    renumbered = tuple(
        ProblemOperation(
            tuple(canonical[value] for value in node.operands),
            tuple(canonical[value] for value in node.results),
            node.label,
        )
        for node in nodes
    )
    sizes = tuple(problem.values[value] for value in values)
    return PartitionProblem(
        renumbered, sizes, problem.capacity, problem.siblings
    ), numbering


def _hash_operations(problem: PartitionProblem) -> list[tuple[int, str]]:
    """
    Return the number of ancestors of each operation, and a digest of its position in
    the graph.
    """
    down: list[str] = []
    for index, node in enumerate(problem.nodes):
        read = [_hash_value(problem, value, down) for value in node.operands]
        written = [_hash_value(problem, value, []) for value in node.results]
        down.append(_hash_texts(node.label, *read, "", *written))
    up = [""] * len(problem.nodes)
    for index in reversed(range(len(problem.nodes))):
        after = sorted(up[each] for each in elements_of_mask(problem.successors[index]))
        up[index] = _hash_texts(down[index], *after)
    shared = [
        _hash_texts(*sorted(up[each] for each in elements_of_mask(readers)))
        for readers in problem.consumers
    ]
    return [
        (
            problem.ancestors[index].bit_count(),
            _hash_texts(up[index], *(shared[value] for value in node.operands)),
        )
        for index, node in enumerate(problem.nodes)
    ]


def _hash_value(problem: PartitionProblem, value: int, digests: list[str]) -> str:
    """
    Return the digest of a value, including its producer if digests of operations are
    given.
    """
    attributes = problem.values[value]
    producer = problem.producers[value]
    if producer is None or not digests:
        return _hash_texts(
            str(attributes.size), str(attributes.is_output), attributes.label
        )
    position = problem.nodes[producer].results.index(value)
    return _hash_texts(digests[producer], str(position))


def _hash_texts(*texts: str) -> str:
    return blake2b(repr(texts).encode(), digest_size=16).hexdigest()
