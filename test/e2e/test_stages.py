"""The examples stay valid and right after every single pass."""

import pytest
from differential import Stage, lowered, make_case
from example_layers import BlockSizes, LayerSizes, bottleneck, transformer_layer
from example_variants import (
    Variant,
    gelu,
    layer_norm,
    matmul_bias_relu,
    softmax,
    weighted_sum,
)

from tlf.dialects.target import load_target_spec

LAST = {"npu": "mem-plan", "npu-tiny": "mem-plan", "h200": "convert-tile-to-mem"}
"""For each target, a pass after which programs can still be interpreted."""

KERNELS = [
    gelu(19, 23),
    gelu(19, 23, "bf16"),
    softmax(7, 67),
    softmax(7, 67, "f16"),
    layer_norm(7, 67),
    layer_norm(7, 67, "bf16"),
    matmul_bias_relu(31, 29, 37),
    matmul_bias_relu(31, 29, 37, "f16"),
    weighted_sum(29, 67),
    weighted_sum(29, 67, "bf16"),
    transformer_layer(LayerSizes(2, 11, 3, 5, 23)),
]
BLOCKS = [
    bottleneck(BlockSizes(2, 7, 3, 7, 5)),
    bottleneck(BlockSizes(1, 8, 6, 7, 5, groups=2), "bf16"),
]


def stages(variant: Variant, name: str) -> list[Stage]:
    """The stages of a variant on a target."""
    case = make_case(variant.program.text())
    context, module = case.module()
    return list(lowered(case, load_target_spec(name), context, module))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("target", LAST)
@pytest.mark.parametrize("variant", KERNELS, ids=lambda each: each.name)
def test_values_after_every_pass(variant: Variant, target: str):
    found = stages(variant, target)

    assert [str(stage.fault) for stage in found if stage.fault is not None] == []
    assert LAST[target] in [stage.name for stage in found if stage.runs]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["npu", "npu-tiny"])
@pytest.mark.parametrize("variant", BLOCKS, ids=lambda each: each.name)
def test_values_of_convolutions_after_every_pass(variant: Variant, target: str):
    test_values_after_every_pass(variant, target)
