"""
Residual networks.

He, Zhang, Ren and Sun, Deep Residual Learning for Image Recognition, 2016; the stride
of a bottleneck is on its 3x3 convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

Block = Callable[[GraphBuilder, str, SSAValue, int, int], SSAValue]
"""Function from a builder, name, images, inner channels and stride to a block."""


def bottleneck_block(
    builder: GraphBuilder, name: str, x: SSAValue, width: int, stride: int
) -> SSAValue:
    """
    Return a 3x3 convolution between two 1x1, the last with four times the channels.
    """
    value = builder.relu(builder.conv_batch_norm(f"{name}.conv1", x, width))
    value = builder.conv_batch_norm(f"{name}.conv2", value, width, 3, stride)
    value = builder.conv_batch_norm(f"{name}.conv3", builder.relu(value), 4 * width)
    residual = shortcut(builder, name, x, 4 * width, stride)
    return builder.relu(builder.add(value, residual))


def basic_block(
    builder: GraphBuilder, name: str, x: SSAValue, width: int, stride: int
) -> SSAValue:
    """Return two 3x3 convolutions with a residual connection."""
    value = builder.relu(builder.conv_batch_norm(f"{name}.conv1", x, width, 3, stride))
    value = builder.conv_batch_norm(f"{name}.conv2", value, width, 3)
    residual = shortcut(builder, name, x, width, stride)
    return builder.relu(builder.add(value, residual))


def shortcut(
    builder: GraphBuilder, name: str, x: SSAValue, channels: int, stride: int
) -> SSAValue:
    """Return the input of a block in the shape of its output."""
    if stride == 1 and shape_of(x)[1] == channels:
        return x
    return builder.conv_batch_norm(f"{name}.shortcut", x, channels, 1, stride)


def bottleneck(sizes: WorkloadSizes) -> ModuleOp:
    """Return one residual block of 256, 64 and 256 channels."""
    builder = GraphBuilder(sizes)
    width = sizes.width(64)
    x = builder.input("x", (sizes.batch, 4 * width, sizes.size, sizes.size))
    return builder.build_module(
        "bottleneck", bottleneck_block(builder, "block", x, width, 1)
    )


def resnet(
    sizes: WorkloadSizes, name: str, block: Block, counts: Sequence[int]
) -> ModuleOp:
    """Return a network of 1000 classes with `counts` blocks in its stages."""
    builder = GraphBuilder(sizes)
    width = sizes.width(64)
    x = builder.input("x", (sizes.batch, 3, sizes.size, sizes.size))
    value = builder.relu(builder.conv_batch_norm("stem", x, width, 7, 2))
    value = builder.emit(graph.MaxPool2dOp(value, (3, 3), (2, 2), (1, 1, 1, 1)))
    for stage, count in enumerate(counts[: sizes.stages]):
        for index in range(min(count, sizes.repeats)):
            stride = 2 if stage and not index else 1
            label = f"stage{stage + 1}.{index}"
            value = block(builder, label, value, width << stage, stride)
    rows = builder.spatial_mean(value)
    return builder.build_module(
        name, builder.linear("classes", rows, sizes.width(1000))
    )


def resnet18(sizes: WorkloadSizes) -> ModuleOp:
    """Return ResNet-18."""
    return resnet(sizes, "resnet18", basic_block, (2, 2, 2, 2))


def resnet50(sizes: WorkloadSizes) -> ModuleOp:
    """Return ResNet-50."""
    return resnet(sizes, "resnet50", bottleneck_block, (3, 4, 6, 3))
