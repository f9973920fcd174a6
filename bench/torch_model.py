"""Networks of PyTorch at several sizes, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

T: Any = torch
"""PyTorch, untyped for calls without type annotations."""


class Network(nn.Module):
    """Network with example arguments."""

    def example(self) -> tuple[Any, ...]:
        """Return random arguments; floating-point tensors are in f32."""
        raise NotImplementedError


@dataclass(frozen=True)
class Model:
    """Network that `make` builds at its published size, unless sizes are passed."""

    name: str
    make: Callable[..., Network]
    small: Mapping[str, Any]
    """Sizes that run in a second on the reference."""
    tiny: Mapping[str, Any]
    """Sizes for a simulator that differ from `small`."""

    def sizes(self, size: str) -> dict[str, Any]:
        """Return the arguments of `make` for `full`, `small` or `tiny`."""
        options = {
            "full": {},
            "small": self.small,
            "tiny": {**self.small, **self.tiny},
        }
        return dict(options[size])

    def build(self, size: str, **changes: Any) -> tuple[Network, tuple[Any, ...]]:
        """
        Return the network in evaluation mode with random weights, and its arguments.

        `changes` override the arguments of `make` of the size.
        """
        T.manual_seed(0)
        network = self.make(**{**self.sizes(size), **changes}).eval()
        randomise(network)
        return network, network.example()


def randomise(module: nn.Module) -> None:
    """
    Randomise all parameters and statistics.

    Products preserve the scale of their inputs. No parameter keeps its initial value of
    0 or 1.
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
    sample: Tensor = T.randn(parameter.shape)
    if parameter.ndim > 1:
        return sample / max(parameter[0].numel(), 1) ** 0.5
    return sample / 5 if "bias" in name else 1 + sample / 5


def cast_all(value: Any, dtype: torch.dtype) -> Any:
    """Convert the floating-point tensors among arguments to another dtype."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, tuple):
        return tuple(cast_all(each, dtype) for each in cast(tuple[Any, ...], value))
    return value
