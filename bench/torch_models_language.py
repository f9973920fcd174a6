"""GPT-2, BERT and Llama."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch_model import Model, Network, T


class Projection(nn.Module):
    """Linear layer whose weight has the shape inputs x outputs, as in GPT-2."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(T.zeros(inputs, outputs))
        self.bias = nn.Parameter(T.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        shape = (*x.shape[:-1], self.bias.shape[0])
        rows = x.view(-1, x.shape[-1])
        return torch.addmm(self.bias, rows, self.weight).view(shape)


class CausalAttention(nn.Module):
    """Attention to earlier tokens, with the mask in a buffer."""

    mask: Tensor

    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn = Projection(width, 3 * width)
        self.c_proj = Projection(width, width)
        self.dropout = nn.Dropout(0.1)
        square = T.ones(context, context, dtype=torch.bool).tril()
        self.register_buffer("mask", square.view(1, 1, context, context))

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        split = (batch, tokens, self.heads, width // self.heads)
        query, key, value = (
            each.view(split).permute(0, 2, 1, 3)
            for each in self.c_attn(x).split(width, dim=2)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads)
        minimum = torch.finfo(scores.dtype).min
        mask = self.mask[:, :, :tokens, :tokens]
        scores = torch.where(mask, scores, torch.full((), minimum, dtype=scores.dtype))
        heads = self.dropout(T.softmax(scores, dim=-1)) @ value
        return self.c_proj(heads.transpose(1, 2).reshape(batch, tokens, width))


def new_gelu(x: Tensor) -> Tensor:
    """GELU by tanh, written out."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))
    return 0.5 * x * (1 + torch.tanh(inner))


class GptLayer(nn.Module):
    """A layer of GPT-2."""

    def __init__(self, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CausalAttention(width, heads, context)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc = Projection(width, 4 * width)
        self.c_proj = Projection(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.dropout(self.c_proj(new_gelu(self.c_fc(self.ln_2(x)))))


class GptBlock(Network):
    """GPT-2 layer on a sequence shorter than the mask."""

    def __init__(
        self, width: int = 768, heads: int = 12, context: int = 1024, tokens: int = 512
    ) -> None:
        super().__init__()
        self.size = (2, tokens, width)
        self.layer = GptLayer(width, heads, context)

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(self.size),)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Gpt(Network):
    """GPT-2 with its head tied to its embedding."""

    def __init__(
        self,
        vocabulary: int = 50257,
        width: int = 768,
        heads: int = 12,
        layers: int = 12,
        context: int = 1024,
        tokens: int = 512,
    ) -> None:
        super().__init__()
        self.vocabulary, self.tokens = vocabulary, tokens
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList(GptLayer(width, heads, context) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def example(self) -> tuple[Tensor, ...]:
        return (T.randint(0, self.vocabulary, (2, self.tokens)),)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.wte(tokens) + self.wpe(positions))
        for layer in self.h:
            x = layer(x)
        return self.lm_head(self.ln_f(x))


class BertLayer(nn.Module):
    """Attention and MLP, each with a residual and then a layer norm."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.dense = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.intermediate = nn.Linear(width, hidden)
        self.output = nn.Linear(hidden, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        split = (batch, tokens, self.heads, width // self.heads)
        query, key, value = (
            project(x).view(split).permute(0, 2, 1, 3)
            for project in (self.query, self.key, self.value)
        )
        scores = torch.matmul(query, key.transpose(-1, -2))
        scores = scores / math.sqrt(width // self.heads) + bias
        probabilities = self.dropout(nn.functional.softmax(scores, dim=-1))
        output = torch.matmul(probabilities, value).permute(0, 2, 1, 3).contiguous()
        output = self.dropout(self.dense(output.view(batch, tokens, width)))
        x = self.norm1(output + x)
        inner = nn.functional.gelu(self.intermediate(x))
        return self.norm2(self.dropout(self.output(inner)) + x)


def padding_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """
    Return the bias added to scores: 0 where the mask is 1, else the least finite
    number.
    """
    visible = mask[:, None, None, :].to(dtype)
    return (1.0 - visible) * torch.finfo(dtype).min


def padding_mask(tokens: int) -> Tensor:
    """Return the mask of two sequences, the second one shorter."""
    lengths = T.tensor([tokens, tokens - 2])
    return (T.arange(tokens) < lengths[:, None]).long()


class BertBlock(Network):
    """BERT layer on a sequence."""

    def __init__(
        self, width: int = 768, heads: int = 12, hidden: int = 3072, tokens: int = 512
    ) -> None:
        super().__init__()
        self.size = (2, tokens, width)
        self.layer = BertLayer(width, heads, hidden)

    def example(self) -> tuple[Tensor, ...]:
        return T.randn(self.size), padding_mask(self.size[1])

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.layer(x, padding_bias(mask, x.dtype))


class Bert(Network):
    """BERT: three embeddings, the layers, and a pooled first token."""

    def __init__(
        self,
        vocabulary: int = 30522,
        width: int = 768,
        heads: int = 12,
        hidden: int = 3072,
        layers: int = 12,
        tokens: int = 512,
    ) -> None:
        super().__init__()
        self.vocabulary, self.tokens = vocabulary, tokens
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Embedding(tokens, width)
        self.kinds = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(
            BertLayer(width, heads, hidden) for _ in range(layers)
        )
        self.pooler = nn.Linear(width, width)

    def example(self) -> tuple[Tensor, ...]:
        mask = padding_mask(self.tokens)
        words = T.randint(1, self.vocabulary, (2, self.tokens)) * mask
        return words, mask, T.randint(0, 2, (2, self.tokens))

    def forward(
        self, words: Tensor, mask: Tensor, kinds: Tensor
    ) -> tuple[Tensor, Tensor]:
        positions = torch.arange(words.shape[1], device=words.device).unsqueeze(0)
        x = self.norm(self.words(words) + self.positions(positions) + self.kinds(kinds))
        bias = padding_bias(mask, x.dtype)
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))


class RmsNorm(nn.Module):
    """Division by the root mean square, in f32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(T.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x if x.dtype == torch.float64 else x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * (wide * scale).to(x.dtype)


def apply_rotary_embedding(x: Tensor, base: float) -> Tensor:
    """Rotate pairs of elements by angles proportional to the position of the token."""
    tokens, width = x.shape[-2:]
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    steps = torch.arange(0, width, 2, dtype=dtype, device=x.device) / width
    positions = torch.arange(tokens, dtype=dtype, device=x.device)
    angles = torch.outer(positions, 1.0 / base**steps)
    repeated = torch.cat((angles, angles), dim=-1)
    first, second = x[..., : width // 2], x[..., width // 2 :]
    rotated = torch.cat((-second, first), dim=-1)
    return x * repeated.cos().to(x.dtype) + rotated * repeated.sin().to(x.dtype)


class LlamaBlock(Network):
    """Llama 3 layer: grouped-query attention and a gated MLP."""

    def __init__(
        self,
        width: int = 4096,
        heads: int = 32,
        shared: int = 8,
        hidden: int = 14336,
        tokens: int = 512,
    ) -> None:
        super().__init__()
        self.heads, self.shared, self.head = heads, shared, width // heads
        self.size = (2, tokens, width)
        self.norm1 = RmsNorm(width)
        self.q_proj = nn.Linear(width, heads * self.head, bias=False)
        self.k_proj = nn.Linear(width, shared * self.head, bias=False)
        self.v_proj = nn.Linear(width, shared * self.head, bias=False)
        self.o_proj = nn.Linear(heads * self.head, width, bias=False)
        self.norm2 = RmsNorm(width)
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(self.size),)

    def attention(self, x: Tensor) -> Tensor:
        """Return attention in which several heads share a key."""
        batch, tokens, _ = x.shape
        query = self.q_proj(x).view(batch, tokens, self.heads, self.head)
        key = self.k_proj(x).view(batch, tokens, self.shared, self.head)
        value = self.v_proj(x).view(batch, tokens, self.shared, self.head)
        query = apply_rotary_embedding(query.transpose(1, 2), 500000.0)
        key = apply_rotary_embedding(key.transpose(1, 2), 500000.0)
        copies = self.heads // self.shared
        key = key.repeat_interleave(copies, dim=1)
        value = value.transpose(1, 2).repeat_interleave(copies, dim=1)
        mask = x.new_full((tokens, tokens), float("-inf")).triu(1)
        scores = query @ key.transpose(2, 3) / math.sqrt(self.head) + mask
        wide = x.dtype if x.dtype == torch.float64 else torch.float32
        probabilities = nn.functional.softmax(scores, dim=-1, dtype=wide).to(x.dtype)
        heads = (probabilities @ value).transpose(1, 2).reshape(x.shape)
        return self.o_proj(heads)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        inner = self.norm2(x)
        gate = nn.functional.silu(self.gate_proj(inner))
        return x + self.down_proj(gate * self.up_proj(inner))


_SMALL = {"width": 16, "heads": 2, "tokens": 7}
_TINY = {"width": 8, "tokens": 5}

LANGUAGE = [
    Model("gpt-2 block", GptBlock, {**_SMALL, "context": 9}, _TINY),
    Model(
        "gpt-2",
        Gpt,
        {**_SMALL, "vocabulary": 31, "context": 9, "layers": 2},
        {**_TINY, "vocabulary": 13, "layers": 1},
    ),
    Model("bert block", BertBlock, {**_SMALL, "hidden": 32}, {**_TINY, "hidden": 12}),
    Model(
        "bert",
        Bert,
        {**_SMALL, "vocabulary": 31, "hidden": 32, "layers": 2},
        {**_TINY, "vocabulary": 13, "hidden": 12, "layers": 1},
    ),
    Model(
        "llama block",
        LlamaBlock,
        {**_SMALL, "heads": 4, "shared": 2, "hidden": 40},
        {**_TINY, "heads": 2, "shared": 1, "hidden": 12},
    ),
]
