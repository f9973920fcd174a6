"""Rows of the GPU gate: networks, kernels, layers and randomly drawn sizes."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import gpu_gate_functions as functions
import torch
from kernelbench import LEVELS, development_problems
from kernelbench_problem import load_full_size
from networks import move_to_device
from torch import nn
from torch_model import T, cast_all
from torch_models import MODELS
from torch_models_attention import PreNormLayer
from torch_models_vision import Bottleneck, SideBySide

CORE, FULL = "core", "full"

DTYPES: Mapping[str, torch.dtype] = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
}

CONVOLUTIONAL = ("resnet-18", "resnet-50", "mobilenet-v2", "mbconv", "u-net")
"""Networks of images, which also run with channels last and in batches."""


@dataclass(frozen=True)
class RowWork:
    """Work of a row: a function of tensors, its arguments and equivalent peers."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    peers: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict[str, Callable[..., Any]]
    )


@dataclass(frozen=True)
class GateRow:
    """Workload of the gate; `make` builds its work on a PyTorch device."""

    name: str
    tier: str
    make: Callable[[str], RowWork] | None
    numerics: str = "strict"
    program: Path | None = None
    """Program checked by `tlf-run`, instead of the work that `make` builds."""
    has_default_switches: bool = False
    """
    True to leave PyTorch's switches at their defaults, with which all sides compute
    convolutions of f32 in tf32; otherwise all sides compute in f32.
    """

    def with_default_switches(self) -> GateRow:
        """Return the row with PyTorch's default switches."""
        return replace(self, name=f"{self.name} tf32", has_default_switches=True)

    def with_relaxed_numerics(self) -> GateRow:
        """Return the row with relaxed numerics."""
        return replace(self, name=f"{self.name} relaxed", numerics="relaxed")


def network(
    name: str,
    dtype: str,
    device: str,
    *,
    batch: int = 0,
    is_channels_last: bool = False,
) -> RowWork:
    """
    Return a network at full size, with a batch of `batch` images if it is positive.
    """
    (model,) = (model for model in MODELS if model.name == name)
    module, arguments = model.build("full")
    if batch:
        arguments = tuple(T.randn(batch, *each.shape[1:]) for each in arguments)
    arguments = cast_all(move_to_device(arguments, device), DTYPES[dtype])
    work = RowWork(module.to(device, DTYPES[dtype]), arguments)
    return channels_last(work) if is_channels_last else work


def random_tensors(
    device: str, *shapes: Sequence[int], dtype: str = "bf16"
) -> tuple[Any, ...]:
    """Return random tensors on a device."""
    T.manual_seed(0)
    return tuple(T.randn(*shape, device=device).to(DTYPES[dtype]) for shape in shapes)


def elementwise(
    function: Callable[..., Any], shapes: Sequence[Sequence[int]], device: str
) -> RowWork:
    """Return a function of random bf16 tensors."""
    return RowWork(function, random_tensors(device, *shapes))


