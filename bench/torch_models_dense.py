"""DenseNet: each layer reads the outputs of all earlier layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_model import Model, Network, T


class DenseLayer(nn.Module):
    """
    1x1 convolution of all earlier outputs, then a 3x3 convolution to few channels.
    """

    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__()
        inner = 4 * growth
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, inner, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, growth, 3, padding=1, bias=False)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, before: Sequence[Tensor]) -> Tensor:
        x = self.conv1(self.relu(self.norm1(torch.cat(list(before), 1))))
        return self.conv2(self.relu(self.norm2(x)))


class DenseBlock(nn.Module):
    """Dense layers, and the concatenation of their outputs."""

    def __init__(self, inputs: int, growth: int, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DenseLayer(inputs + index * growth, growth) for index in range(count)
        )

    def forward(self, x: Tensor) -> Tensor:
        outputs = [x]
        for layer in self.layers:
            outputs.append(layer(outputs))
        return torch.cat(outputs, 1)


def transition(inputs: int) -> nn.Sequential:
    """Return a layer that halves the channels and the image size."""
    conv = nn.Conv2d(inputs, inputs // 2, 1, bias=False)
    norm = nn.BatchNorm2d(inputs)
    return nn.Sequential(norm, nn.ReLU(inplace=True), conv, nn.AvgPool2d(2, 2))


class DenseNet(Network):
    """DenseNet-121."""

    def __init__(
        self,
        growth: int = 32,
        counts: Sequence[int] = (6, 12, 24, 16),
        image: int = 224,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.image = image
        channels = 2 * growth
        self.conv = nn.Conv2d(3, channels, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.pool = nn.MaxPool2d(3, 2, 1)
        layers: list[nn.Module] = []
        for index, count in enumerate(counts):
            if index:
                layers.append(transition(channels))
                channels //= 2
            layers.append(DenseBlock(channels, growth, count))
            channels += count * growth
        self.blocks = nn.Sequential(*layers)
        self.last = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, classes)

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(1, 3, self.image, self.image),)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(functional.relu(self.norm(self.conv(x))))
        x = functional.relu(self.last(self.blocks(x)))
        x = functional.adaptive_avg_pool2d(x, (1, 1))
        return self.classifier(torch.flatten(x, 1))


DENSE = [
    Model(
        "densenet-121",
        DenseNet,
        {"growth": 4, "counts": (2, 3), "image": 32, "classes": 10},
        {"growth": 2, "counts": (1, 2), "image": 16},
    )
]
