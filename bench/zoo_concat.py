"""
Networks that concatenate the outputs of branches, as in their papers.

- SqueezeNet 1.1: Iandola et al., SqueezeNet: AlexNet-level accuracy with 50x fewer
  parameters and <0.5MB model size, 2016; version 1.1 is from the authors' repository.
  Here the first filters are padded, and poolings drop the remainder.
- The first Inception module of GoogLeNet, with batch norm and 5x5 filters: Szegedy et
  al., Going Deeper with Convolutions, 2014.
- The first dense block of DenseNet-121: Huang et al., Densely Connected Convolutional
  Networks, 2016.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph

FIRES = ((16, 64), (32, 128), (48, 192), (64, 256))
"""Channels of pairs of Fire modules: squeezed channels, and channels of each branch."""


def concat_channels(builder: GraphBuilder, *values: SSAValue) -> SSAValue:
    """Concatenate images along their channels."""
    return builder.emit(graph.ConcatOp(values, 1))


def conv_bias_relu(
    builder: GraphBuilder,
    name: str,
    x: SSAValue,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
) -> SSAValue:
    """Return a convolution with a bias and ReLU."""
    value = builder.conv(name, x, channels, kernel, stride, bias=True)
    return builder.relu(value)


def conv_norm_relu(
    builder: GraphBuilder, name: str, x: SSAValue, channels: int, kernel: int = 1
) -> SSAValue:
    """Return a convolution with batch norm and ReLU."""
    return builder.relu(builder.conv_batch_norm(name, x, channels, kernel))


def fire(
    builder: GraphBuilder, name: str, x: SSAValue, squeezed: int, channels: int
) -> SSAValue:
    """Return a Fire module: a squeeze, then 1x1 and 3x3 filters, concatenated."""
    value = conv_bias_relu(builder, f"{name}.squeeze", x, squeezed)
    return concat_channels(
        builder,
        conv_bias_relu(builder, f"{name}.one", value, channels),
        conv_bias_relu(builder, f"{name}.three", value, channels, 3),
    )


def squeezenet(sizes: WorkloadSizes) -> ModuleOp:
    """Return SqueezeNet 1.1 with 1000 classes."""
    builder = GraphBuilder(sizes)
    x = builder.input("x", (sizes.batch, 3, sizes.size, sizes.size))
    value = conv_bias_relu(builder, "stem", x, sizes.width(64), 3, 2)
    for stage, (squeezed, channels) in enumerate(FIRES[: sizes.stages]):
        if stage < 3:
            value = builder.emit(graph.MaxPool2dOp(value, (3, 3), (2, 2)))
        for index in range(min(2, sizes.repeats)):
            name = f"fire{stage + 1}.{index + 1}"
            widths = sizes.width(squeezed), sizes.width(channels)
            value = fire(builder, name, value, *widths)
    value = conv_bias_relu(builder, "classes", value, sizes.width(1000))
    return builder.build_module("squeezenet", builder.spatial_mean(value))


def inception(sizes: WorkloadSizes) -> ModuleOp:
    """Return filters of three sizes and a pooling, concatenated."""
    builder, width = GraphBuilder(sizes), sizes.width
    x = builder.input("x", (sizes.batch, width(192), sizes.size, sizes.size))
    one = conv_norm_relu(builder, "one", x, width(64))
    three = conv_norm_relu(builder, "three.reduce", x, width(96))
    three = conv_norm_relu(builder, "three", three, width(128), 3)
    five = conv_norm_relu(builder, "five.reduce", x, width(16))
    five = conv_norm_relu(builder, "five", five, width(32), 5)
    pooled = builder.emit(graph.MaxPool2dOp(x, (3, 3), (1, 1), (1, 1, 1, 1)))
    pooled = conv_norm_relu(builder, "pooled", pooled, width(32))
    return builder.build_module(
        "inception", concat_channels(builder, one, three, five, pooled)
    )


def dense(sizes: WorkloadSizes) -> ModuleOp:
    """Return six layers, each reading the outputs of all earlier layers."""
    builder, growth = GraphBuilder(sizes), sizes.width(32)
    x = builder.input("x", (sizes.batch, sizes.width(64), sizes.size, sizes.size))
    outputs = [x]
    for index in range(min(6, sizes.repeats)):
        name = f"layer{index + 1}"
        value = outputs[0] if len(outputs) == 1 else concat_channels(builder, *outputs)
        value = builder.relu(builder.batch_norm(f"{name}.norm", value))
        value = conv_norm_relu(builder, f"{name}.reduce", value, 4 * growth)
        outputs.append(builder.conv(name, value, growth, 3))
    return builder.build_module("dense", concat_channels(builder, *outputs))
