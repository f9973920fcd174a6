"""Small functions of PyTorch, one or more for each operation that is converted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

F: Any = functional
T: Any = torch


@dataclass(frozen=True)
class Case:
    """A function on tensors, and how its arguments are drawn."""

    name: str
    function: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    draw: Callable[[torch.Generator, tuple[int, ...]], Tensor]

    def arguments(self, dtype: torch.dtype) -> list[Tensor]:
        """Random arguments; integers and bools keep their type."""
        generator = T.Generator().manual_seed(0)
        drawn = [self.draw(generator, shape) for shape in self.shapes]
        return [each.to(dtype) if each.is_floating_point() else each for each in drawn]


def normal(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.randn(shape, generator=generator)


def positive(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.rand(shape, generator=generator) + 0.1


def unit(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.rand(shape, generator=generator) * 1.8 - 0.9


def whole(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    found = T.randint(1, 9, shape, generator=generator)
    return found * (1 - 2 * T.randint(0, 2, shape, generator=generator))


def truth(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return T.rand(shape, generator=generator) < 0.5


def index(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    """Indices below 5."""
    return T.randint(0, 5, shape, generator=generator)


Shapes = Sequence[tuple[int, ...]]


def cases_of(
    names: str,
    shapes: Shapes = ((5, 7),),
    draw: Callable[[torch.Generator, tuple[int, ...]], Tensor] = normal,
    library: Any = torch,
) -> list[Case]:
    """Functions that a library has by these names."""
    return [Case(name, getattr(library, name), shapes, draw) for name in names.split()]


FUNCTIONS = [
    *cases_of("abs neg exp exp2 expm1 sin cos tan sinh cosh tanh atan asinh erf"),
    *cases_of("sigmoid sign relu ceil floor round trunc square isnan isinf isfinite"),
    *cases_of("sqrt rsqrt log log2 log10 log1p reciprocal", draw=positive),
    *cases_of("asin acos atanh", draw=unit),
    Case("acosh", lambda x: T.acosh(x + 1), [(5, 7)], positive),
    *cases_of("add sub mul div atan2 maximum minimum", [(5, 1, 7), (3, 7)]),
    *cases_of("fmod remainder", [(5, 1, 7), (3, 7)]),
    *cases_of("eq ne lt le gt ge", [(5, 1, 7), (3, 7)]),
    *cases_of("add sub mul div maximum minimum lt eq", [(5, 1, 7), (3, 7)], whole),
    *cases_of("fmod remainder floor_divide", [(5, 1, 7), (3, 7)], whole),
    *cases_of("abs neg sign square exp ceil relu", draw=whole),
    *cases_of("logical_and logical_or logical_xor", [(5, 1, 7), (3, 7)], truth),
    *cases_of("bitwise_and bitwise_or bitwise_xor", [(5, 1, 7), (3, 7)], truth),
    *cases_of("logical_not bitwise_not", draw=truth),
    *cases_of("logical_not logical_and", [(5, 7)], whole)[:1],
    *cases_of("pow", [(5, 1, 7), (3, 7)], positive),
    Case("pow 2", lambda x: x**2, [(5, 7)], normal),
    Case("pow 3", lambda x: x**3, [(5, 7)], normal),
    Case("pow 4", lambda x: x**4, [(5, 7)], normal),
    Case("pow -1", lambda x: x**-1, [(5, 7)], positive),
    Case("pow 1.7", lambda x: x**1.7, [(5, 7)], positive),
    Case("2 pow", lambda x: 2**x, [(5, 7)], normal),
    Case("add alpha", lambda x, y: T.add(x, y, alpha=3), [(5, 7), (5, 7)], normal),
    Case("rsub", lambda x: 3 - x, [(5, 7)], normal),
    Case("mixed", lambda x: x + T.arange(7) * 2 + x.shape[0], [(5, 7)], normal),
    Case("int mean", lambda x: x.float().mean(1) + x.sum(1), [(5, 7)], whole),
    Case("int / int", lambda x, y: x / y, [(5, 7), (5, 7)], whole),
    Case(
        "floor div",
        lambda x, y: T.div(x, y, rounding_mode="floor"),
        [(5, 7)] * 2,
        normal,
    ),
    Case(
        "trunc div",
        lambda x, y: T.div(x, y, rounding_mode="trunc"),
        [(5, 7)] * 2,
        normal,
    ),
    Case("clamp", lambda x: T.clamp(x, -0.5, 0.7), [(5, 7)], normal),
    Case("clamp min", lambda x: T.clamp(x, min=0.1), [(5, 7)], normal),
    Case("clamp tensors", T.clamp, [(5, 7), (7,), (5, 1)], normal),
    Case("where", lambda x, y: T.where(x > y, x, 2.0), [(5, 7), (7,)], normal),
    Case("masked_fill", lambda x: x.masked_fill(x > 0, -1e9), [(5, 7)], normal),
    Case("to int", lambda x: (x * 9).to(T.int32), [(5, 7)], normal),
    Case("to bool", lambda x: x.round().bool(), [(5, 7)], normal),
    Case("scalar", lambda x: x * x + 1, [()], normal),
    Case("one element", lambda x: T.softmax(x, -1).sum(), [(1, 1)], normal),
    Case("lerp", T.lerp, [(5, 7), (5, 7), (5, 7)], normal),
    Case("addcmul", T.addcmul, [(5, 7), (5, 7), (5, 7)], normal),
]

ACTIVATIONS = [
    *cases_of("relu relu6 gelu silu leaky_relu elu selu celu", library=functional),
    *cases_of("softplus mish hardswish hardsigmoid", library=functional),
    Case("hardtanh", lambda x: F.hardtanh(x * 3), [(5, 7)], normal),
    *cases_of("softsign tanhshrink softshrink logsigmoid", library=functional),
    Case("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), [(5, 7)], normal),
    Case("elu 0.5", lambda x: F.elu(x, 0.5), [(5, 7)], normal),
    Case("softplus 2", lambda x: F.softplus(x, 2, 1), [(5, 7)], normal),
    Case("prelu", F.prelu, [(2, 3, 4), (3,)], normal),
    Case("glu", F.glu, [(5, 8)], normal),
    Case("dropout", lambda x: F.dropout(x, 0.5, False), [(5, 7)], normal),
]

REDUCTIONS = [
    *cases_of("sum mean prod amax amin max min var std logsumexp", [(5, 7)])[:6],
    Case("sum axis", lambda x: x.sum(-2), [(3, 5, 7)], normal),
    Case("sum axes", lambda x: x.sum((0, 2), keepdim=True), [(3, 5, 7)], normal),
    Case("sum int", lambda x: x.sum(1), [(5, 7)], whole),
    Case("sum bool", lambda x: x.sum(1), [(5, 7)], truth),
    Case("mean axes", lambda x: x.mean((1, 2)), [(3, 5, 7)], normal),
    Case("prod axis", lambda x: x.prod(1), [(5, 7)], normal),
    Case("max axis", lambda x: x.max(1), [(5, 7)], normal),
    Case("min axis", lambda x: x.min(0, keepdim=True), [(5, 7)], normal),
    Case("argmax", lambda x: x.argmax(1), [(5, 7)], normal),
    Case("argmin", lambda x: x.argmin(0, keepdim=True), [(5, 7)], normal),
    Case("argmax all", T.argmax, [(5, 7)], normal),
    Case("any", lambda x: x.any(1), [(5, 7)], truth),
    Case("all", lambda x: x.all(), [(5, 7)], truth),
    Case("var", lambda x: x.var(1), [(5, 7)], normal),
    Case("var 0", lambda x: x.var((0, 1), correction=0), [(5, 7)], normal),
    Case("std", lambda x: x.std(0, keepdim=True), [(5, 7)], normal),
    Case("var_mean", lambda x: T.var_mean(x, 1), [(5, 7)], normal),
    Case("logsumexp", lambda x: T.logsumexp(x, (0, 1)), [(5, 7)], normal),
    Case("norm", lambda x: T.linalg.vector_norm(x, dim=1), [(5, 7)], normal),
    Case("norm 1", lambda x: x.norm(p=1, dim=0), [(5, 7)], normal),
    Case("frobenius", lambda x: T.norm(x), [(5, 7)], normal),
    Case("cumsum", lambda x: x.cumsum(1), [(5, 7)], normal),
    Case("cumprod", lambda x: x.cumprod(0), [(5, 7)], normal),
    Case("cumsum int", lambda x: x.cumsum(-1), [(5, 7)], whole),
    Case("topk", lambda x: x.topk(3, 1), [(5, 7)], normal),
    Case("topk least", lambda x: x.topk(2, 0, largest=False), [(5, 7)], normal),
    Case("sort", lambda x: x.sort(1, descending=True), [(5, 7)], normal),
    Case("softmax", lambda x: x.softmax(-1), [(3, 5, 7)], normal),
    Case("softmax 0", lambda x: x.softmax(0), [(3, 5, 7)], normal),
    Case("log_softmax", lambda x: x.log_softmax(1), [(3, 5, 7)], normal),
    Case("normalize", lambda x: F.normalize(x, dim=1), [(3, 5, 7)], normal),
    Case("median of sort", lambda x: x.sort(1)[0][:, 3], [(5, 7)], normal),
]

MOVEMENTS = [
    Case("view", lambda x: x.view(7, -1), [(7, 5, 3)], normal),
    Case("flatten", lambda x: x.flatten(1), [(2, 5, 3)], normal),
    Case("permute", lambda x: x.permute(2, 0, 1), [(2, 5, 3)], normal),
    Case("transposed input", lambda x: x.T.reshape(5, 7) + 1, [(5, 7)], normal),
    Case("expand", lambda x: x.expand(4, 5, -1) * 2, [(1, 7)], normal),
    Case("repeat", lambda x: x.repeat(2, 3, 1), [(5, 7)], normal),
    Case("tile", lambda x: T.tile(x, (2, 2)), [(5, 7)], normal),
    Case("repeat_interleave", lambda x: x.repeat_interleave(3, 1), [(5, 7)], normal),
    Case("squeeze", lambda x: x.squeeze(1).unsqueeze(0), [(5, 1, 7)], normal),
    Case("slice", lambda x: x[1:4, ::2, -3:], [(5, 7, 4)], normal),
    Case("select", lambda x: x[:, 2] + x[..., -1:].sum(), [(5, 7)], normal),
    Case("split", lambda x: x.split([2, 3, 2], 1), [(5, 7)], normal),
    Case("chunk", lambda x: x.chunk(3, -1), [(5, 7)], normal),
    Case("unbind", lambda x: x.unbind(0), [(3, 7)], normal),
    Case("cat", lambda x, y: T.cat([x, y, x], 1), [(5, 7), (5, 2)], normal),
    Case("cat empty", lambda x: T.cat([x[:, :0], x], 1), [(5, 7)], normal),
    Case("stack", lambda x, y: T.stack([x, y], -1), [(5, 7), (5, 7)], normal),
    Case("flip", lambda x: x.flip(0, 1), [(5, 7)], normal),
    Case("roll", lambda x: x.roll((2, -3), (0, 1)), [(5, 7)], normal),
    Case("roll flat", lambda x: x.roll(3), [(5, 7)], normal),
    Case("pad", lambda x: F.pad(x, (1, 2, 0, 3), value=4.0), [(5, 7)], normal),
    Case("crop", lambda x: F.pad(x, (-1, 2, 0, -3)), [(5, 7)], normal),
    Case("reflect", lambda x: F.pad(x, (2, 1), mode="reflect"), [(2, 5, 7)], normal),
    Case(
        "replicate",
        lambda x: F.pad(x, (2, 1, 1, 3), mode="replicate"),
        [(2, 3, 5, 7)],
        normal,
    ),
    Case("diagonal", lambda x: x.diagonal(1), [(5, 7)], normal),
    Case("diag", lambda x: T.diag(x), [(5, 5)], normal),
    Case("diag_embed", T.diag_embed, [(3, 5)], normal),
    Case("tril", lambda x: x.tril(-1), [(5, 7)], normal),
    Case("triu", lambda x: x.triu(2), [(5, 7)], normal),
    Case("unfold", lambda x: x.unfold(1, 3, 2), [(5, 7)], normal),
    Case("im2col", lambda x: F.unfold(x, 3, padding=1), [(2, 3, 5, 7)], normal),
    Case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [(2, 8, 3, 5)], normal),
    Case("unshuffle", lambda x: F.pixel_unshuffle(x, 2), [(2, 3, 4, 6)], normal),
    Case("meshgrid", lambda x: T.meshgrid(x, x, indexing="ij"), [(5,)], normal),
    Case("assign", lambda x: T.slice_scatter(x, x[:2] * 2, 0, 1, 3), [(5, 7)], normal),
    Case("full", lambda x: T.full((3, 2), 2.5) + T.zeros(2) + x, [(1,)], normal),
    Case("arange", lambda x: x + T.arange(1, 15, 2), [(5, 7)], normal),
    Case("linspace", lambda x: x + T.linspace(0, 1, 7), [(5, 7)], normal),
    Case("eye", lambda x: x + T.eye(5, 7), [(5, 7)], normal),
    Case("zeros_like", lambda x: T.zeros_like(x) + T.ones_like(x), [(5, 7)], normal),
]

INDEXING = [
    Case("take rows", lambda x: x[T.tensor([4, 0, 2])], [(5, 7)], normal),
    Case(
        "index pair", lambda x: x[T.tensor([4, -1]), T.tensor([0, 2])], [(5, 7)], normal
    ),
    Case(
        "index apart", lambda x: x[T.tensor([1]), :, T.tensor([0])], [(5, 7, 2)], normal
    ),
    Case(
        "index_select", lambda x: x.index_select(1, T.tensor([3, 3])), [(5, 7)], normal
    ),
    Case("embedding", lambda i: F.embedding(i, T.eye(5)), [(3, 4)], index),
    Case("gather", lambda i: T.eye(5).gather(1, i), [(3, 4)], index),
    Case("gather 0", lambda i: T.eye(5).gather(0, i), [(3, 4)], index),
    Case("one_hot", lambda i: F.one_hot(i, 5), [(3, 4)], index),
    Case("scatter", lambda i: T.zeros(3, 5).scatter(1, i, 1.5), [(3, 4)], index),
    Case(
        "scatter_add",
        lambda i: T.ones(3, 5).scatter_add(1, i, T.arange(12.0).view(3, 4)),
        [(3, 4)],
        index,
    ),
]

CONTRACTIONS = [
    Case("matmul", T.matmul, [(5, 7), (7, 3)], normal),
    Case("batched", T.matmul, [(2, 1, 5, 7), (3, 7, 4)], normal),
    Case("vectors", T.matmul, [(7,), (7,)], normal),
    Case("matrix vector", T.matmul, [(5, 7), (7,)], normal),
    Case("bmm", T.bmm, [(2, 5, 7), (2, 7, 3)], normal),
    Case(
        "addmm",
        lambda a, b, c: T.addmm(a, b, c, beta=2, alpha=3),
        [(3,), (5, 7), (7, 3)],
        normal,
    ),
    Case("baddbmm", T.baddbmm, [(2, 5, 3), (2, 5, 7), (2, 7, 3)], normal),
    Case("linear", F.linear, [(2, 5, 7), (3, 7), (3,)], normal),
    Case("outer", T.outer, [(5,), (7,)], normal),
    Case(
        "einsum",
        lambda x, y: T.einsum("bik,bjk->bij", x, y),
        [(2, 5, 7), (2, 3, 7)],
        normal,
    ),
    Case(
        "einsum 4",
        lambda x, y: T.einsum("bhid,bhjd->hijb", x, y),
        [(2, 3, 5, 4), (2, 3, 6, 4)],
        normal,
    ),
    Case("kron", T.kron, [(2, 3), (3, 2)], normal),
    Case("bilinear", F.bilinear, [(5, 3), (5, 4), (2, 3, 4)], normal),
    Case("attention", F.scaled_dot_product_attention, [(2, 3, 6, 4)] * 3, normal),
    Case(
        "causal attention",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 3, 6, 4)] * 3,
        normal,
    ),
    Case(
        "masked attention",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, T.arange(6)[None] < 4),
        [(2, 3, 6, 4)] * 3,
        normal,
    ),
    Case(
        "grouped attention",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [(2, 4, 6, 4), (2, 2, 6, 4), (2, 2, 6, 4)],
        normal,
    ),
]

CONVOLUTIONS = [
    Case(
        "conv1d",
        lambda x, w: F.conv1d(x, w, stride=2, padding=1),
        [(2, 3, 9), (4, 3, 3)],
        normal,
    ),
    Case(
        "conv1d dilated",
        lambda x, w: F.conv1d(x, w, dilation=2),
        [(2, 3, 9), (4, 3, 3)],
        normal,
    ),
    Case(
        "conv2d",
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        [(2, 3, 6, 5), (4, 3, 3, 3), (4,)],
        normal,
    ),
    Case(
        "conv2d same",
        lambda x, w: F.conv2d(x, w, padding="same"),
        [(2, 3, 6, 5), (4, 3, 4, 3)],
        normal,
    ),
    Case("conv2d unbatched", F.conv2d, [(3, 6, 5), (4, 3, 3, 3)], normal),
    Case(
        "conv2d groups",
        lambda x, w: F.conv2d(x, w, groups=2),
        [(2, 4, 6, 5), (6, 2, 3, 2)],
        normal,
    ),
    Case(
        "depthwise",
        lambda x, w: F.conv2d(x, w, groups=4, stride=2),
        [(2, 4, 6, 5), (4, 1, 3, 3)],
        normal,
    ),
    Case(
        "conv3d",
        lambda x, w, b: F.conv3d(x, w, b, padding=1, stride=2),
        [(1, 2, 5, 4, 3), (3, 2, 3, 3, 3), (3,)],
        normal,
    ),
    Case(
        "conv3d groups",
        lambda x, w: F.conv3d(x, w, groups=2),
        [(1, 4, 3, 4, 3), (2, 2, 2, 2, 2)],
        normal,
    ),
    Case(
        "transposed 1d",
        lambda x, w: F.conv_transpose1d(x, w, stride=2),
        [(2, 3, 5), (3, 4, 3)],
        normal,
    ),
    Case(
        "transposed 2d",
        lambda x, w, b: F.conv_transpose2d(
            x, w, b, stride=2, padding=1, output_padding=1
        ),
        [(2, 3, 4, 5), (3, 4, 3, 3), (4,)],
        normal,
    ),
    Case(
        "transposed groups",
        lambda x, w: F.conv_transpose2d(x, w, groups=2, dilation=2, stride=(1, 3)),
        [(2, 4, 4, 5), (4, 3, 3, 2)],
        normal,
    ),
    Case(
        "transposed crop",
        lambda x, w: F.conv_transpose2d(x, w, padding=2),
        [(1, 2, 4, 5), (2, 3, 2, 2)],
        normal,
    ),
    Case(
        "transposed 3d",
        lambda x, w: F.conv_transpose3d(x, w, stride=2),
        [(1, 2, 3, 2, 3), (2, 3, 2, 3, 2)],
        normal,
    ),
]

POOLING = [
    Case("max_pool1d", lambda x: F.max_pool1d(x, 3, 2), [(2, 3, 9)], normal),
    Case("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), [(2, 3, 7, 6)], normal),
    Case(
        "max_pool2d ceil",
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        [(2, 3, 7, 6)],
        normal,
    ),
    Case("max_pool3d", lambda x: F.max_pool3d(x, 2), [(1, 2, 4, 5, 6)], normal),
    Case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), [(2, 3, 9)], normal),
    Case("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), [(2, 3, 7, 6)], normal),
    Case(
        "avg_pool2d exclude",
        lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        [(2, 3, 7, 6)],
        normal,
    ),
    Case(
        "avg_pool2d ceil",
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
        [(2, 3, 8, 6)],
        normal,
    ),
    Case("avg_pool3d", lambda x: F.avg_pool3d(x, 2, 2, 1), [(1, 2, 4, 5, 6)], normal),
    Case("lp_pool2d", lambda x: F.lp_pool2d(x, 2, 2), [(1, 2, 4, 6)], positive),
    Case("adaptive 1", lambda x: F.adaptive_avg_pool2d(x, 1), [(2, 3, 7, 6)], normal),
    Case(
        "adaptive 2x3",
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
        [(2, 3, 7, 6)],
        normal,
    ),
    Case("adaptive 1d", lambda x: F.adaptive_avg_pool1d(x, 4), [(2, 3, 9)], normal),
    Case(
        "adaptive 3d",
        lambda x: F.adaptive_avg_pool3d(x, (1, 2, 3)),
        [(1, 2, 3, 4, 6)],
        normal,
    ),
    Case(
        "adaptive max",
        lambda x: F.adaptive_max_pool2d(x, (2, 1)),
        [(2, 3, 4, 6)],
        normal,
    ),
]

NORMALIZATIONS = [
    Case(
        "layer_norm",
        lambda x, w, b: F.layer_norm(x, (7,), w, b),
        [(3, 5, 7), (7,), (7,)],
        normal,
    ),
    Case("layer_norm 2", lambda x: F.layer_norm(x, (5, 7)), [(3, 5, 7)], normal),
    Case(
        "group_norm",
        lambda x, w, b: F.group_norm(x, 2, w, b),
        [(2, 4, 3, 5), (4,), (4,)],
        normal,
    ),
    Case("instance_norm", lambda x: F.instance_norm(x), [(2, 4, 3, 5)], normal),
    Case("rms_norm", lambda x, w: F.rms_norm(x, (7,), w), [(3, 5, 7), (7,)], normal),
    Case(
        "batch_norm",
        lambda x, m, w: F.batch_norm(x, m, w.exp(), w, m),
        [(2, 4, 3), (4,), (4,)],
        normal,
    ),
    Case(
        "batch_norm of batch",
        lambda x: F.batch_norm(x, None, None, training=True),
        [(5, 4, 3)],
        normal,
    ),
    Case(
        "local_response_norm",
        lambda x: F.local_response_norm(x, 3),
        [(2, 4, 3, 5)],
        normal,
    ),
]

RESAMPLING = [
    Case("nearest", lambda x: F.interpolate(x, scale_factor=2), [(2, 3, 4, 5)], normal),
    Case(
        "nearest odd", lambda x: F.interpolate(x, size=(7, 3)), [(2, 3, 4, 5)], normal
    ),
    Case(
        "nearest 1d", lambda x: F.interpolate(x, scale_factor=1.5), [(2, 3, 5)], normal
    ),
    Case(
        "bilinear",
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        [(2, 3, 4, 5)],
        normal,
    ),
    Case(
        "bilinear corners",
        lambda x: F.interpolate(x, size=(7, 3), mode="bilinear", align_corners=True),
        [(2, 3, 4, 5)],
        normal,
    ),
    Case(
        "trilinear",
        lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
        [(1, 2, 2, 3, 2)],
        normal,
    ),
    Case(
        "linear", lambda x: F.interpolate(x, size=9, mode="linear"), [(2, 3, 4)], normal
    ),
]

LOSSES = [
    *cases_of(
        "mse_loss l1_loss smooth_l1_loss huber_loss",
        [(5, 7), (5, 7)],
        library=functional,
    ),
    Case(
        "cross_entropy",
        lambda x: F.cross_entropy(x, T.tensor([1, 0, 6, 3, 2])),
        [(5, 7)],
        normal,
    ),
    Case(
        "nll_loss",
        lambda x: F.nll_loss(x.log_softmax(1), T.tensor([1, 0, 6, 3, 2])),
        [(5, 7)],
        normal,
    ),
    Case(
        "bce",
        lambda x: F.binary_cross_entropy(x.sigmoid(), (x > 0).float()),
        [(5, 7)],
        normal,
    ),
    Case(
        "bce logits",
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        [(5, 7)] * 2,
        normal,
    ),
    Case(
        "kl_div",
        lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
        [(5, 7)] * 2,
        normal,
    ),
    Case("cosine", lambda x, y: F.cosine_similarity(x, y), [(5, 7), (5, 7)], normal),
    Case("triplet", F.triplet_margin_loss, [(5, 7), (5, 7), (5, 7)], normal),
    Case(
        "hinge",
        lambda x, y: F.hinge_embedding_loss(x, y.sign()),
        [(5, 7), (5, 7)],
        normal,
    ),
    Case("cdist", T.cdist, [(5, 3), (4, 3)], normal),
]

CASES = [
    *FUNCTIONS,
    *ACTIVATIONS,
    *REDUCTIONS,
    *MOVEMENTS,
    *INDEXING,
    *CONTRACTIONS,
    *CONVOLUTIONS,
    *POOLING,
    *NORMALIZATIONS,
    *RESAMPLING,
    *LOSSES,
]
