"""Convolutional networks of images and sound."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_model import Model, Network, T


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a residual connection."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.downsample(x)
        return self.relu(out)


class SideBySide(nn.Module):
    """Modules with an argument and a result each."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(modules)

    def forward(self, *arguments: Tensor) -> tuple[Tensor, ...]:
        pairs = zip(self.parts, arguments, strict=True)
        return tuple(part(x) for part, x in pairs)


class Bottleneck(nn.Module):
    """3x3 convolution of fewer channels between two 1x1 convolutions."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += self.downsample(x)
        return self.relu(out)


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Return the residual connection: the input in the shape of the output."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


class ResNet(Network):
    """ResNet-18 or -50, depending on the block type."""

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck] = BasicBlock,
        counts: Sequence[int] = (2, 2, 2, 2),
        width: int = 64,
        image: int = 224,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.image = image
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        layers: list[nn.Module] = []
        inputs = width
        for stage, count in enumerate(counts):
            for index in range(count):
                stride = 2 if stage and not index else 1
                layers.append(block(inputs, width << stage, stride))
                inputs = (width << stage) * block.expansion
        self.layers = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(inputs, classes)

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(1, 3, self.image, self.image),)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layers(x))
        return self.fc(torch.flatten(x, 1))


def resnet50(counts: Sequence[int] = (3, 4, 6, 3), **sizes: int) -> ResNet:
    """Return ResNet-50."""
    return ResNet(Bottleneck, counts, **sizes)


def conv_block(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """Return a convolution, normalised and clipped to [0, 6]."""
    conv = nn.Conv2d(
        inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False
    )
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    """Expanding 1x1, depthwise 3x3 and projecting 1x1 convolution."""

    def __init__(self, inputs: int, outputs: int, stride: int, ratio: int) -> None:
        super().__init__()
        self.is_residual = stride == 1 and inputs == outputs
        hidden = inputs * ratio
        first = [] if ratio == 1 else [conv_block(inputs, hidden, 1)]
        self.conv = nn.Sequential(
            *first,
            conv_block(hidden, hidden, 3, stride, hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.is_residual else self.conv(x)


MOBILENET = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion ratio, channels, number of blocks and first stride of each stage."""


