"""A network of PyTorch at several sizes, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

T: Any = torch
"""The library for calls whose types it does not say."""


class Network(nn.Module):
    """A network that knows what it takes."""

    def example(self) -> tuple[Any, ...]:
        """Random arguments, in f32 where they are floats."""
        raise NotImplementedError


@dataclass(frozen=True)
class Model:
    """A network, of its real size unless `make` is told otherwise."""

    name: str
    make: Callable[..., Network]
    small: Mapping[str, Any]
    """The sizes that run in a second on the reference."""
    tiny: Mapping[str, Any]
    """The sizes that differ from `small` where programs run on a simulator."""

    def sizes(self, size: str) -> dict[str, Any]:
        """The arguments of `make` for `full`, `small` or `tiny`."""
        chosen = {
            "full": {},
            "small": self.small,
            "tiny": {**self.small, **self.tiny},
        }
        return dict(chosen[size])

    def build(self, size: str, **changes: Any) -> tuple[Network, tuple[Any, ...]]:
        """
        The network in evaluation mode with random weights, and arguments. `changes` are
        arguments of `make` that differ from those of the size.
        """
        T.manual_seed(0)
        network = self.make(**{**self.sizes(size), **changes}).eval()
        randomise(network)
        return network, network.example()


def randomise(module: nn.Module) -> None:
    """
    Draw all parameters and statistics. Products keep the scale of what they take, and
    nothing is 0 or 1 as it is at the start of a training.
    """
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(_draw_weight(name, parameter))
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(T.randn(buffer.shape) / 5)
            elif name.endswith("running_var"):
                buffer.copy_(T.rand(buffer.shape) + 0.5)


def _draw_weight(name: str, parameter: Tensor) -> Tensor:
    drawn: Tensor = T.randn(parameter.shape)
    if parameter.ndim > 1:
        return drawn / max(parameter[0].numel(), 1) ** 0.5
    return drawn / 5 if "bias" in name else 1 + drawn / 5


def cast_all(value: Any, dtype: torch.dtype) -> Any:
    """Arguments with the tensors of floats among them in another dtype."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, tuple):
        return tuple(cast_all(each, dtype) for each in cast(tuple[Any, ...], value))
    return value
