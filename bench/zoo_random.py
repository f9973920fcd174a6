"""Random graphs, the same for the same seed."""

from __future__ import annotations

from random import Random

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

ROWS, WIDTH = 128, 256
"""The shape of all values, but for the divisor."""


class RandomGraph:
    """Builds a graph of values of one shape, out of products and simple operations."""

    def __init__(self, sizes: WorkloadSizes) -> None:
        self.builder = GraphBuilder(sizes)
        self.random = Random(sizes.seed)
        shape = (sizes.batch * sizes.width(ROWS), sizes.width(WIDTH))
        self.input = self.builder.input("x", shape)
        self.count = 0

    def add_unary(self, x: SSAValue) -> SSAValue:
        """An operation on one value."""
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
        """An operation on two values."""
        self.count += 1
        kind = self.random.choice((graph.AddOp, graph.SubOp, graph.MaximumOp))
        return self.builder.emit(kind(lhs, rhs))

    def series_parallel(self, x: SSAValue, count: int) -> SSAValue:
        """So many operations from one value to one: chains, and branches that join."""
        if count < 3 or self.random.random() < 0.2:
            for _ in range(count):
                x = self.add_unary(x)
            return x
        if self.random.random() < 0.5:
            first = self.random.randint(1, count - 1)
            return self.series_parallel(self.series_parallel(x, first), count - first)
        left = self.random.randint(1, count - 2)
        sides = [self.series_parallel(x, each) for each in (left, count - 1 - left)]
        return self.add_binary(*sides)

    def irregular(self, count: int) -> list[SSAValue]:
        """So many operations on earlier values; what none of them uses."""
        values, unused = [self.input], dict.fromkeys([self.input])
        for _ in range(count):
            recent = values[-6:]
            if len(values) > 1 and self.random.random() < 0.4:
                operands = [self.random.choice(recent), self.random.choice(values)]
                made = self.add_binary(*operands)
            else:
                operands = [self.random.choice(recent)]
                made = self.add_unary(*operands)
            for each in operands:
                unused.pop(each, None)
            values.append(made)
            unused[made] = None
        return list(unused)


def series_parallel(sizes: WorkloadSizes) -> ModuleOp:
    """A graph of chains and branches that join."""
    made = RandomGraph(sizes)
    result = made.series_parallel(made.input, sizes.size)
    return made.builder.build_module("series_parallel", result)


def irregular(sizes: WorkloadSizes) -> ModuleOp:
    """A graph of any form, each value that is not used a result."""
    made = RandomGraph(sizes)
    return made.builder.build_module("irregular", *made.irregular(sizes.size))
