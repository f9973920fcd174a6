"""Requests to compile small Triton kernels for sm_90."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from hopper_stand_in import HOPPER

from tlf.runtime.triton.kernel_admission import KernelVariant
from tlf.runtime.triton.kernel_request import KernelRequest
from tlf.runtime.triton.launch_plan import Kernel

COPY = """\
import triton
import triton.language as tl


@triton.jit
def copy(p0, p1):
    r = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(p1 + r, tl.load(p0 + r))
"""
"""Kernel that copies blocks of 16 elements."""

SLOW = """\
import triton
import triton.language as tl


@triton.jit
def slow(p0, p1):
    r = tl.arange(0, 16)
    a = tl.load(p0 + r)
    for i in tl.static_range(1000000):
        a = a * 3.0 + i
    tl.store(p1 + r, a)
"""
"""Kernel that takes minutes to compile."""


def make_kernel(source: str) -> Kernel:
    """Return a kernel of two pointers, named as the source names it."""
    name = source.partition("def ")[2].partition("(")[0]
    digest = sha256(source.encode()).hexdigest()
    return Kernel(name, digest, source, (1,), 1, 1, ("p0", "p1"))


def make_request(source: str, folder: Path) -> KernelRequest:
    """Return a request for a kernel on aligned f32 buffers, in a folder."""
    variant = KernelVariant(make_kernel(source))
    return KernelRequest(variant, ("*fp32", "*fp32"), (0, 1), HOPPER, str(folder))


def make_plan(*sources: str) -> dict[str, object]:
    """Return a plan that launches kernels of two pointers in turn."""
    kernels = [make_kernel(each) for each in sources]
    buffers = ("x", "argument"), ("y", "result")
    return {
        "schema": "tlf-triton-plan",
        "version": 2,
        "arena_bytes": 0,
        "function": "f",
        "kernels": [asdict(each) for each in kernels],
        "buffers": [
            {"name": name, "kind": kind, "dtype": "f32", "shape": [16]}
            for name, kind in buffers
        ],
        "arguments": ["x"],
        "results": ["y"],
        "steps": [
            {
                "launch": each.name,
                "arguments": [{"buffer": name} for name, _ in buffers],
            }
            for each in kernels
        ],
    }
