"""
Time forms of attention in PyTorch on a GPU, compiled by TLF and by Inductor.

    python bench/attention.py
    python bench/attention.py --only causal,window --tokens 8192 --autotune

Each form is a function of queries, keys and values. Most forms are written out in plain
operations; the last three call PyTorch's own attention function. Each is compiled by
TLF and by Inductor (`torch.compile`); `--autotune` selects Inductor's mode
`max-autotune`. Times are microseconds per call. The error is the distance of TLF's
result, for some heads, from the result in f32, as a multiple of the distance of
PyTorch's result.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from gpu_check import lacks_gpu

from tlf.compiler.api.torch_backend import tlf

T: Any = import_module("torch")
"""PyTorch, untyped because many of its calls have no type annotations."""

Tensor: TypeAlias = Any

Attention: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]


def scores(query: Tensor, key: Tensor) -> Tensor:
    """Return the scaled scores."""
    return query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])


def distance(tokens: int, device: Any) -> Tensor:
    """Return the distance of each token behind each other token."""
    positions = T.arange(tokens, device=device)
    return positions[:, None] - positions[None, :]


def plain(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """softmax(Q K') V."""
    return T.softmax(scores(query, key), -1) @ value


def causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention in which each token attends to the tokens before it."""
    logits = scores(query, key)
    hidden = distance(logits.shape[-1], logits.device) < 0
    return T.softmax(logits.masked_fill(hidden, -math.inf), -1) @ value


def window(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention in which each token attends to the tokens around it."""
    logits = scores(query, key)
    hidden = distance(logits.shape[-1], logits.device).abs() > 128
    return T.softmax(logits.masked_fill(hidden, -math.inf), -1) @ value


def soft_capped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention whose scores are capped by tanh."""
    return T.softmax(20 * T.tanh(scores(query, key) / 20), -1) @ value


def relu_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention with ReLU in place of the softmax."""
    return (T.relu(scores(query, key)) / key.shape[-2]) @ value


def sigmoid(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention with the sigmoid of each score in place of the softmax."""
    return T.sigmoid(scores(query, key)) @ value


def repeat_heads(value: Tensor, query: Tensor) -> Tensor:
    """Return keys or values, repeated for each query head that shares them."""
    times = query.shape[1] // value.shape[1]
    return value[:, :, None].expand(-1, -1, times, -1, -1).flatten(1, 2)


def grouped_query(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention whose query heads share keys and values, repeated beforehand."""
    return plain(query, repeat_heads(key, query), repeat_heads(value, query))


def grouped_function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """PyTorch's attention function, causal, with heads that share keys and values."""
    attention = T.nn.functional.scaled_dot_product_attention
    return attention(query, key, value, is_causal=True, enable_gqa=True)


def function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """PyTorch's attention function."""
    return T.nn.functional.scaled_dot_product_attention(query, key, value)


def causal_function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """PyTorch's attention function, causal."""
    attention = T.nn.functional.scaled_dot_product_attention
    return attention(query, key, value, is_causal=True)


WRITTEN = (plain, causal, window, soft_capped, relu_attention, sigmoid)

FORMS: Mapping[str, Attention] = {
    each.__name__: each
    for each in (*WRITTEN, grouped_query, function, causal_function, grouped_function)
}

SHARING = {"grouped": 4, "grouped_function": 4}
"""Number of query heads that share keys and values, by form; 1 for other forms."""


def microseconds(run: Callable[[], object]) -> float:
    """Return the median time of a call, in microseconds."""
    timing: Any = import_module("triton.testing")
    return 1e3 * timing.do_bench(run, warmup=50, rep=200, return_mode="median")


def compile_form(
    form: Callable[..., Tensor], backend: object, mode: str | None = None
) -> Any:
    """Return a form, compiled for static shapes."""
    T._dynamo.reset()
    return T.compile(form, backend=backend, mode=mode, dynamic=False)


def measure_form(name: str, inputs: tuple[Tensor, ...], mode: str | None) -> str:
    """Return a row of the table."""
    form = FORMS[name]
    heads = SHARING.get(name, 1)
    inputs = (inputs[0], *(each[:, ::heads].contiguous() for each in inputs[1:]))
    sample = (inputs[0][:1, : 2 * heads], *(each[:1, :2] for each in inputs[1:]))
    reference = form(*(each.float() for each in sample))
    with_tlf = compile_form(form, tlf, None)
    result, eager = with_tlf(*inputs)[:1, : 2 * heads].float(), form(*sample).float()
    error = float((result - reference).norm() / (eager - reference).norm())
    tlf_time = microseconds(lambda: with_tlf(*inputs))
    with_inductor = compile_form(form, "inductor", mode)
    inductor_time = microseconds(lambda: with_inductor(*inputs))
    eager_time = microseconds(lambda: form(*inputs))
    return (
        f"{name:<16} {tlf_time:>8,.0f} {inductor_time:>9,.0f} {eager_time:>8,.0f} "
        f"{error:>10.2f}x"
    )


def main(given: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names of forms, with commas between")
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--autotune", action="store_true")
    arguments = parser.parse_args(given)
    if lacks_gpu(__file__):
        return 1
    T.manual_seed(0)
    shape = arguments.batch, arguments.heads, arguments.tokens, arguments.width
    inputs = tuple(T.randn(shape, device="cuda", dtype=T.bfloat16) for _ in range(3))
    mode = "max-autotune-no-cudagraphs" if arguments.autotune else None
    print(f"{'':<16} {'TLF us':>8} {'Inductor':>9} {'eager':>8} {'error':>11}")
    for name in arguments.only.split(",") if arguments.only else FORMS:
        print(measure_form(name, inputs, mode), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
