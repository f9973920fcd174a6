"""The examples, at other sizes and in other types, against torch in f64."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from against_torch import TOLERANCES, compare, compare_text
from differential import parsed
from example_layers import BlockSizes, LayerSizes, bottleneck, transformer_layer
from example_networks import attention, residual_mlp
from example_variants import (
    Variant,
    gelu,
    layer_norm,
    matmul_bias_relu,
    softmax,
    weighted_sum,
)
from torch import Tensor
from torch.nn import functional

from tlf.dialects.entry_point import argument_names, find_entry_point

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES: dict[str, Variant] = {
    "gelu": gelu(300, 1000),
    "softmax": softmax(300, 1000),
    "layer_norm": layer_norm(300, 1000),
    "matmul_bias_relu": matmul_bias_relu(250, 200, 300),
    "weighted_sum": weighted_sum(1000, 512),
    "transformer_layer": transformer_layer(LayerSizes()),
    "bottleneck": bottleneck(BlockSizes()),
    "attention": attention(2, 3, 50, 24),
    "residual_mlp": residual_mlp(70, 96, 200),
}
"""The variants that the files hold."""

ELEMENTS = list(TOLERANCES)

Make = Callable[[str], Variant]
ROWS: dict[str, Make] = {
    "gelu-1x1": lambda element: gelu(1, 1, element),
    "gelu-37x211": lambda element: gelu(37, 211, element),
    "gelu-64x128": lambda element: gelu(64, 128, element),
    "softmax-1x7": lambda element: softmax(1, 7, element),
    "softmax-53x1": lambda element: softmax(53, 1, element),
    "softmax-41x131": lambda element: softmax(41, 131, element),
    "layer_norm-1x5": lambda element: layer_norm(1, 5, element),
    "layer_norm-43x113": lambda element: layer_norm(43, 113, element),
    "layer_norm-32x64": lambda element: layer_norm(32, 64, element),
    "matmul-1x1x1": lambda element: matmul_bias_relu(1, 1, 1, element),
    "matmul-61x53x79": lambda element: matmul_bias_relu(61, 53, 79, element),
    "matmul-5x97x3": lambda element: matmul_bias_relu(5, 97, 3, element),
    "matmul-64x64x64": lambda element: matmul_bias_relu(64, 64, 64, element),
    "weighted_sum-1x1": lambda element: weighted_sum(1, 1, element),
    "weighted_sum-67x151": lambda element: weighted_sum(67, 151, element),
    "weighted_sum-64x128": lambda element: weighted_sum(64, 128, element),
    "attention-1x1x1x1": lambda element: attention(1, 1, 1, 1, element),
    "attention-2x3x29x13": lambda element: attention(2, 3, 29, 13, element),
    "residual_mlp-1x5x1": lambda element: residual_mlp(1, 5, 1, element),
    "residual_mlp-37x41x83": lambda element: residual_mlp(37, 41, 83, element),
}
LAYERS: dict[str, Make] = {
    "layer-primes": lambda element: transformer_layer(
        LayerSizes(batch=2, tokens=29, heads=3, size=7, hidden=53), element
    ),
    "layer-one-of-each": lambda element: transformer_layer(
        LayerSizes(batch=1, tokens=1, heads=1, size=5, hidden=1), element
    ),
    "layer-even": lambda element: transformer_layer(
        LayerSizes(batch=2, tokens=16, heads=2, size=16, hidden=64), element
    ),
    "block-primes": lambda element: bottleneck(
        BlockSizes(batch=3, channels=19, middle=7, height=13, width=11), element
    ),
    "block-groups": lambda element: bottleneck(
        BlockSizes(2, 12, 6, 7, 9, groups=3, dilation=2), element
    ),
    "block-depthwise": lambda element: bottleneck(
        BlockSizes(1, 10, 5, 5, 1, groups=5), element
    ),
    "block-even": lambda element: bottleneck(BlockSizes(2, 32, 8, 8, 8), element),
}


@pytest.mark.parametrize("name", FILES)
def test_files_hold_what_is_generated(name: str):
    _, generated = parsed(FILES[name].program.text())
    _, written = parsed((EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8"))

    assert generated.is_structurally_equivalent(written)
    names = [
        argument_names(find_entry_point(module)) for module in (generated, written)
    ]
    assert names[0] == names[1]


def test_every_file_is_tested():
    names = {path.stem for path in EXAMPLES.glob("*.mlir")}
    assert names == {*FILES, "rolling_bottleneck"}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["reference", "npu"])
@pytest.mark.parametrize("name", FILES)
def test_files(name: str, target: str):
    compare(FILES[name], target)


@pytest.mark.parametrize("target", ["reference", "npu", "npu-tiny"])
def test_rolling_bottleneck(target: str):
    def reference(given: Mapping[str, Tensor]) -> Tensor:
        first = functional.conv2d(given["x"], given["w1"], given["b1"].flatten())
        second = functional.conv2d(torch.relu(first), given["w2"], padding=1)
        return torch.relu(second + given["x"])

    text = (EXAMPLES / "rolling_bottleneck.mlir").read_text(encoding="utf-8")
    compare_text(text, reference, target)


@pytest.mark.one_in(32)
@pytest.mark.parametrize("target", ["reference", "npu", "npu-tiny", "h200"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", ROWS)
def test_kernels(name: str, element: str, target: str):
    compare(ROWS[name](element), target)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_on_reference(name: str, element: str):
    compare(LAYERS[name](element), "reference")


@pytest.mark.one_in(32)
@pytest.mark.parametrize("to", ["f32 npu", "f32 npu-tiny", "f16 npu", "bf16 npu-tiny"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, to: str):
    element, target = to.split()
    compare(LAYERS[name](element), target)


@pytest.mark.one_in(14)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_on_triton(name: str, element: str):
    compare(LAYERS[name](element), "h200")
