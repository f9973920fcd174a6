"""Random partition problems, and cost models for them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlf.support.partition import (
    CostModel,
    Option,
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
    ResidencyContext,
    elements_of_mask,
    mask_of,
)


@dataclass
class Arbitrary(CostModel):
    """Cost model of random numbers that depend on operations, not on structure."""

    problem: PartitionProblem
    seed: int
    refused: int = 10
    """Percentage of groups and contexts without options."""

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        key = (self.seed, group, context.resident, context.retained, context.stored)
        generator = random.Random(hash(key))
        alone = not (group & (group - 1) or context.retained or context.resident)
        if not alone and generator.randrange(100) < self.refused:
            return []
        options = [
            Option(
                generator.randrange(1, 40) + 10 * group.bit_count(),
                generator.randrange(1, 40),
                0 if alone else generator.randrange(self.problem.capacity + 5),
            )
            for _ in range(generator.randrange(1, 4))
        ]
        free = self.problem.capacity - context.occupied_bytes
        return [option for option in options if option.footprint <= free]


def with_labels(problem: PartitionProblem) -> PartitionProblem:
    """Return a problem with distinct operations."""
    nodes = [replace(node, label=str(n)) for n, node in enumerate(problem.nodes)]
    return replace(problem, nodes=tuple(nodes))


def irregular(
    generator: random.Random, count: int
) -> tuple[PartitionProblem, list[int]]:
    """Return operations that read one or two of the last few values, and their work."""
    values = [
        ProblemValue(generator.choice((4, 8, 16)), label="given") for _ in range(2)
    ]
    nodes: list[ProblemOperation] = []
    for _ in range(count):
        recent = range(max(0, len(values) - generator.choice((1, 2, 4))), len(values))
        operands = {
            generator.choice(recent) for _ in range(generator.choice((1, 1, 2)))
        }
        if generator.random() < 0.2:
            operands.add(generator.randrange(len(values)))
        values.append(ProblemValue(generator.choice((4, 8, 16))))
        label = generator.choice(("a", "b"))
        nodes.append(
            ProblemOperation(tuple(sorted(operands)), (len(values) - 1,), label)
        )
    return _finished(generator, nodes, values)


def series_parallel(
    generator: random.Random, count: int
) -> tuple[PartitionProblem, list[int]]:
    """
    Return branches that fork and join, up to a number of operations, and their work.
    """
    values = [ProblemValue(8, label="given")]
    nodes: list[ProblemOperation] = []

    def run(*operands: int) -> int:
        values.append(ProblemValue(generator.choice((4, 8, 16))))
        nodes.append(
            ProblemOperation(operands, (len(values) - 1,), generator.choice(("a", "b")))
        )
        return len(values) - 1

    def branch(entry: int, budget: int) -> int:
        if budget < 4 or generator.random() < 0.4:
            for _ in range(generator.randrange(1, max(2, budget))):
                entry = run(entry)
            return entry
        left = branch(entry, (budget - 1) // 2)
        right = branch(entry, (budget - 1) // 2)
        return run(left, right)

    end = 0
    while len(nodes) < count:
        end = branch(end, count - len(nodes))
    return _finished(generator, nodes, values)


def _finished(
    generator: random.Random, nodes: list[ProblemOperation], values: list[ProblemValue]
) -> tuple[PartitionProblem, list[int]]:
    read = mask_of(value for node in nodes for value in node.operands)
    written = mask_of(value for node in nodes for value in node.results)
    for index in elements_of_mask(written):
        if not read >> index & 1 or generator.random() < 0.1:
            values[index] = replace(values[index], is_output=True)
    capacity = generator.choice((16, 32, 64))
    siblings = generator.random() < 0.5
    work = [generator.choice((2, 10, 30)) for _ in nodes]
    labelled = [
        replace(node, label=f"{node.label}{amount}")
        for node, amount in zip(nodes, work, strict=True)
    ]
    return PartitionProblem(tuple(labelled), tuple(values), capacity, siblings), work


def random_problem(seed: int, most: int) -> tuple[PartitionProblem, list[int]]:
    """Return a graph of up to `most` operations, and the work of each."""
    generator = random.Random(seed)
    make = generator.choice((irregular, series_parallel))
    return make(generator, generator.randrange(2, most + 1))


def renumbered(
    problem: PartitionProblem, seed: int
) -> tuple[PartitionProblem, list[int]]:
    """Return a problem with permuted indices, and the old index of each operation."""
    generator = random.Random(seed)
    order: list[int] = []
    while len(order) < len(problem.nodes):
        done = mask_of(order)
        ready = [
            index
            for index in range(len(problem.nodes))
            if not done >> index & 1 and not problem.predecessors[index] & ~done
        ]
        order.append(generator.choice(ready))
    values = list(range(len(problem.values)))
    generator.shuffle(values)
    new_index = {old: new for new, old in enumerate(values)}
    nodes = [problem.nodes[index] for index in order]
    renamed = [
        replace(
            node,
            operands=tuple(new_index[value] for value in node.operands),
            results=tuple(new_index[value] for value in node.results),
        )
        for node in nodes
    ]
    sizes = tuple(problem.values[value] for value in values)
    return replace(problem, nodes=tuple(renamed), values=sizes), order
