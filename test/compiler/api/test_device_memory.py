"""Memory that programs use on a GPU, as their plans state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import tlf
from tlf.compiler.backends.device_memory import DeviceMemory

TEXT = """
func.func @scaled(%x: tensor<5x8xbf16>, %w: tensor<8x64xbf16> {tlf.parameter},
                  %s: tensor<64xbf16> {tlf.parameter}) -> tensor<5x64xbf16> {
  %0 = graph.exp %s : tensor<64xbf16>
  %1 = graph.matmul %x, %w : (tensor<5x8xbf16>, tensor<8x64xbf16>) -> tensor<5x64xbf16>
  %y = graph.mul %1, %0 : (tensor<5x64xbf16>, tensor<64xbf16>) -> tensor<5x64xbf16>
  func.return %y : tensor<5x64xbf16>
}
"""

T: Any = torch


def test_memory_by_what_it_is_for():
    memory = tlf.compile(TEXT, target="h200").memory
    assert memory is not None
    expected = DeviceMemory(
        arena=memory.arena,
        results=2 * 5 * 64,
        constants=0,
        prepared=2 * 64,
        inputs=2 * 5 * 8,
        parameters=2 * (8 * 64 + 64),
        replaced_parameters=2 * 64,
    )
    assert memory == replace(expected, preparation_arena=memory.preparation_arena)
    assert memory.peak == memory.arena + 640


def test_figures_of_a_run():
    compiled = tlf.compile(TEXT, target="h200")
    memory = compiled.memory
    assert memory is not None
    with T.no_grad():
        compiled(*(T.ones(n, dtype=T.bfloat16) for n in ((5, 8), (8, 64), (64,))))
    names = ("arena_bytes", "result_bytes", "prepare.result_bytes")
    assert [compiled.stats[name] for name in names] == [memory.arena, 640, 128]


@pytest.mark.parametrize("target", ["reference", "npu-tiny"])
def test_programs_of_the_host_use_none(target: str):
    assert tlf.compile(TEXT.replace("bf16", "f32"), target=target).memory is None
