"""Graphs of known networks without IR and a simple cost model, to search schedules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tlf.support.partition import Context, Costs, Node, Option, Problem, Value, members

HEAVY = 100
"""Work from which on an operation counts as a contraction."""


@dataclass
class Graph:
    """Puts a problem together; sizes are in kilobytes, work in cycles."""

    values: list[Value] = field(default_factory=list[Value])
    nodes: list[Node] = field(default_factory=list[Node])
    work: list[int] = field(default_factory=list[int])

    def given(self, size: int, label: str = "given") -> int:
        """An input of the graph."""
        self.values.append(Value(size, label=label))
        return len(self.values) - 1

    def run(self, label: str, *operands: int, size: int, weights: int = 0) -> int:
        """An operation with one result; a contraction if it has weights."""
        if weights:
            operands = (*operands, self.given(weights, "weights"))
        self.values.append(Value(size))
        result = len(self.values) - 1
        self.nodes.append(Node(operands, (result,), f"{label} to {size}"))
        contracts = weights or label == "matmul"
        self.work.append(HEAVY + size // 2 if contracts else size // 8)
        return result

    def problem(self, output: int, capacity: int) -> Problem:
        """The graph that returns a value."""
        self.values[output] = replace(self.values[output], is_output=True)
        return Problem(tuple(self.nodes), tuple(self.values), capacity, siblings=True)


@dataclass
class Roofline(Costs):
    """
    Takes the longer of moving bytes and of the work of the operations, and a start for
    each group. Of what is written inside of a group one of `parts` has to fit; each
    part takes a start.
    """

    problem: Problem
    work: Sequence[int]
    heavy: int = HEAVY
    most: int = 3
    """Operations with `heavy` work or more that a group may have."""
    start: int = 20
    parts: Sequence[int] = (1, 4)

    def objection(self, group: int) -> str | None:
        count = sum(self.work[number] >= self.heavy for number in members(group))
        if count <= self.most:
            return None
        return f"{count} contractions, expected at most {self.most}"

    def options(self, group: int, context: Context) -> Sequence[Option]:
        size_of = self.problem.size_of
        read = written = work = 0
        for number in members(group):
            read |= self.problem.reads[number]
            written |= self.problem.writes[number]
            work += self.work[number]
        loaded = read & ~written & ~context.resident
        moved = size_of(loaded) + size_of(context.stored)
        stays = size_of(context.kept | context.resident)
        found: list[Option] = []
        for part in self.parts:
            footprint = stays + size_of(written) // part
            if footprint + context.taken <= self.problem.capacity:
                time = max(work, moved) + self.start * part
                found.append(Option(time, moved, footprint, part))
        return found


def residual(blocks: int) -> tuple[Problem, Sequence[int]]:
    """Bottlenecks with a skip, ten operations each, as in ResNet."""
    graph = Graph()
    x = graph.given(256)
    for _ in range(blocks):
        skip = x
        for number, size in enumerate((64, 64, 256)):
            x = graph.run("conv", x, size=size, weights=36 if number == 1 else 16)
            x = graph.run("norm", x, size=size)
            if number < 2:
                x = graph.run("relu", x, size=size)
        x = graph.run("relu", graph.run("add", x, skip, size=256), size=256)
    return graph.problem(x, 640), graph.work


def u_net(stacked: int, depth: int = 4) -> tuple[Problem, Sequence[int]]:
    """U-Nets one after the other, each with a skip for every level."""
    graph = Graph()
    x = graph.given(256)

    def convolved(x: int, size: int) -> int:
        for _ in range(2):
            x = graph.run("conv", x, size=size, weights=16)
            x = graph.run("relu", x, size=size)
        return x

    for _ in range(stacked):
        skips: list[tuple[int, int]] = []
        size = 256
        for _ in range(depth):
            x = convolved(x, size)
            skips.append((x, size))
            size //= 2
            x = graph.run("pool", x, size=size)
        x = convolved(x, size)
        for skip, size in reversed(skips):
            x = graph.run("concat", graph.run("up", x, size=size), skip, size=2 * size)
            x = convolved(x, size)
    return graph.problem(x, 640), graph.work


def transformer(layers: int) -> tuple[Problem, Sequence[int]]:
    """Layers of attention and of a feed-forward network, 20 operations each."""
    graph = Graph()
    x = graph.given(128)
    for _ in range(layers):
        y = graph.run("norm", x, size=128)
        q, k, v = (
            graph.run("heads", graph.run("conv", y, size=128, weights=64), size=128)
            for _ in range(3)
        )
        scores = graph.run("matmul", q, graph.run("swap", k, size=128), size=512)
        scores = graph.run("scale", scores, size=512)
        scores = graph.run("softmax", scores, size=512)
        y = graph.run("merge", graph.run("matmul", scores, v, size=128), size=128)
        y = graph.run("conv", y, size=128, weights=64)
        x = graph.run("add", x, y, size=128)
        y = graph.run("norm", x, size=128)
        y = graph.run("conv", y, size=512, weights=256)
        y = graph.run("gelu", y, size=512)
        y = graph.run("conv", y, size=128, weights=256)
        x = graph.run("add", x, y, size=128)
    return graph.problem(x, 1024), graph.work


GRAPHS: Mapping[str, Callable[[int], tuple[Problem, Sequence[int]]]] = {
    "residual": residual,
    "u-net": u_net,
    "transformer": transformer,
}
"""Graphs by name, each a function of how often its block is repeated."""
