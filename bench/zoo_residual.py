"""
Residual networks: He, Zhang, Ren and Sun, Deep Residual Learning for Image Recognition,
2016; the stride of a bottleneck is that of its 3x3 convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

Block = Callable[[GraphBuilder, str, SSAValue, int, int], SSAValue]
"""A block of a name, on images, with so many channels inside, and a stride."""


def bottleneck_block(
    builder: GraphBuilder, name: str, x: SSAValue, width: int, stride: int
) -> SSAValue:
    """A 3x3 convolution between two of 1x1, the last with four times the channels."""
    value = builder.relu(builder.conv_batch_norm(f"{name}.conv1", x, width))
    value = builder.conv_batch_norm(f"{name}.conv2", value, width, 3, stride)
    value = builder.conv_batch_norm(f"{name}.conv3", builder.relu(value), 4 * width)
    beside = shortcut(builder, name, x, 4 * width, stride)
    return builder.relu(builder.add(value, beside))


def basic_block(
    builder: GraphBuilder, name: str, x: SSAValue, width: int, stride: int
) -> SSAValue:
    """Two 3x3 convolutions."""
    value = builder.relu(builder.conv_batch_norm(f"{name}.conv1", x, width, 3, stride))
    value = builder.conv_batch_norm(f"{name}.conv2", value, width, 3)
    beside = shortcut(builder, name, x, width, stride)
    return builder.relu(builder.add(value, beside))


def shortcut(
    builder: GraphBuilder, name: str, x: SSAValue, channels: int, stride: int
) -> SSAValue:
    """The input of a block in the shape of its output."""
    if stride == 1 and shape_of(x)[1] == channels:
        return x
    return builder.conv_batch_norm(f"{name}.shortcut", x, channels, 1, stride)


def bottleneck(sizes: WorkloadSizes) -> ModuleOp:
    """One block around which its own input goes: 256, 64 and 256 channels."""
    builder = GraphBuilder(sizes)
    width = sizes.width(64)
    x = builder.input("x", (sizes.batch, 4 * width, sizes.size, sizes.size))
    return builder.build_module(
        "bottleneck", bottleneck_block(builder, "block", x, width, 1)
    )


def resnet(
    sizes: WorkloadSizes, name: str, block: Block, counts: Sequence[int]
) -> ModuleOp:
    """A network of 1000 classes, of so many blocks in each of its stages."""
    builder = GraphBuilder(sizes)
    width = sizes.width(64)
    x = builder.input("x", (sizes.batch, 3, sizes.size, sizes.size))
    value = builder.relu(builder.conv_batch_norm("stem", x, width, 7, 2))
    value = builder.emit(graph.MaxPool2dOp(value, (3, 3), (2, 2), (1, 1, 1, 1)))
    for stage, count in enumerate(counts[: sizes.stages]):
        for number in range(min(count, sizes.repeats)):
            stride = 2 if stage and not number else 1
            label = f"stage{stage + 1}.{number}"
            value = block(builder, label, value, width << stage, stride)
    rows = builder.spatial_mean(value)
    return builder.build_module(
        name, builder.linear("classes", rows, sizes.width(1000))
    )


def resnet18(sizes: WorkloadSizes) -> ModuleOp:
    """ResNet-18."""
    return resnet(sizes, "resnet18", basic_block, (2, 2, 2, 2))


def resnet50(sizes: WorkloadSizes) -> ModuleOp:
    """ResNet-50."""
    return resnet(sizes, "resnet50", bottleneck_block, (3, 4, 6, 3))