class MobileNet(Network):
    """MobileNet-v2, its channels divided by `divisor`."""

    def __init__(
        self,
        stages: Sequence[tuple[int, int, int, int]] = MOBILENET,
        divisor: int = 1,
        image: int = 224,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.image = image
        inputs, last = 32 // divisor, 1280 // divisor
        layers: list[nn.Module] = [conv_block(3, inputs, 3, 2)]
        for ratio, channels, count, stride in stages:
            outputs = max(channels // divisor, 2)
            for index in range(count):
                step = 1 if index else stride
                layers.append(InvertedResidual(inputs, outputs, step, ratio))
                inputs = outputs
        layers.append(conv_block(inputs, last, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, classes))

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(1, 3, self.image, self.image),)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class SqueezeExcite(nn.Module):
    """Channels scaled by a function of their means."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, hidden, 1)
        self.fc2 = nn.Conv2d(hidden, channels, 1)
        self.activation = nn.SiLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.fc2(self.activation(self.fc1(self.avgpool(x))))
        return torch.sigmoid(scale) * x


class MbConv(Network):
    """Block of EfficientNet-B0 with 5x5 convolutions and 40 channels."""

    def __init__(self, channels: int = 40, kernel: int = 5, image: int = 28) -> None:
        super().__init__()
        self.size = (1, channels, image, image)
        hidden = 6 * channels
        self.block = nn.Sequential(
            nn.Conv2d(channels, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden, eps=1e-3),
            nn.SiLU(inplace=True),
            nn.Conv2d(
                hidden, hidden, kernel, 1, kernel // 2, groups=hidden, bias=False
            ),
            nn.BatchNorm2d(hidden, eps=1e-3),
            nn.SiLU(inplace=True),
            SqueezeExcite(hidden, channels // 4),
            nn.Conv2d(hidden, channels, 1, bias=False),
            nn.BatchNorm2d(channels, eps=1e-3),
        )

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(self.size),)

    def forward(self, x: Tensor) -> Tensor:
        result = self.block(x)
        result += x
        return result


def double_conv(inputs: int, outputs: int) -> nn.Sequential:
    """Return two convolutions, each with batch norm and ReLU."""
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers.append(nn.Conv2d(channels, outputs, 3, padding=1, bias=False))
        layers += [nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class Up(nn.Module):
    """Upsampling, concatenated with the skip connection of the same level."""

    def __init__(self, inputs: int, outputs: int, is_transposed: bool) -> None:
        super().__init__()
        if is_transposed:
            self.up: nn.Module = nn.ConvTranspose2d(inputs, outputs, 2, stride=2)
        else:
            self.up = nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                nn.Conv2d(inputs, outputs, 1),
            )
        self.conv = double_conv(2 * outputs, outputs)

    def forward(self, x: Tensor, beside: Tensor) -> Tensor:
        x = self.up(x)
        height = beside.shape[2] - x.shape[2]
        width = beside.shape[3] - x.shape[3]
        padding = [width // 2, width - width // 2, height // 2, height - height // 2]
        return self.conv(torch.cat([beside, functional.pad(x, padding)], dim=1))


class UNet(Network):
    """U-Net: a pooling path down, and a path up with skip connections."""

    def __init__(
        self,
        width: int = 64,
        depth: int = 4,
        image: int = 512,
        classes: int = 2,
        is_transposed: bool = True,
    ) -> None:
        super().__init__()
        self.image = image
        self.first = double_conv(3, width)
        sizes = [width << level for level in range(depth + 1)]
        pairs = [*pairwise(sizes)]
        self.down = nn.ModuleList(
            nn.Sequential(nn.MaxPool2d(2), double_conv(less, more))
            for less, more in pairs
        )
        self.up = nn.ModuleList(
            Up(more, less, is_transposed) for less, more in reversed(pairs)
        )
        self.last = nn.Conv2d(width, classes, 1)

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(1, 3, self.image, self.image),)

    def forward(self, x: Tensor) -> Tensor:
        levels = [self.first(x)]
        for layer in self.down:
            levels.append(layer(levels[-1]))
        x = levels.pop()
        for layer in self.up:
            x = layer(x, levels.pop())
        return self.last(x)


class WaveNet(Network):
    """Causal convolutions of growing dilation on sound."""

    def __init__(
        self,
        channels: int = 64,
        skip: int = 256,
        layers: int = 10,
        cycles: int = 2,
        samples: int = 16000,
    ) -> None:
        super().__init__()
        self.samples = samples
        self.gaps = [1 << layer for layer in range(layers)] * cycles
        self.first = nn.Conv1d(1, channels, 1)
        self.gates = nn.ModuleList(
            nn.Conv1d(channels, 2 * channels, 2, dilation=gap) for gap in self.gaps
        )
        self.mixes = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in self.gaps)
        self.skips = nn.ModuleList(nn.Conv1d(channels, skip, 1) for _ in self.gaps)
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, 256, 1))

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(1, 1, self.samples),)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        total: Tensor | None = None
        for gap, gate, mix, skip in zip(
            self.gaps, self.gates, self.mixes, self.skips, strict=True
        ):
            signal, strength = gate(functional.pad(x, (gap, 0))).chunk(2, dim=1)
            inner = torch.tanh(signal) * torch.sigmoid(strength)
            total = skip(inner) if total is None else total + skip(inner)
            x = x + mix(inner)
        return self.last(total)


_SMALL = {"image": 32, "classes": 10}
_SMALL_UNET = {"width": 8, "depth": 2, "image": 18}

VISION = [
    Model(
        "resnet-18",
        ResNet,
        {"width": 8, "image": 33, "classes": 10},
        {"width": 4, "counts": (1, 2, 1, 1), "image": 17},
    ),
    Model(
        "resnet-50",
        resnet50,
        {"width": 8, **_SMALL},
        {"width": 2, "counts": (1, 2, 1, 1), "image": 17},
    ),
    Model(
        "mobilenet-v2",
        MobileNet,
        {"divisor": 8, **_SMALL},
        {"stages": ((1, 16, 1, 1), (6, 16, 2, 2)), "image": 9},
    ),
    Model(
        "mbconv",
        MbConv,
        {"channels": 8, "image": 9},
        {"channels": 4, "kernel": 3, "image": 5},
    ),
    Model("u-net", UNet, _SMALL_UNET, {"width": 4, "image": 10}),
    Model(
        "u-net bilinear",
        partial(UNet, is_transposed=False),
        _SMALL_UNET,
        {"width": 4, "image": 10},
    ),
    Model(
        "wavenet",
        WaveNet,
        {"channels": 8, "skip": 8, "layers": 4, "samples": 41},
        {"layers": 2, "samples": 19},
    ),
]
