"""
Other networks of images, as in their papers.

- MobileNet-v2: Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks,
  2018.
- A block of EfficientNet-B0: Tan and Le, EfficientNet: Rethinking Model Scaling, 2019.
- The first layers of VGG-16: Simonyan and Zisserman, Very Deep Convolutional Networks,
  2015.
- U-Net, with padded convolutions: Ronneberger, Fischer and Brox, U-Net: Convolutional
  Networks for Biomedical Image Segmentation, 2015.
- FSRCNN(56, 12, 4): Dong, Loy and Tang, Accelerating the Super-Resolution Convolutional
  Neural Network, 2016.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion ratio, channels, blocks and first stride of each stage of MobileNet-v2."""


def clipped_conv(
    builder: GraphBuilder,
    name: str,
    x: SSAValue,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
) -> SSAValue:
    """Return a convolution with batch norm, clipped to [0, 6]; ReLU if quantised."""
    value = builder.conv_batch_norm(name, x, channels, kernel, stride, groups)
    if builder.is_quantised:
        return builder.relu(value)
    return builder.clip(value, 0, 6)


def inverted_residual(
    builder: GraphBuilder,
    name: str,
    x: SSAValue,
    channels: int,
    stride: int,
    ratio: int,
) -> SSAValue:
    """Return an expanding 1x1, a depthwise 3x3 and a projecting 1x1 convolution."""
    inputs = shape_of(x)[1]
    expanded = inputs * ratio
    value = x if ratio == 1 else clipped_conv(builder, f"{name}.expand", x, expanded)
    value = clipped_conv(builder, f"{name}.depth", value, expanded, 3, stride, expanded)
    value = builder.conv_batch_norm(f"{name}.project", value, channels)
    is_residual = stride == 1 and inputs == channels
    return builder.add(value, x) if is_residual else value


def mobilenet_v2(sizes: WorkloadSizes) -> ModuleOp:
    """Return MobileNet-v2 with 1000 classes."""
    builder = GraphBuilder(sizes)
    x = builder.input("x", (sizes.batch, 3, sizes.size, sizes.size))
    value = clipped_conv(builder, "stem", x, sizes.width(32), 3, 2)
    for stage, (ratio, channels, count, stride) in enumerate(STAGES[: sizes.stages]):
        for index in range(min(count, sizes.repeats)):
            name = f"stage{stage + 1}.{index}"
            step = 1 if index else stride
            value = inverted_residual(
                builder, name, value, sizes.width(channels), step, ratio
            )
    value = clipped_conv(builder, "last", value, sizes.width(1280))
    rows = builder.spatial_mean(value)
    classes = builder.linear("classes", rows, sizes.width(1000))
    return builder.build_module("mobilenet_v2", classes)


