"""Kernels with loops under masks, compiled for a GPU offline."""

from __future__ import annotations

import pytest
from differential import compiled_text
from masked_programs import MaskedProgram

from tlf.runtime.triton.launch_plan import load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize(("mask", "loops"), [("causal", 2), ("window", 1)])
def test_matrix_products_are_asynchronous(
    mask: str, loops: int, depth: int, compiler: OfflineCompiler
):
    """The loop without masks is the last one, which keeps products asynchronous."""
    program = MaskedProgram(
        mask, 2048, 2048, before=768, behind=768, depth=depth, element="bf16", batch=64
    )
    text = compiled_text(program.text(), "h200")
    assert text.partition("# plan")[0].count("in tl.range(") == loops
    (found,) = compiler.compile_plan_kernels(load_plan(text))
    assert found.assembly is not None
    assert found.assembly.wgmma > 0
    assert found.assembly.spilled_bytes == 0
    assert not found.assembly.is_serialised
