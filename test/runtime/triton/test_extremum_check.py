"""Minima and maxima that are assembled wrongly are found, and computed in f32."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tlf.lowering.mem_to_triton.device_functions import DEVICE_FUNCTIONS
from tlf.runtime.triton.device_selection import select_device
from tlf.runtime.triton.executable_plan import Executable
from tlf.runtime.triton.extremum_check import widen_extrema
from tlf.runtime.triton.launch_plan import Kernel, Plan, load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler
from tlf.runtime.triton.report import find_kernel_faults

CHAIN = """\
import triton
import triton.language as tl


@triton.jit
def chain(p0, p1, p2, p3, p4, p5):
    r = tl.arange(0, 128)
    x = tl.load(p0 + r).to(tl.float32)
    x = {name}(x, tl.load(p1 + r).to(tl.float32))
    x = {name}(x, tl.load(p2 + r).to(tl.float32))
    x = {name}(x, tl.load(p3 + r).to(tl.float32))
    x = {name}(x, tl.load(p4 + r).to(tl.float32))
    tl.store(p5 + r, {name}(x, 0.0).to(p5.dtype.element_ty))


{function}"""
"""Extremum of five rows, which LLVM computes in 16 bits."""

NAMES = [f"p{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


def plan(name: str, dtype: str, *, is_widened: bool = False) -> Plan:
    source = CHAIN.format(name=name, function=DEVICE_FUNCTIONS[name])
    if is_widened:
        source = widen_extrema(Kernel("", "", source, (), 4, 1, ())).source
    kernel = {
        "name": "chain",
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "source": source,
        "grid": [1],
        "num_warps": 4,
        "num_stages": 1,
        "arguments": NAMES,
    }
    buffers = [
        {"name": name, "kind": kind, "dtype": dtype, "shape": [128]}
        for name, kind in zip(NAMES, [*5 * ["argument"], "result"], strict=True)
    ]
    step = {"launch": "chain", "arguments": [{"buffer": name} for name in NAMES]}
    fields = {"arguments": NAMES[:5], "results": NAMES[5:], "steps": [step]}
    header = {"schema": "tlf-triton-plan", "version": 1, "function": "main"}
    return load_plan(
        json.dumps({**header, "kernels": [kernel], "buffers": buffers, **fields})
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["maximum_nan", "minimum_nan"])
def test_wrong_extrema_are_found_and_widened(name: str, dtype: str) -> None:
    with OfflineCompiler() as compiler:
        (planned,) = compiler.compile_plan_kernels(plan(name, dtype), admits=False)
        (admitted,) = compiler.compile_plan_kernels(plan(name, dtype))
    assert planned.has_wrong_extrema
    assert "is assembled wrongly: 16-bit extrema" in find_kernel_faults(planned)[0]
    assert not admitted.has_wrong_extrema


def test_extrema_in_f32_are_right() -> None:
    with OfflineCompiler() as compiler:
        (planned,) = compiler.compile_plan_kernels(
            plan("maximum_nan", "f32"), admits=False
        )
    assert not planned.has_wrong_extrema


@pytest.mark.parametrize("is_widened", [False, True])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", ["maximum_nan", "minimum_nan"])
def test_both_forms_propagate_nan(name: str, dtype: str, is_widened: bool) -> None:
    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(5, 128, generator=generator)
    special = torch.tensor([np.nan, np.inf, -np.inf, -1.0])
    rows[:, :64] = special[torch.randint(4, (5, 64), generator=generator)]
    values = [row.to(types[dtype]) for row in rows]
    run = Executable(plan(name, dtype, is_widened=is_widened), select_device())
    (found,) = run(values).values()
    assert isinstance(found, torch.Tensor)
    extremum = torch.maximum if name == "maximum_nan" else torch.minimum
    wanted = torch.zeros_like(values[0])
    for value in values:
        wanted = extremum(wanted, value)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