def mbconv(sizes: WorkloadSizes) -> ModuleOp:
    """Return the block of 40 channels and 5x5 filters, with squeeze and excitation."""
    builder, epsilon = GraphBuilder(sizes), 1e-3
    channels = sizes.width(40)
    expanded, squeezed = 6 * channels, max(1, channels // 4)
    x = builder.input("x", (sizes.batch, channels, sizes.size, sizes.size))
    value = builder.conv_batch_norm("expand", x, expanded, epsilon=epsilon)
    value = builder.emit(graph.SiluOp(value))
    value = builder.conv_batch_norm("depth", value, expanded, 5, 1, expanded, epsilon)
    value = builder.emit(graph.SiluOp(value))
    mean = builder.emit(graph.MeanOp(value, [2, 3], keepdims=True))
    scale = builder.conv("squeeze", mean, squeezed, bias=True)
    scale = builder.emit(graph.SiluOp(scale))
    scale = builder.emit(
        graph.SigmoidOp(builder.conv("excite", scale, expanded, bias=True))
    )
    value = builder.emit(graph.MulOp(value, scale))
    value = builder.conv_batch_norm("project", value, channels, epsilon=epsilon)
    return builder.build_module("mbconv", builder.add(value, x))


def vgg16_head(sizes: WorkloadSizes) -> ModuleOp:
    """Return the first two pairs of convolutions, each with its pooling."""
    builder = GraphBuilder(sizes)
    value = builder.input("x", (sizes.batch, 3, sizes.size, sizes.size))
    for stage, channels in enumerate((64, 128)):
        for index in range(2):
            name = f"conv{stage + 1}.{index + 1}"
            value = builder.conv(name, value, sizes.width(channels), 3, bias=True)
            value = builder.relu(value)
        value = builder.emit(graph.MaxPool2dOp(value, (2, 2), (2, 2)))
    return builder.build_module("vgg16_head", value)


def pixel_shuffle(builder: GraphBuilder, x: SSAValue, factor: int) -> SSAValue:
    """Rearrange channels as pixels: `factor` times the rows and columns."""
    batch, channels, rows, columns = shape_of(x)
    filters = channels // (factor * factor)
    value = builder.reshape(x, (batch, filters, factor, factor, rows, columns))
    value = builder.transpose(value, (0, 1, 4, 2, 5, 3))
    return builder.reshape(value, (batch, filters, factor * rows, factor * columns))


def double_conv(
    builder: GraphBuilder, name: str, x: SSAValue, channels: int
) -> SSAValue:
    """Return two convolutions, each with batch norm and ReLU."""
    for index in range(2):
        value = builder.conv_batch_norm(f"{name}.conv{index + 1}", x, channels, 3)
        x = builder.relu(value)
    return x


def unet(sizes: WorkloadSizes) -> ModuleOp:
    """
    Return a U-Net of four pooling levels, with skip connections.

    A transposed convolution of 2x2 and stride 2 is computed as a 1x1 convolution to
    four times the channels and a pixel shuffle.
    """
    builder, depth = GraphBuilder(sizes), min(4, sizes.stages)
    channels = [sizes.width(64) << level for level in range(depth + 1)]
    x = builder.input("x", (sizes.batch, 3, sizes.size, sizes.size))
    levels = [double_conv(builder, "level0", x, channels[0])]
    for level in range(1, depth + 1):
        value = builder.emit(graph.MaxPool2dOp(levels[-1], (2, 2), (2, 2)))
        levels.append(double_conv(builder, f"level{level}", value, channels[level]))
    value = levels.pop()
    for level in reversed(range(depth)):
        finer = builder.conv(f"up{level}", value, 4 * channels[level], bias=True)
        finer = pixel_shuffle(builder, finer, 2)
        value = builder.emit(graph.ConcatOp([levels.pop(), finer], 1))
        value = double_conv(builder, f"up{level}", value, channels[level])
    return builder.build_module("unet", builder.conv("classes", value, 2, bias=True))


def prelu(builder: GraphBuilder, name: str, x: SSAValue) -> SSAValue:
    """Return the value, with negative elements scaled by a slope per channel."""
    slope = builder.weight(f"{name}.slope", (shape_of(x)[1], 1, 1))
    negative = builder.emit(graph.MinimumOp(x, builder.scalar_constant(0)))
    scaled = builder.emit(graph.MulOp(negative, slope))
    return builder.emit(graph.AddOp(builder.relu(x), scaled))


def fsrcnn(sizes: WorkloadSizes) -> ModuleOp:
    """
    Return FSRCNN on an image of one channel, 12 columns for 7 rows, scaled by four.

    Its transposed convolution of 9x9 and stride 4 is computed as a 3x3 convolution to
    16 channels and a pixel shuffle: each filter computes one pixel of 4x4 from the 3x3
    pixels that affect it.
    """
    builder = GraphBuilder(sizes)
    wide, narrow = sizes.width(56), sizes.width(12)
    shape = (sizes.batch, 1, sizes.size, sizes.size * 12 // 7)
    value = builder.input("x", shape)
    layers = [(wide, 5), (narrow, 1), *[(narrow, 3)] * 4, (wide, 1)]
    for index, (channels, kernel) in enumerate(layers):
        name = f"conv{index + 1}"
        value = builder.conv(name, value, channels, kernel, bias=True)
        value = prelu(builder, name, value)
    value = pixel_shuffle(builder, builder.conv("finer", value, 16, 3, bias=True), 4)
    return builder.build_module("fsrcnn", value)
