"""
Networks that concatenate the outputs of their branches, each as its paper has it.

- SqueezeNet 1.1: Iandola et al., SqueezeNet: AlexNet-level accuracy with 50x fewer
  parameters and <0.5MB model size, 2016; version 1.1 is that of the authors'
  repository. Here the first filters are padded, and poolings leave out the rest.
- The first Inception module of GoogLeNet, normalised, with 5x5 filters: Szegedy et al.,
  Going Deeper with Convolutions, 2014.
- The first dense block of DenseNet-121: Huang et al., Densely Connected Convolutional
  Networks, 2016.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph

FIRES = ((16, 64), (32, 128), (48, 192), (64, 256))
"""The channels of pairs of Fire modules: squeezed ones, and those of each branch."""


def concat_channels(builder: GraphBuilder, *values: SSAValue) -> SSAValue:
    """The channels of several images."""
    return builder.emit(graph.ConcatOp(values, 1))


def conv_bias_relu(
    builder: GraphBuilder,
    name: str,
    x: SSAValue,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
) -> SSAValue:
    """A convolution with a bias, cut off below 0."""
    value = builder.conv(name, x, channels, kernel, stride, bias=True)
    return builder.relu(value)


def conv_norm_relu(
    builder: GraphBuilder, name: str, x: SSAValue, channels: int, kernel: int = 1
) -> SSAValue:
    """A convolution, normalised and cut off below 0."""
    return builder.relu(builder.conv_batch_norm(name, x, channels, kernel))


def fire(
    builder: GraphBuilder, name: str, x: SSAValue, squeezed: int, channels: int
) -> SSAValue:
    """Fewer channels, of which filters of two sizes make more again."""
    value = conv_bias_relu(builder, f"{name}.squeeze", x, squeezed)
    return concat_channels(
        builder,
        conv_bias_relu(builder, f"{name}.one", value, channels),
        conv_bias_relu(builder, f"{name}.three", value, channels, 3),
    )


def squeezenet(sizes: WorkloadSizes) -> ModuleOp:
    """SqueezeNet 1.1 of 1000 classes."""
    builder = GraphBuilder(sizes)
    x = builder.input("x", (sizes.batch, 3, sizes.size, sizes.size))
    value = conv_bias_relu(builder, "stem", x, sizes.width(64), 3, 2)
    for stage, (squeezed, channels) in enumerate(FIRES[: sizes.stages]):
        if stage < 3:
            value = builder.emit(graph.MaxPool2dOp(value, (3, 3), (2, 2)))
        for number in range(min(2, sizes.repeats)):
            name = f"fire{stage + 1}.{number + 1}"
            widths = sizes.width(squeezed), sizes.width(channels)
            value = fire(builder, name, value, *widths)
    value = conv_bias_relu(builder, "classes", value, sizes.width(1000))
    return builder.build_module("squeezenet", builder.spatial_mean(value))


def inception(sizes: WorkloadSizes) -> ModuleOp:
    """Filters of three sizes and a pooling, side by side."""
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
    """Six layers, each of which reads what all before it have made."""
    builder, growth = GraphBuilder(sizes), sizes.width(32)
    x = builder.input("x", (sizes.batch, sizes.width(64), sizes.size, sizes.size))
    made = [x]
    for number in range(min(6, sizes.repeats)):
        name = f"layer{number + 1}"
        value = made[0] if len(made) == 1 else concat_channels(builder, *made)
        value = builder.relu(builder.batch_norm(f"{name}.norm", value))
        value = conv_norm_relu(builder, f"{name}.reduce", value, 4 * growth)
        made.append(builder.conv(name, value, growth, 3))
    return builder.build_module("dense", concat_channels(builder, *made))
