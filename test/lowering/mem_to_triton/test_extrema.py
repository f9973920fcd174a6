"""Minima and maxima, which kernels compute in f32."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tlf.lowering.mem_to_triton.device_functions import DEVICE_FUNCTIONS
from tlf.runtime.triton.device_selection import select_device
from tlf.runtime.triton.executable_plan import Executable
from tlf.runtime.triton.launch_plan import Plan, load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler
from tlf.runtime.triton.report import find_kernel_faults

CHAIN = """\
import triton
import triton.language as tl


@triton.jit
def chain(p0, p1, p2, p3, p4, p5):
    r = tl.arange(0, 128)
    x = tl.load(p0 + r).to({wide})
    x = {name}(x, tl.load(p1 + r).to({wide}))
    x = {name}(x, tl.load(p2 + r).to({wide}))
    x = {name}(x, tl.load(p3 + r).to({wide}))
    x = {name}(x, tl.load(p4 + r).to({wide}))
    tl.store(p5 + r, {name}(x, 0.0).to(p5.dtype.element_ty))


{function}"""
"""Extremum of five rows. LLVM computes `tl.maximum` of them in 16 bits."""

NARROW = """\
@triton.jit
def {name}(x, y):
    return tl.{tl_name}(x, y, propagate_nan=tl.PropagateNan.{option})
"""
"""Device function of the extremum that LLVM may narrow."""

NAMES = [f"p{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


def plan(name: str, dtype: str, function: str = "") -> Plan:
    wide = "tl.float64" if dtype == "f64" else "tl.float32"
    function = function or DEVICE_FUNCTIONS[name]
    source = CHAIN.format(name=name, wide=wide, function=function)
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
    header = {
        "schema": "tlf-triton-plan",
        "version": 2,
        "arena_bytes": 0,
        "function": "main",
    }
    return load_plan(
        json.dumps({**header, "kernels": [kernel], "buffers": buffers, **fields})
    )


EXTREMA = ["maximum_nan", "minimum_nan", "maximum_num", "minimum_num"]


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", EXTREMA)
def test_extrema_are_not_narrowed(
    name: str, dtype: str, compiler: OfflineCompiler
) -> None:
    tl_name, suffix = name.split("_")
    option = "ALL" if suffix == "nan" else "NONE"
    narrow = NARROW.format(name=name, tl_name=tl_name, option=option)
    (wide,) = compiler.compile_plan_kernels(plan(name, dtype))
    (packed,) = compiler.compile_plan_kernels(plan(name, dtype, narrow))
    assert find_kernel_faults(wide) == []
    assert "minima or maxima in 16 bits" in find_kernel_faults(packed)[0]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", EXTREMA)
def test_extrema_of_special_values(name: str, dtype: str) -> None:
    types = {
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "f32": torch.float32,
        "f64": torch.float64,
    }
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(5, 128, generator=generator)
    special = torch.tensor([np.nan, np.inf, -np.inf, -1.0])
    rows[:, :64] = special[torch.randint(4, (5, 64), generator=generator)]
    values = [row.to(types[dtype]) for row in rows]
    run = Executable(plan(name, dtype), select_device())
    (found,) = run(values).values()
    assert isinstance(found, torch.Tensor)
    extremum = {
        "maximum_nan": torch.maximum,
        "minimum_nan": torch.minimum,
        "maximum_num": torch.fmax,
        "minimum_num": torch.fmin,
    }[name]
    wanted = torch.zeros_like(values[0])
    for value in values:
        wanted = extremum(wanted, value)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
