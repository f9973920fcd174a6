"""
Time forms of attention in PyTorch on a GPU, compiled by TLF and by Inductor.

    python bench/attention.py
    python bench/attention.py --only causal,window --tokens 8192 --autotune

Each is a function of queries, keys and values as one writes it down, and the last three
are those that PyTorch has, compiled by TLF and by Inductor (`torch.compile`), with
`--autotune` in its mode `max-autotune`. Times are microseconds of one call; the error
is that of TLF, for some heads, from the same in f32, in multiples of PyTorch's own.
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
"""PyTorch, many of whose calls do not say their types."""

Tensor: TypeAlias = Any

Attention: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]


def scores(query: Tensor, key: Tensor) -> Tensor:
    """The scaled scores."""
    return query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])


def distance(tokens: int, device: Any) -> Tensor:
    """Return the distance of each token behind each other one."""
    places = T.arange(tokens, device=device)
    return places[:, None] - places[None, :]


def plain(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """softmax(Q K') V."""
    return T.softmax(scores(query, key), -1) @ value


def causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Each token sees those before it."""
    found = scores(query, key)
    hidden = distance(found.shape[-1], found.device) < 0
    return T.softmax(found.masked_fill(hidden, -math.inf), -1) @ value


def window(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Each token sees those around it."""
    found = scores(query, key)
    hidden = distance(found.shape[-1], found.device).abs() > 128
    return T.softmax(found.masked_fill(hidden, -math.inf), -1) @ value


def soft_capped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Scores stay below a limit."""
    return T.softmax(20 * T.tanh(scores(query, key) / 20), -1) @ value


def relu_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Without a softmax."""
    return (T.relu(scores(query, key)) / key.shape[-2]) @ value


def sigmoid(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Every score by itself."""
    return T.sigmoid(scores(query, key)) @ value


def repeat_heads(value: Tensor, query: Tensor) -> Tensor:
    """Keys or values once for each head of the queries that shares them."""
    times = query.shape[1] // value.shape[1]
    return value[:, :, None].expand(-1, -1, times, -1, -1).flatten(1, 2)


def grouped_query(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Heads share keys and values, which are repeated for them."""
    return plain(query, repeat_heads(key, query), repeat_heads(value, query))


def grouped_function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The function that PyTorch has, with heads that share keys and values."""
    attention = T.nn.functional.scaled_dot_product_attention
    return attention(query, key, value, is_causal=True, enable_gqa=True)


def function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The function that PyTorch has for it."""
    return T.nn.functional.scaled_dot_product_attention(query, key, value)


def causal_function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The same, where each token sees those before it."""
    attention = T.nn.functional.scaled_dot_product_attention
    return attention(query, key, value, is_causal=True)


WRITTEN = (plain, causal, window, soft_capped, relu_attention, sigmoid)

FORMS: Mapping[str, Attention] = {
    each.__name__: each
    for each in (*WRITTEN, grouped_query, function, causal_function, grouped_function)
}

SHARING = {"grouped": 4, "grouped_function": 4}
"""Number of heads that share keys and values, where they do."""


def microseconds(run: Callable[[], object]) -> float:
    """The median time of a call."""
    timing: Any = import_module("triton.testing")
    return 1e3 * timing.do_bench(run, warmup=50, rep=200, return_mode="median")


def compile_form(form: Attention, backend: object, mode: str | None) -> Any:
    """A form, compiled for the shapes that it is called with."""
    T._dynamo.reset()
    return T.compile(form, backend=backend, mode=mode, dynamic=False)


def measure_form(name: str, inputs: tuple[Tensor, ...], mode: str | None) -> str:
    """A row of the table."""
    form = FORMS[name]
    heads = SHARING.get(name, 1)
    inputs = (inputs[0], *(each[:, ::heads].contiguous() for each in inputs[1:]))
    few = (inputs[0][:1, : 2 * heads], *(each[:1, :2] for each in inputs[1:]))
    right = form(*(each.float() for each in few))
    with_tlf = compile_form(form, tlf, None)
    found, eager = with_tlf(*inputs)[:1, : 2 * heads].float(), form(*few).float()
    error = float((found - right).norm() / (eager - right).norm())
    own = microseconds(lambda: with_tlf(*inputs))
    with_inductor = compile_form(form, "inductor", mode)
    other = microseconds(lambda: with_inductor(*inputs))
    plainly = microseconds(lambda: form(*inputs))
    return f"{name:<16} {own:>8,.0f} {other:>9,.0f} {plainly:>8,.0f} {error:>10.2f}x"


def main(given: Sequence[str] | None = None) -> int:
    """The command."""
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
