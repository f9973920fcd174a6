"""Small random networks whose plans can be enumerated."""

from __future__ import annotations

from random import Random

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

CHANNELS = 4
IMAGE = (1, CHANNELS, 4, 4)
ROWS = (4, 8)
"""Shapes of values before strides: few and small, so that graphs share groups."""

MAX_OPERATIONS = 8
"""Maximum number of operations of a graph."""


class SmallNetwork:
    """Builder of a network on images or on rows."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.builder = GraphBuilder(WorkloadSizes(1, element="f16", seed=seed))
        self.is_image = self.random.random() < 0.6
        shape = IMAGE if self.is_image else ROWS
        self.values = [self.builder.input("x", shape)]
        self.unused = dict.fromkeys(self.values)

    def add_step(self) -> None:
        """Add an operation on one of the latest values, or on two of one shape."""
        x = self.random.choice(self.values[-3:])
        same = [
            each
            for each in self.values
            if each is not x and shape_of(each) == shape_of(x)
        ]
        if same and self.random.random() < 0.3:
            other = self.random.choice(same)
            kind = self.random.choice((graph.AddOp, graph.MulOp, graph.MaximumOp))
            self._add_value(self.builder.emit(kind(x, other)), x, other)
        else:
            self._add_value(
                self._image_step(x) if self.is_image else self._row_step(x), x
            )

    def _add_value(self, made: SSAValue, *operands: SSAValue) -> None:
        for each in operands:
            self.unused.pop(each, None)
        self.values.append(made)
        self.unused[made] = None

    def _image_step(self, x: SSAValue) -> SSAValue:
        name = f"step{len(self.values)}"
        kind = self.random.choice(("conv", "conv", "window", "window", "pool", "relu"))
        if kind == "conv":
            return self.builder.conv(name, x, CHANNELS)
        if kind == "window":
            stride = self.random.choice((1, 1, 1, 2)) if shape_of(x) == IMAGE else 1
            return self.builder.conv(name, x, CHANNELS, 3, stride)
        if kind == "pool":
            return self.builder.emit(graph.MaxPool2dOp(x, (3, 3), (1, 1), (1, 1, 1, 1)))
        return self.builder.relu(x)

    def _row_step(self, x: SSAValue) -> SSAValue:
        name = f"step{len(self.values)}"
        kind = self.random.choice(("product", "product", "relu", "scale", "centre"))
        if kind == "product":
            return self.builder.linear(name, x, shape_of(x)[1], False)
        if kind == "scale":
            scale = self.builder.weight(f"{name}.scale", shape_of(x)[1:])
            return self.builder.emit(graph.MulOp(x, scale))
        if kind == "centre":
            mean = self.builder.emit(graph.MeanOp(x, [1], keepdims=True))
            return self.builder.emit(graph.SubOp(x, mean))
        return self.builder.relu(x)

    def finish(self) -> ModuleOp:
        """
        Return the network; its results are all unused values and sometimes one more.
        """
        results = list(self.unused)
        used = [each for each in self.values[1:] if each not in self.unused]
        if used and self.random.random() < 0.2:
            results.append(self.random.choice(used))
        return self.builder.build_module("small", *results)


def small_network(seed: int) -> ModuleOp:
    """Return a network of 2 to `MAX_OPERATIONS` operations."""
    network = SmallNetwork(seed)
    for _ in range(network.random.randint(2, MAX_OPERATIONS)):
        network.add_step()
    return network.finish()