def random_updates(function: Callable[..., Any], count: int, device: str) -> RowWork:
    """Return a function of f32 elements, of indices that differ, and of values."""
    elements, values = random_tensors(device, (count,), (count // 2,), dtype="f32")
    indices = T.randperm(count, device=device)[: count // 2]
    return RowWork(function, (elements, indices, values))


def rows_of_f32(
    function: Callable[..., Any], shape: Sequence[int], device: str
) -> RowWork:
    """Return a function of random rows of f32."""
    return RowWork(function, random_tensors(device, shape, dtype="f32"))


def product(
    rows: int, columns: int, depth: int, device: str, *, last: str = "relu"
) -> RowWork:
    """Return a matrix product with a bias and the epilogue named by `last`."""
    shapes = (rows, depth), (depth, columns), (columns,), (rows, columns)
    x, weight, bias, residual = random_tensors(device, *shapes)
    factors = x, weight / math.sqrt(depth), bias
    if last == "relu":
        return RowWork(functions.linear_relu, factors, {"addmm": functions.addmm})
    if last == "gelu":
        return RowWork(functions.linear_gelu_add, (*factors, residual))
    scale, shift = random_tensors(device, (columns,), (columns,))
    return RowWork(functions.linear_add_norm, (*factors, residual, scale, shift))


def attention(
    sizes: tuple[int, int, int, int],
    device: str,
    *,
    is_causal: bool = False,
    dtype: str = "bf16",
) -> RowWork:
    """
    Return attention, written out, of the sizes batch, heads, tokens and head width.
    """
    arguments = random_tensors(device, sizes, sizes, sizes, dtype=dtype)
    if is_causal:
        mask = T.ones(sizes[2], sizes[2], dtype=torch.bool, device=device)
        arguments = (*arguments, mask.triu(1))
    peers = {"sdpa": functions.fused_attention}
    return RowWork(functions.attention, arguments, peers)


def causal_attention(sizes: tuple[int, int, int, int], device: str) -> RowWork:
    """Return causal attention, written out with a mask of positions."""
    arguments = random_tensors(device, sizes, sizes, sizes)
    peers = {"sdpa": functions.causal_fused_attention}
    return RowWork(functions.causal_attention, arguments, peers)


def layer(batch: int, tokens: int, width: int, device: str) -> RowWork:
    """Return a pre-norm layer of a transformer, with heads of width 64."""
    T.manual_seed(0)
    module = PreNormLayer(width, width // 64, is_fused=False).eval()
    arguments = random_tensors(device, (batch, tokens, width))
    return RowWork(module.to(device, torch.bfloat16), arguments)


def bottleneck(
    batch: int,
    channels: int,
    extent: int,
    device: str,
    *,
    is_channels_last: bool = False,
) -> RowWork:
    """Return a ResNet bottleneck in f16, with a quarter of the channels inside."""
    T.manual_seed(0)
    module: Any = Bottleneck(channels, channels // 4, 1).eval()
    module = module.to(device, torch.float16)
    (x,) = random_tensors(device, (batch, channels, extent, extent), dtype="f16")
    return (
        channels_last(RowWork(module, (x,)))
        if is_channels_last
        else RowWork(module, (x,))
    )


SPATIAL_CONVOLUTIONS = ((64, 56), (128, 28), (256, 14), (512, 7))
"""Channels and image extents of the 3x3 convolutions of ResNet-50."""

DEPTHWISE_CONVOLUTIONS = ((144, 56), (32, 112), (192, 28), (576, 14))
"""Channels and image extents of depthwise convolutions of MobileNet-v2."""


def convolutions(
    sizes: Sequence[tuple[int, int]], device: str, *, is_depthwise: bool = False
) -> RowWork:
    """
    Return 3x3 convolutions of `sizes`, channels and image extents, in f16 on batches of
    32 images with channels last, one after the other.
    """
    T.manual_seed(0)
    modules = [
        nn.Conv2d(
            channels,
            channels,
            3,
            padding=1,
            groups=channels if is_depthwise else 1,
            bias=False,
        )
        for channels, _ in sizes
    ]
    shapes = [(32, channels, extent, extent) for channels, extent in sizes]
    images = random_tensors(device, *shapes, dtype="f16")
    module = SideBySide(modules).eval().to(device, torch.float16)
    return channels_last(RowWork(module, images))


def channels_last(work: RowWork) -> RowWork:
    """Return a module and its images in the channels-last memory format."""
    layout: Any = torch.channels_last
    module: Any = work.function
    images = tuple(each.to(memory_format=layout) for each in work.arguments)
    return RowWork(module.to(memory_format=layout), images)


def decode(tokens: int, heads: int, shared: int, device: str) -> RowWork:
    """Return attention of one new token to earlier tokens, with shared heads."""
    width = 128
    cache = 1, shared, tokens, width
    peers = {"sdpa": functions.fused_grouped_attention}
    arguments = random_tensors(device, (1, heads, 1, width), cache, cache)
    return RowWork(functions.grouped_attention, arguments, peers)


def random_mlp(seed: int, device: str) -> RowWork:
    """Return an MLP of random extents that starts with a layer norm."""
    generator = random.Random(seed)
    rows, width, hidden = (generator.randrange(17, 1500) for _ in range(3))
    T.manual_seed(seed)
    module = nn.Sequential(
        nn.LayerNorm(width),
        nn.Linear(width, hidden),
        nn.GELU(),
        nn.Linear(hidden, width),
    )
    dtype = generator.choice(list(DTYPES))
    arguments = random_tensors(device, (rows, width), dtype=dtype)
    return RowWork(module.eval().to(device, DTYPES[dtype]), arguments)


def _network_rows() -> Iterator[GateRow]:
    for model in MODELS:
        for dtype in DTYPES:
            name = f"{model.name} {dtype}"
            is_core = (dtype == "bf16" and model.name not in LONG) or name in EXTRA
            make = partial(network, model.name, dtype)
            row = GateRow(name, CORE if is_core else FULL, make)
            yield row
            if dtype == "f32" and model.name in CONVOLUTIONAL:
                yield row.with_default_switches()
            is_core = dtype == "bf16" and model.name in RELAXED
            relaxed = row.with_relaxed_numerics()
            yield replace(relaxed, tier=CORE if is_core else FULL)
    for name in CONVOLUTIONAL:
        with_channels_last = partial(network, name, "f16", is_channels_last=True)
        with_batch = partial(network, name, "f16", batch=32)
        both = partial(network, name, "f16", batch=32, is_channels_last=True)
        yield GateRow(f"{name} f16 channels last", FULL, with_channels_last)
        yield GateRow(
            f"{name} f16 batch 32", CORE if name == "resnet-50" else FULL, with_batch
        )
        yield GateRow(f"{name} f16 batch 32 channels last", FULL, both)


LONG = ("densenet-121",)
"""Networks whose compile time exceeds that of the core tier."""

EXTRA = ("resnet-50 f16", "transformer layer f32", "resnet-18 f32")
"""Networks that the core tier also runs in an element type other than bf16."""

RELAXED = (
    "transformer layer",
    "bert block",
    "mixer block",
    "gpt-2",
    "vit",
    "u-net",
    "u-net bilinear",
)
"""Networks that the core tier also runs with relaxed numerics, in bf16."""


def _pointwise_rows() -> Iterator[GateRow]:
    wide, rows, weights = (16384, 8192), (32768, 4096), ((4096,), (4096,))
    images = 16, 320, 64, 64
    table: Sequence[tuple[str, str, Callable[..., Any], Sequence[Sequence[int]]]] = (
        ("gelu", CORE, functions.gelu, [wide]),
        ("sin + cos", CORE, functions.sin_cos, [wide, wide]),
        ("gelu + add", FULL, functions.gelu_add, [wide, wide]),
        ("weighted sum", CORE, functions.weighted_sum, [(65536, 4096), (4096,)]),
        ("softmax", CORE, functions.softmax, [rows]),
        ("layer norm", CORE, functions.norm, [rows, *weights]),
        ("add + layer norm", CORE, functions.add_norm, [rows, rows, *weights]),
        ("group norm", CORE, functions.group_norm, [images, (320,), (320,)]),
    )
    for name, tier, function, shapes in table:
        yield GateRow(f"{name} bf16", tier, partial(elementwise, function, shapes))


def _indexed_rows() -> Iterator[GateRow]:
    for name, tier, function in (
        ("index add", CORE, functions.index_add),
        ("index put", FULL, functions.index_put),
    ):
        yield GateRow(f"{name} f32", tier, partial(random_updates, function, 2**20))
    for name, tier, function, shape in (
        ("sort", CORE, functions.sort, (4096, 1000)),
        ("topk", FULL, functions.topk, (4096, 32000)),
    ):
        yield GateRow(f"{name} f32", tier, partial(rows_of_f32, function, shape))


def _suite_rows() -> Iterator[GateRow]:
    yield from _pointwise_rows()
    yield from _indexed_rows()
    for sizes in ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 4096, 1024)):
        yield GateRow(f"matmul {_format_sizes(sizes)}", CORE, partial(product, *sizes))
    for sizes in ((8192, 1024, 4096), (128, 4096, 4096)):
        yield GateRow(f"matmul {_format_sizes(sizes)}", CORE, partial(product, *sizes))
    sizes = 8192, 4096, 4096
    yield GateRow(
        f"matmul gelu {_format_sizes(sizes)}",
        CORE,
        partial(product, *sizes, last="gelu"),
    )
    sizes = 16384, 1024, 4096
    yield GateRow(
        f"matmul norm {_format_sizes(sizes)}",
        CORE,
        partial(product, *sizes, last="norm"),
    )
    for sizes, causal in (
        ((4, 16, 4096, 64), False),
        ((4, 16, 4096, 128), False),
        ((4, 16, 4096, 128), True),
    ):
        name = f"{'causal ' if causal else ''}attention {_format_sizes(sizes)}"
        row = GateRow(name, CORE, partial(attention, sizes, is_causal=causal))
        yield row
        if not causal:
            yield row.with_relaxed_numerics()
    sizes = 4, 16, 4096, 128
    name = f"causal attention by positions {_format_sizes(sizes)}"
    row = GateRow(name, CORE, partial(causal_attention, sizes))
    yield from (row, row.with_relaxed_numerics())
    sizes = 8, 1, 4096, 16
    yield GateRow("attention f32", CORE, partial(attention, sizes, dtype="f32"))
    for sizes in ((1, 128, 1024), (8, 1024, 1024), (8, 2048, 4096)):
        tier = FULL if sizes[2] == 4096 else CORE
        row = GateRow(f"layer {_format_sizes(sizes)}", tier, partial(layer, *sizes))
        yield from (row, row.with_relaxed_numerics())
    for sizes in ((32, 256, 56), (32, 1024, 14), (4, 256, 256)):
        yield GateRow(
            f"bottleneck {_format_sizes(sizes)}", CORE, partial(bottleneck, *sizes)
        )
        make = partial(bottleneck, *sizes, is_channels_last=True)
        yield GateRow(f"bottleneck {_format_sizes(sizes)} channels last", CORE, make)


def _convolution_rows() -> Iterator[GateRow]:
    make = partial(convolutions, SPATIAL_CONVOLUTIONS)
    yield GateRow("convolutions 3x3 f16 batch 32", CORE, make)
    make = partial(convolutions, DEPTHWISE_CONVOLUTIONS, is_depthwise=True)
    yield GateRow("convolutions depthwise f16 batch 32", CORE, make)


def _format_sizes(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


SLOW = ("gpt-2", "bert", "vit", "resnet-50", "mobilenet-v2", "transformer", "layer")
"""Substrings of the names of rows with long compile times, the slowest first."""


def gate_rows(seed: int, kernelbench: Path | None = None) -> list[GateRow]:
    """
    Return all rows, the slowest to compile first.

    `seed` draws the sizes of some rows of the full tier. With `kernelbench`, a checkout
    of KernelBench, the full tier includes its problems.
    """
    rows = [
        *_base_rows(seed),
        *(_problem_rows(kernelbench) if kernelbench is not None else ()),
    ]
    return sorted(rows, key=_compile_order)


EXAMPLES = Path(__file__).parents[1] / "examples"


TILE_OPERATION = re.compile(r"^(?!\s*//).*\btile\.\w", re.MULTILINE)


def _example_rows() -> Iterator[GateRow]:
    """Yield the examples that are programs on whole tensors."""
    for path in sorted(EXAMPLES.glob("*.mlir")):
        if not TILE_OPERATION.search(path.read_text(encoding="utf-8")):
            yield GateRow(f"example {path.stem}", CORE, None, program=path)


def _problem_rows(checkout: Path) -> Iterator[GateRow]:
    """
    Yield the development half of the KernelBench problems, at their original sizes;
    those with convolutions once more with PyTorch's default switches.
    """
    for level, file in development_problems(checkout, LEVELS):
        make = partial(_problem_work, file)
        row = GateRow(f"kernelbench level {level} {file.stem}", FULL, make)
        yield row
        if "nn.Conv" in file.read_text(encoding="utf-8"):
            yield row.with_default_switches()


def _problem_work(file: Path, device: str) -> RowWork:
    problem = load_full_size(file)
    return RowWork(
        problem.model.to(device), move_to_device(tuple(problem.inputs), device)
    )


def _compile_order(row: GateRow) -> int:
    return next(
        (index for index, part in enumerate(SLOW) if part in row.name), len(SLOW)
    )


def _base_rows(seed: int) -> list[GateRow]:
    generator = random.Random(seed)
    rows = [
        *_network_rows(),
        *_suite_rows(),
        *_convolution_rows(),
        *_example_rows(),
    ]
    rows.append(GateRow("decode 4096", CORE, partial(decode, 4096, 32, 8)))
    tokens = generator.randrange(100, 9000)
    rows.append(GateRow(f"decode {tokens}", FULL, partial(decode, tokens, 16, 4)))
    rows.append(GateRow("odd 0", CORE, partial(random_mlp, 0)))
    for _ in range(3):
        drawn_seed = generator.randrange(1, 1 << 30)
        rows.append(GateRow(f"odd {drawn_seed}", FULL, partial(random_mlp, drawn_seed)))
    return rows
