"""Arguments and results whose axes are in memory in another order than row-major."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from tlf.runtime.triton import GuardError, load_plan, prepare
from tlf.runtime.triton.argument_guard import ArgumentGuard
from tlf.runtime.triton.device_tensors import allocate_device_buffer, upload_argument
from tlf.runtime.triton.interpreted_kernel import InterpretedKernel
from tlf.runtime.triton.launch_plan import DeviceBuffer
from tlf.runtime.triton.sanitizers import sanitize

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def count(p0, p1):
    r = tl.arange(0, 32)
    x = tl.load(p0 + r, mask=r < 24)
    tl.store(p1 + r, (x + r).to(p1.dtype.element_ty), mask=r < 24)
"""

SHAPE, ORDER, STRIDES = (2, 3, 4), (0, 2, 1), (12, 1, 3)

CPU = torch.device("cpu")


def make_plan(dtype: str) -> dict[str, Any]:
    """Return a plan that adds to each element its position in memory."""
    layout = {"dtype": dtype, "shape": [*SHAPE], "strides": [*STRIDES]}
    kernel = {
        "name": "count",
        "sha256": hashlib.sha256(SOURCE.encode()).hexdigest(),
        "source": SOURCE,
        "grid": [1],
        "num_warps": 4,
        "num_stages": 3,
        "arguments": ["p0", "p1"],
    }
    launch = {"launch": "count", "arguments": [{"buffer": "x"}, {"buffer": "y"}]}
    return {
        "schema": "tlf-triton-plan",
        "version": 3,
        "function": "f",
        "kernels": [kernel],
        "buffers": [
            {"name": "x", "kind": "argument", **layout},
            {"name": "y", "kind": "result", **layout},
        ],
        "arena_bytes": 0,
        "arguments": ["x"],
        "results": ["y"],
        "steps": [launch],
    }


def positions() -> np.ndarray:
    return np.arange(24).reshape(2, 4, 3).transpose(0, 2, 1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("order", [ORDER, (0, 1, 2), (2, 1, 0)])
def test_arrays_of_any_order(dtype: str, order: tuple[int, ...]) -> None:
    """Results are views whose elements are in memory as the plan says."""
    type_ = np.dtype(np.float32) if dtype == "f32" else np.dtype(ml_dtypes.bfloat16)
    x = np.zeros([SHAPE[axis] for axis in order], type_).transpose(np.argsort(order))
    x += np.arange(3, dtype=type_)[:, None]
    for is_writable in (True, False):
        x.flags.writeable = is_writable
        with sanitize():
            found: Any = prepare(make_plan(dtype))([x])["y"]
        assert (found.shape, found.dtype) == (SHAPE, type_)
        assert found.strides == tuple(type_.itemsize * each for each in STRIDES)
        expected = positions() + np.arange(3)[:, None]
        np.testing.assert_array_equal(found.astype(np.float32), expected)


def test_tensors_are_used_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    pointers: list[list[int]] = []
    inner = InterpretedKernel.__call__

    def note(self: InterpretedKernel, arguments: Sequence[Any]) -> None:
        pointers.append([each.data_ptr() for each in arguments])
        inner(self, arguments)

    monkeypatch.setattr(InterpretedKernel, "__call__", note)
    x = torch.zeros(2, 4, 3).transpose(1, 2)
    found: Any = prepare(make_plan("f32"))([x])["y"]
    assert pointers == [[x.data_ptr(), found.data_ptr()]]
    assert found.stride() == STRIDES
    np.testing.assert_array_equal(found.numpy(), positions())


@pytest.mark.parametrize(
    ("shape", "strides", "value"),
    [
        ((2, 1, 3), (1, 5, 2), torch.zeros(3, 2).t()[:, None]),
        ((2, 1, 3), (1, 5, 2), torch.zeros(3, 2).t().unsqueeze(1).contiguous()),
        ((2, 1), None, torch.zeros(1, 2).t()),
        ((0, 3), (1, 1), torch.zeros(0, 3)),
        ((0, 3), None, torch.zeros(3, 0).t()),
    ],
)
def test_axes_without_steps_do_not_matter(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, value: torch.Tensor
) -> None:
    buffer = DeviceBuffer("x", "argument", "f32", shape, strides=strides)
    if value.stride() == (3, 3, 1):
        with pytest.raises(GuardError, match="expected strides"):
            upload_argument(buffer, value, CPU)
    else:
        assert upload_argument(buffer, value, CPU) is value
    found = upload_argument(buffer, value.numpy(), CPU)
    assert torch.equal(found, value)


def test_guards_compare_strides() -> None:
    buffer = load_plan(make_plan("f32")).buffer_named("x")
    guard, x = ArgumentGuard([buffer], CPU), torch.zeros(2, 4, 3).transpose(1, 2)
    assert guard.upload_arguments([x])[0] is x
    for other in (torch.zeros(SHAPE), torch.zeros(2, 4, 6)[..., ::2].transpose(1, 2)):
        with pytest.raises(GuardError) as error:
            guard.upload_arguments([other])
        message = f"expected strides {STRIDES}, got {other.stride()}"
        assert str(error.value) == f"argument 'x': {message}"


def test_results_have_strides() -> None:
    buffer = load_plan(make_plan("f32")).buffer_named("y")
    assert allocate_device_buffer(buffer, CPU).stride() == STRIDES
    with sanitize():
        poison = allocate_device_buffer(buffer, CPU)
    assert poison.stride() == STRIDES
    assert poison.isnan().all()
