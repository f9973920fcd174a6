"""
Computations in PyTorch whose reductions depend on each other, as one writes them down.

Each is a function with the shapes of what it takes: forms of attention over queries,
keys and values, B x H x S x D, and rows of a matrix before or behind a product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from attention import (
    T,
    Tensor,
    causal,
    distance,
    grouped,
    plain,
    rectified,
    scores,
    soft_capped,
    window,
)

Form: TypeAlias = Callable[..., Tensor]

B, H, S, D = 4, 16, 4096, 64
"""Batches, heads, tokens and channels."""
ROWS, INNER, COLUMNS = 8192, 256, 4096
"""A matrix of rows, multiplied by one of columns."""
DTYPE = T.bfloat16
"""Of all that are no whole numbers."""

HEADS = (B, H, S, D)


@dataclass(frozen=True)
class Case:
    """A computation and what it takes."""

    form: Form
    shapes: Sequence[tuple[int, ...]]
    limits: Mapping[int, int]
    """Below what inputs that are whole numbers lie, by their places."""
    weights: Sequence[int] = ()
    """The places of what is the same at every call."""

    def inputs(self, seed: int = 0) -> list[Tensor]:
        """Random inputs."""
        generator = T.Generator().manual_seed(seed)
        return [
            T.randint(0, limit, shape, generator=generator)
            if (limit := self.limits.get(place)) is not None
            else T.randn(*shape, generator=generator).to(DTYPE)
            for place, shape in enumerate(self.shapes)
        ]


CASES: dict[str, Case] = {}


def case(
    *shapes: tuple[int, ...], weights: Sequence[int] = (), **limits: int
) -> Callable[[Form], Form]:
    """Enter a computation; `n2=5` says that input 2 holds numbers below 5."""

    def enter(form: Form) -> Form:
        places = {int(name[1:]): limit for name, limit in limits.items()}
        CASES[form.__name__] = Case(form, shapes, places, weights)
        return form

    return enter


def masked(found: Tensor, hidden: Tensor, value: Tensor) -> Tensor:
    """Attention that does not see what is hidden."""
    return T.softmax(found.masked_fill(hidden, -math.inf), -1) @ value


for each in (plain, causal, window, soft_capped, rectified):
    case(HEADS, HEADS, HEADS)(each)

case(HEADS, (B, H // 2, S, D), (B, H // 2, S, D))(grouped)


@case(HEADS, HEADS, HEADS, (B, S), n3=2)
def padding(query: Tensor, key: Tensor, value: Tensor, there: Tensor) -> Tensor:
    return masked(scores(query, key), (there == 0)[:, None, None, :], value)


@case(HEADS, HEADS, HEADS)
def alibi(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    slope = 2.0 ** -T.arange(1, H + 1)[:, None, None]
    bias = slope * distance(S, None).abs()
    return T.softmax(scores(query, key) - bias.to(query.dtype), -1) @ value


@case(HEADS, HEADS, HEADS)
def dilated(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    behind = distance(S, None)
    return masked(scores(query, key), (behind < 0) | (behind % 3 != 0), value)


@case(HEADS, HEADS, HEADS, (S,), n3=8)
def documents(query: Tensor, key: Tensor, value: Tensor, number: Tensor) -> Tensor:
    return masked(scores(query, key), number[:, None] != number[None, :], value)


@case(HEADS, HEADS, HEADS, (2 * S - 1, H))
def relative_bias(query: Tensor, key: Tensor, value: Tensor, table: Tensor) -> Tensor:
    bias = table[distance(S, None) + S - 1].permute(2, 0, 1)
    return T.softmax(scores(query, key) + bias, -1) @ value


@case(HEADS, HEADS, HEADS, HEADS, HEADS, (1,))
def differential(
    query: Tensor,
    key: Tensor,
    query2: Tensor,
    key2: Tensor,
    value: Tensor,
    part: Tensor,
) -> Tensor:
    first, second = scores(query, key), scores(query2, key2)
    return (T.softmax(first, -1) - part * T.softmax(second, -1)) @ value


@case(HEADS, HEADS, HEADS)
def linear(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = (T.nn.functional.elu(each) + 1 for each in (query, key))
    total = query @ key.sum(-2)[..., None]
    return query @ (key.transpose(-1, -2) @ value) / total


@case(HEADS, HEADS, HEADS, (H,))
def sink(query: Tensor, key: Tensor, value: Tensor, number: Tensor) -> Tensor:
    found = scores(query, key)
    extra = number[None, :, None, None].expand(*found.shape[:-1], 1)
    return T.softmax(T.cat([found, extra], -1), -1)[..., :-1] @ value


@case((ROWS, INNER), (INNER, COLUMNS), (ROWS,), weights=[1], n2=COLUMNS)
def cross_entropy(x: Tensor, weight: Tensor, label: Tensor) -> Tensor:
    return T.nn.functional.cross_entropy(x @ weight, label, reduction="none")


@case((ROWS, INNER), (INNER, COLUMNS), weights=[1])
def log_sum_exp(x: Tensor, weight: Tensor) -> Tensor:
    return T.logsumexp(x @ weight, -1)


@case((ROWS, INNER), (INNER, COLUMNS), weights=[1])
def entropy(x: Tensor, weight: Tensor) -> Tensor:
    found = T.log_softmax(x @ weight, -1)
    return -(found.exp() * found).sum(-1)


@case(
    (ROWS, INNER),
    (INNER,),
    (INNER,),
    (INNER, 3 * INNER),
    (3 * INNER,),
    weights=[1, 2, 3, 4],
)
def layer_norm_product(
    x: Tensor, scale: Tensor, shift: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    return T.nn.functional.layer_norm(x, (INNER,), scale, shift) @ weight + bias


@case((ROWS, INNER), (INNER,), (INNER, 3 * INNER), weights=[1, 2])
def rms_norm_product(x: Tensor, scale: Tensor, weight: Tensor) -> Tensor:
    return T.nn.functional.rms_norm(x, (INNER,), scale) @ weight


@case((ROWS, COLUMNS), (COLUMNS, 64), weights=[1])
def softmax_product(x: Tensor, weight: Tensor) -> Tensor:
    return T.softmax(x, -1) @ weight


@case((ROWS, COLUMNS), (COLUMNS, 64), weights=[1])
def unit_product(x: Tensor, weight: Tensor) -> Tensor:
    return T.nn.functional.normalize(x, dim=-1) @ weight


@case((ROWS, INNER), (INNER, COLUMNS), weights=[1])
def variance(x: Tensor, weight: Tensor) -> Tensor:
    return (x @ weight).var(-1)


@case((ROWS, INNER), (INNER, 16), weights=[1])
def gate(x: Tensor, weight: Tensor) -> Sequence[Tensor]:
    return T.softmax(x @ weight, -1).max(-1)


@case((ROWS, INNER), (INNER, 8), (8, INNER), weights=[1, 2])
def low_rank(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
    return (x @ down) @ up


@case((ROWS, INNER), (INNER, 32), (32, INNER), weights=[1, 2])
def narrow_mlp(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
    return T.relu(x @ down) @ up
