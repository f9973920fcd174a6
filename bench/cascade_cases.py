"""
Computations with cascaded reductions, in PyTorch.

Each is a function, registered with the shapes of its inputs: forms of attention over
queries, keys and values of shape B x H x S x D, and computations on the rows of a
matrix before or after a product.
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
    grouped_query,
    plain,
    relu_attention,
    repeat_heads,
    scores,
    soft_capped,
    window,
)

Form: TypeAlias = Callable[..., Tensor]

DTYPE = T.bfloat16
"""Element type of all floating-point inputs."""

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class CascadeSizes:
    """Sizes of the computations."""

    b: int = 4
    """Batches."""
    h: int = 16
    """Heads."""
    s: int = 4096
    """Tokens."""
    d: int = 64
    """Channels of a head."""
    rows: int = 8192
    """Rows of the matrix (M)."""
    k: int = 256
    """Columns of the matrix, the reduction axis of the product (K)."""
    n: int = 4096
    """Columns of the second factor (N)."""

    @property
    def heads(self) -> Shape:
        """Shape of queries, keys and values."""
        return self.b, self.h, self.s, self.d


@dataclass(frozen=True)
class CascadeCase:
    """Computation with the shapes and value ranges of its inputs."""

    form: Form
    shapes: Callable[[CascadeSizes], Sequence[Shape]]
    limits: Mapping[int, int]
    """Exclusive upper bounds of the integer inputs, by input index."""
    weights: Sequence[int] = ()
    """Indices of the inputs that are weights: equal on every call."""

    def inputs(
        self, sizes: CascadeSizes | None = None, dtype: object = DTYPE, seed: int = 0
    ) -> list[Tensor]:
        """Return random inputs."""
        generator = T.Generator().manual_seed(seed)
        return [
            T.randint(0, limit, shape, generator=generator)
            if (limit := self.limits.get(index)) is not None
            else T.randn(*shape, generator=generator).to(dtype)
            for index, shape in enumerate(self.shapes(sizes or CascadeSizes()))
        ]


CASES: dict[str, CascadeCase] = {}


def register_case(
    shapes: Callable[[CascadeSizes], Sequence[Shape]],
    weights: Sequence[int] = (),
    **limits: int,
) -> Callable[[Form], Form]:
    """Register a computation; `n2=5` marks input 2 as integers below 5."""

    def enter(form: Form) -> Form:
        bounds = {int(name[1:]): limit for name, limit in limits.items()}
        CASES[form.__name__] = CascadeCase(form, shapes, bounds, weights)
        return form

    return enter


def masked_attention(found: Tensor, hidden: Tensor, value: Tensor) -> Tensor:
    """Return attention over the scores that `hidden` does not mask."""
    return T.softmax(found.masked_fill(hidden, -math.inf), -1) @ value


for each in (plain, causal, window, soft_capped, relu_attention):
    register_case(lambda n: [n.heads] * 3)(each)

register_case(lambda n: [n.heads, *[(n.b, n.h // 2, n.s, n.d)] * 2])(grouped_query)


@register_case(lambda n: [*[n.heads] * 3, (n.b, n.s)], n3=2)
def padding(query: Tensor, key: Tensor, value: Tensor, there: Tensor) -> Tensor:
    return masked_attention(scores(query, key), (there == 0)[:, None, None, :], value)


@register_case(lambda n: [n.heads] * 3)
def alibi(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    heads = T.arange(1, query.shape[1] + 1, device=query.device)
    bias = 2.0 ** -heads[:, None, None] * distance(key.shape[-2], query.device).abs()
    return T.softmax(scores(query, key) - bias.to(query.dtype), -1) @ value


@register_case(lambda n: [n.heads] * 3)
def dilated_window(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    offsets = distance(key.shape[-2], key.device)
    return masked_attention(
        scores(query, key), (offsets < 0) | (offsets % 3 != 0), value
    )


@register_case(lambda n: [*[n.heads] * 3, (n.s,)], n3=8)
def documents(query: Tensor, key: Tensor, value: Tensor, number: Tensor) -> Tensor:
    return masked_attention(
        scores(query, key), number[:, None] != number[None, :], value
    )


@register_case(lambda n: [*[n.heads] * 3, (2 * n.s - 1, n.h)], weights=[3])
def relative_bias(query: Tensor, key: Tensor, value: Tensor, table: Tensor) -> Tensor:
    tokens = key.shape[-2]
    bias = table[distance(tokens, key.device) + tokens - 1].permute(2, 0, 1)
    return T.softmax(scores(query, key) + bias, -1) @ value


@register_case(lambda n: [n.heads] * 3)
def logistic(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    tokens = key.shape[-2]
    return T.sigmoid(scores(query, key) - math.log(tokens)) @ value


@register_case(lambda n: [*[n.heads] * 3, (32, n.h)], weights=[3])
def bucketed_bias(query: Tensor, key: Tensor, value: Tensor, table: Tensor) -> Tensor:
    """Biases by buckets of distances, logarithmic for large distances, as in T5."""
    apart = -distance(key.shape[-2], key.device)
    offsets = apart.abs()
    steps = T.log(offsets.float() / 8) / math.log(16) * 8
    buckets = T.where(offsets < 8, offsets, T.clamp(8 + steps.to(T.long), max=15))
    bias = T.nn.functional.embedding(buckets + 16 * (apart > 0).to(T.long), table)
    return T.softmax(scores(query, key) + bias.permute(2, 0, 1), -1) @ value


@register_case(lambda n: [*[n.heads] * 5, (1,)])
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


@register_case(lambda n: [n.heads] * 3)
def linear(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = (T.nn.functional.elu(each) + 1 for each in (query, key))
    total = query @ key.sum(-2)[..., None]
    return query @ (key.transpose(-1, -2) @ value) / total


@register_case(lambda n: [n.heads] * 3)
def linear_scores(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = (T.nn.functional.elu(each) + 1 for each in (query, key))
    weights = query @ key.transpose(-1, -2)
    return weights @ value / weights.sum(-1, keepdim=True)


@register_case(lambda n: [n.heads] * 3)
def linear_einsum(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = (T.nn.functional.elu(each) + 1 for each in (query, key))
    total = T.einsum("bhqd,bhd->bhq", query, key.sum(2))
    state = T.einsum("bhkd,bhke->bhde", key, value)
    return T.einsum("bhqd,bhde,bhq->bhqe", query, state, 1 / total)


@register_case(lambda n: [*[n.heads] * 3, (n.h,)])
def sink(query: Tensor, key: Tensor, value: Tensor, number: Tensor) -> Tensor:
    logits = scores(query, key)
    extra = number[None, :, None, None].expand(*logits.shape[:-1], 1)
    return T.softmax(T.cat([logits, extra], -1), -1)[..., :-1] @ value


@register_case(lambda n: [*[n.heads] * 5, (1,), (n.d,)], weights=(6,))
def differential_norm(*inputs: Tensor) -> Tensor:
    """Differential attention, each result divided by its root mean square."""
    *operands, scale = inputs
    result = differential(*operands)
    return T.nn.functional.rms_norm(result, scale.shape, scale, 1e-5)


@register_case(lambda n: [n.heads] * 3)
def decaying(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention whose scores decay with distance; each result is normalised."""
    positions = T.arange(query.shape[-2], device=query.device)
    distance = (positions[:, None] - positions[None, :]).abs()
    weights = scores(query, key) * (distance * -0.01).exp().to(query.dtype)
    return T.nn.functional.layer_norm(weights @ value, value.shape[-1:])


