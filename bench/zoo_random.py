"""Random graphs, deterministic for a seed."""

from __future__ import annotations

from random import Random

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

ROWS, WIDTH = 128, 256
"""Shape of all values before division."""


class RandomGraph:
    """Builder of a random graph of products and simple operations on one shape."""

    def __init__(self, sizes: WorkloadSizes) -> None:
        self.builder = GraphBuilder(sizes)
        self.random = Random(sizes.seed)
        shape = (sizes.batch * sizes.width(ROWS), sizes.width(WIDTH))
        self.input = self.builder.input("x", shape)
        self.count = 0

    def add_unary(self, x: SSAValue) -> SSAValue:
        """Add a random operation on one value."""
        self.count += 1
        kind = self.random.choice(("product", "relu", "tanh", "scale", "centre"))
        if kind == "product":
            return self.builder.linear(f"step{self.count}", x, shape_of(x)[1], False)
        if kind == "scale":
            width = shape_of(x)[1:]
            scale = self.builder.weight(f"step{self.count}.scale", width)
            return self.builder.emit(graph.MulOp(x, scale))
        if kind == "centre":
            mean = self.builder.emit(graph.MeanOp(x, [1], keepdims=True))
            return self.builder.emit(graph.SubOp(x, mean))
        return self.builder.emit((graph.ReluOp if kind == "relu" else graph.TanhOp)(x))

    def add_binary(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Add a random operation on two values."""
        self.count += 1
        kind = self.random.choice((graph.AddOp, graph.SubOp, graph.MaximumOp))
        return self.builder.emit(kind(lhs, rhs))

    def series_parallel(self, x: SSAValue, count: int) -> SSAValue:
        """
        Return the result of `count` operations on `x`: chains, and branches that join.
        """
        if count < 3 or self.random.random() < 0.2:
            for _ in range(count):
                x = self.add_unary(x)
            return x
        if self.random.random() < 0.5:
            first = self.random.randint(1, count - 1)
            return self.series_parallel(self.series_parallel(x, first), count - first)
        left_count = self.random.randint(1, count - 2)
        sides = [
            self.series_parallel(x, each)
            for each in (left_count, count - 1 - left_count)
        ]
        return self.add_binary(*sides)

    def irregular(self, count: int) -> list[SSAValue]:
        """Add `count` operations on earlier values; return the unused values."""
        values, unused = [self.input], dict.fromkeys([self.input])
        for _ in range(count):
            recent = values[-6:]
            if len(values) > 1 and self.random.random() < 0.4:
                operands = [self.random.choice(recent), self.random.choice(values)]
                result = self.add_binary(*operands)
            else:
                operands = [self.random.choice(recent)]
                result = self.add_unary(*operands)
            for each in operands:
                unused.pop(each, None)
            values.append(result)
            unused[result] = None
        return list(unused)


def series_parallel(sizes: WorkloadSizes) -> ModuleOp:
    """Return a graph of chains and branches that join."""
    random_graph = RandomGraph(sizes)
    result = random_graph.series_parallel(random_graph.input, sizes.size)
    return random_graph.builder.build_module("series_parallel", result)


def irregular(sizes: WorkloadSizes) -> ModuleOp:
    """Return a graph of any form; all unused values are results."""
    random_graph = RandomGraph(sizes)
    return random_graph.builder.build_module(
        "irregular", *random_graph.irregular(sizes.size)
    )
