"""Partition problems of known networks, and a roofline cost model for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tlf.support.partition import (
    CostModel,
    Option,
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
    ResidencyContext,
    elements_of_mask,
)

HEAVY = 100
"""Minimum work of an operation that counts as a contraction."""


@dataclass
class ProblemBuilder:
    """Builder of a problem; sizes are in kilobytes, work in cycles."""

    values: list[ProblemValue] = field(default_factory=list[ProblemValue])
    nodes: list[ProblemOperation] = field(default_factory=list[ProblemOperation])
    work: list[int] = field(default_factory=list[int])

    def add_input(self, size: int, label: str = "given") -> int:
        """Add an input of the graph, and return its index."""
        self.values.append(ProblemValue(size, label=label))
        return len(self.values) - 1

    def add_operation(
        self, label: str, *operands: int, size: int, weights: int = 0
    ) -> int:
        """Add an operation, a contraction if it has weights, and return its result."""
        if weights:
            operands = (*operands, self.add_input(weights, "weights"))
        self.values.append(ProblemValue(size))
        result = len(self.values) - 1
        self.nodes.append(ProblemOperation(operands, (result,), f"{label} to {size}"))
        contracts = weights or label == "matmul"
        self.work.append(HEAVY + size // 2 if contracts else size // 8)
        return result

    def build_problem(self, output: int, capacity: int) -> PartitionProblem:
        """Return the problem of the graph that returns the value `output`."""
        self.values[output] = replace(self.values[output], is_output=True)
        return PartitionProblem(
            tuple(self.nodes), tuple(self.values), capacity, siblings=True
        )


@dataclass
class RooflineCosts(CostModel):
    """
    Cost model: maximum of transfer time and work, plus a start-up time per tile.

    A group runs in `parts` tiles, one of which has to fit into memory; each tile takes
    a start-up time.
    """

    problem: PartitionProblem
    work: Sequence[int]
    heavy: int = HEAVY
    most: int = 3
    """Maximum number of operations with at least `heavy` work in a group."""
    start: int = 20
    parts: Sequence[int] = (1, 4)

    def objection_to_group(self, group: int) -> str | None:
        count = sum(self.work[index] >= self.heavy for index in elements_of_mask(group))
        if count <= self.most:
            return None
        return f"{count} contractions, expected at most {self.most}"

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        size_of = self.problem.size_of
        read = written = work = 0
        for index in elements_of_mask(group):
            read |= self.problem.reads[index]
            written |= self.problem.writes[index]
            work += self.work[index]
        loaded = read & ~written & ~context.resident
        traffic = size_of(loaded) + size_of(context.stored)
        resident = size_of(context.retained | context.resident)
        candidates: list[Option] = []
        for part in self.parts:
            footprint = resident + size_of(written) // part
            if footprint + context.occupied_bytes <= self.problem.capacity:
                time = max(work, traffic) + self.start * part
                candidates.append(Option(time, traffic, footprint, part))
        return candidates


def residual(blocks: int) -> tuple[PartitionProblem, Sequence[int]]:
    """Return bottlenecks with a skip, ten operations each, as in ResNet."""
    graph = ProblemBuilder()
    x = graph.add_input(256)
    for _ in range(blocks):
        skip = x
        for index, size in enumerate((64, 64, 256)):
            x = graph.add_operation(
                "conv", x, size=size, weights=36 if index == 1 else 16
            )
            x = graph.add_operation("norm", x, size=size)
            if index < 2:
                x = graph.add_operation("relu", x, size=size)
        x = graph.add_operation(
            "relu", graph.add_operation("add", x, skip, size=256), size=256
        )
    return graph.build_problem(x, 640), graph.work


def u_net(stacked: int, depth: int = 4) -> tuple[PartitionProblem, Sequence[int]]:
    """Return a sequence of U-Nets, each with a skip for every level."""
    graph = ProblemBuilder()
    x = graph.add_input(256)

    def convolve(x: int, size: int) -> int:
        for _ in range(2):
            x = graph.add_operation("conv", x, size=size, weights=16)
            x = graph.add_operation("relu", x, size=size)
        return x

    for _ in range(stacked):
        skips: list[tuple[int, int]] = []
        size = 256
        for _ in range(depth):
            x = convolve(x, size)
            skips.append((x, size))
            size //= 2
            x = graph.add_operation("pool", x, size=size)
        x = convolve(x, size)
        for skip, size in reversed(skips):
            x = graph.add_operation(
                "concat", graph.add_operation("up", x, size=size), skip, size=2 * size
            )
            x = convolve(x, size)
    return graph.build_problem(x, 640), graph.work


def transformer(layers: int) -> tuple[PartitionProblem, Sequence[int]]:
    """Return layers of attention and of a feed-forward network, 20 operations each."""
    graph = ProblemBuilder()
    x = graph.add_input(128)
    for _ in range(layers):
        y = graph.add_operation("norm", x, size=128)
        q, k, v = (
            graph.add_operation(
                "heads", graph.add_operation("conv", y, size=128, weights=64), size=128
            )
            for _ in range(3)
        )
        scores = graph.add_operation(
            "matmul", q, graph.add_operation("swap", k, size=128), size=512
        )
        scores = graph.add_operation("scale", scores, size=512)
        scores = graph.add_operation("softmax", scores, size=512)
        y = graph.add_operation(
            "merge", graph.add_operation("matmul", scores, v, size=128), size=128
        )
        y = graph.add_operation("conv", y, size=128, weights=64)
        x = graph.add_operation("add", x, y, size=128)
        y = graph.add_operation("norm", x, size=128)
        y = graph.add_operation("conv", y, size=512, weights=256)
        y = graph.add_operation("gelu", y, size=512)
        y = graph.add_operation("conv", y, size=128, weights=256)
        x = graph.add_operation("add", x, y, size=128)
    return graph.build_problem(x, 1024), graph.work


GRAPHS: Mapping[str, Callable[[int], tuple[PartitionProblem, Sequence[int]]]] = {
    "residual": residual,
    "u-net": u_net,
    "transformer": transformer,
}
"""Graphs by name; each is a function of the number of repeated blocks."""