@register_case(lambda n: [n.heads] * 3)
def logarithms(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention whose probabilities are computed as logarithms."""
    log_weights = T.log_softmax(scores(query, key).float(), -1)
    return log_weights.exp().to(value.dtype) @ value


@register_case(lambda n: [*[n.heads] * 3, (n.b, n.h, n.s, 3 * n.d // 4)])
def two_values(
    query: Tensor, key: Tensor, value: Tensor, place: Tensor
) -> Sequence[Tensor]:
    """Attention over two values, of tokens and of their positions, as for molecules."""
    weights = T.softmax(scores(query, key), -1)
    return weights @ value, weights @ place


@register_case(lambda n: [n.heads, n.heads, (n.b, n.h, n.d, n.s)])
def channels_first(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = T.softmax(scores(query, key), -1)
    return T.einsum("bhij,bhdj->bhdi", weights, value)


@register_case(lambda n: [*[(16 * n.b, n.h, 49, n.d)] * 3, (n.h, 49, 49), (16, 49, 49)])
def windows(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor, mask: Tensor
) -> Tensor:
    """Attention in windows of images, with a mask for each window."""
    logits = scores(query, key) + bias
    windowed = logits.view(-1, *mask.shape[:1], *logits.shape[1:]) + mask[:, None]
    return T.softmax(windowed.view(logits.shape), -1) @ value


@register_case(lambda n: [(n.b, n.d, n.d, n.h, n.d)] * 3)
def axial(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention along the rows of images."""
    rows = (each.flatten(0, 1).transpose(1, 2) for each in (query, key, value))
    return plain(*rows).transpose(1, 2).unflatten(0, query.shape[:2])


@register_case(lambda n: [*[(n.b * n.h, n.s, n.d)] * 3, (n.b, 1, n.s, n.s)])
def merged_heads(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """Attention whose batches and heads are one axis, except for the bias."""
    logits = scores(query, key)
    split = logits.view(len(bias), -1, *logits.shape[1:]) + bias
    return T.bmm(T.softmax(split, -1).view(logits.shape), value)


@register_case(lambda n: [(n.b, n.s, n.h, n.d), *[(n.b, n.s, n.h // 2, n.d)] * 2])
def einsum_grouped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention whose heads share keys and values; the head axis follows the tokens."""
    split = query.unflatten(2, (key.shape[2], -1)) / math.sqrt(query.shape[-1])
    logits = T.einsum("bqhgd,bkhd->bhgqk", split, key)
    return T.einsum("bhgqk,bkhd->bqhgd", T.softmax(logits, -1), value).flatten(2, 3)


@register_case(
    lambda n: [n.heads, *[(n.b, n.h // 2, n.s, n.d)] * 2, (n.b, 1, n.s, n.s)]
)
def repeated_heads(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """
    Attention with keys and values repeated for each head, and a transposed result.
    """
    logits = scores(query, repeat_heads(key, query)) + bias
    weights = T.softmax(logits, -1, dtype=T.float32).to(query.dtype)
    return (weights @ repeat_heads(value, query)).transpose(1, 2).contiguous()


@register_case(lambda n: [(n.rows, n.k), (n.n, n.k), (n.rows,)], weights=[1], n2=40)
def cross_entropy(x: Tensor, weight: Tensor, label: Tensor) -> Tensor:
    scores = T.nn.functional.linear(x, weight)
    return T.nn.functional.cross_entropy(scores, label, reduction="none")


@register_case(lambda n: [(n.rows, n.k), (n.k, n.n)], weights=[1])
def log_sum_exp(x: Tensor, weight: Tensor) -> Tensor:
    return T.logsumexp(x @ weight, -1)


@register_case(lambda n: [(n.rows, n.k), (n.k, n.n)], weights=[1])
def entropy(x: Tensor, weight: Tensor) -> Tensor:
    log_weights = T.log_softmax(x @ weight, -1)
    return -(log_weights.exp() * log_weights).sum(-1)


@register_case(
    lambda n: [(n.rows, n.k), (n.k,), (n.k,), (n.k, 3 * n.k), (3 * n.k,)],
    weights=[1, 2, 3, 4],
)
def layer_norm_product(
    x: Tensor, scale: Tensor, shift: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    return T.nn.functional.layer_norm(x, scale.shape, scale, shift) @ weight + bias


@register_case(lambda n: [(n.rows, n.k), (n.k,), (n.k, 3 * n.k)], weights=[1, 2])
def rms_norm_product(x: Tensor, scale: Tensor, weight: Tensor) -> Tensor:
    return T.nn.functional.rms_norm(x, scale.shape, scale) @ weight


@register_case(lambda n: [(n.rows, n.n), (n.n, n.d)], weights=[1])
def softmax_product(x: Tensor, weight: Tensor) -> Tensor:
    return T.softmax(x, -1) @ weight


@register_case(lambda n: [(n.rows, n.n), (n.n, n.d)], weights=[1])
def unit_product(x: Tensor, weight: Tensor) -> Tensor:
    return T.nn.functional.normalize(x, dim=-1) @ weight


@register_case(lambda n: [(n.rows, n.k), (n.k, n.n)], weights=[1])
def variance(x: Tensor, weight: Tensor) -> Tensor:
    return (x @ weight).var(-1)


@register_case(lambda n: [(n.rows, n.k), (n.k, n.h)], weights=[1])
def gate(x: Tensor, weight: Tensor) -> Sequence[Tensor]:
    return T.softmax(x @ weight, -1).max(-1)


@register_case(lambda n: [(n.rows, n.k), (n.n, n.k)], weights=[1])
def greatest(x: Tensor, weight: Tensor) -> Sequence[Tensor]:
    return T.nn.functional.linear(x, weight).max(-1)


@register_case(
    lambda n: [(n.b * n.h, n.s, n.d), (4 * n.d, n.d), (4 * n.d,)], weights=[1, 2]
)
def mean_pooling(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return T.nn.functional.linear(x, weight, bias).mean(1)


@register_case(lambda n: [(n.rows, n.k), (n.k, 8), (8, n.k)], weights=[1, 2])
def low_rank(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
    return (x @ down) @ up


@register_case(lambda n: [(n.rows, n.k), (n.k, 32), (32, n.k)], weights=[1, 2])
def narrow_mlp(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
    return T.relu(x @ down) @ up
