"""Small functions of PyTorch, with generators of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

T: Any = torch


@dataclass(frozen=True)
class Case:
    """Function on tensors, with a generator of its arguments."""

    name: str
    text: str
    """Function in Python source; `T` is torch and `F` is torch.nn.functional."""
    shapes: Sequence[tuple[int, ...]]
    draw: Callable[[torch.Generator, tuple[int, ...]], Tensor]

    @property
    def function(self) -> Callable[..., Any]:
        """Evaluated function."""
        return eval(self.text, {"T": torch, "F": functional})

    def arguments(self, dtype: torch.dtype) -> list[Tensor]:
        """Return random arguments; integers and booleans keep their type."""
        generator = T.Generator().manual_seed(0)
        samples = [self.draw(generator, shape) for shape in self.shapes]
        return [
            each.to(dtype) if each.is_floating_point() else each for each in samples
        ]


def normal(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.randn(shape, generator=generator)


def positive(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.rand(shape, generator=generator) + 0.1


def unit(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.rand(shape, generator=generator) * 1.8 - 0.9


def whole(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    magnitudes = T.randint(1, 9, shape, generator=generator)
    return magnitudes * (1 - 2 * T.randint(0, 2, shape, generator=generator))


def truth(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.rand(shape, generator=generator) < 0.5


def index(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """Return indices below 5."""
    return T.randint(0, 5, shape, generator=generator)


Shapes = Sequence[tuple[int, ...]]


def cases_of(
    names: str,
    shapes: Shapes = ((5, 7),),
    draw: Callable[[torch.Generator, tuple[int, ...]], Tensor] = normal,
    library: str = "T",
) -> list[Case]:
    """Return cases of the named functions of a library."""
    return [Case(name, f"{library}.{name}", shapes, draw) for name in names.split()]
