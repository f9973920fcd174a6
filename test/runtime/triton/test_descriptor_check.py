"""
Wrong matrix descriptors are found in machine code, and kernels with them are compiled
in another way.
"""

import hashlib
import json
from pathlib import Path

import pytest

from tlf.runtime.triton.descriptor_check import find_wrong_descriptors
from tlf.runtime.triton.launch_plan import Plan, load_plan
from tlf.runtime.triton.offline_compiler import KernelResources, OfflineCompiler
from tlf.runtime.triton.report import find_kernel_faults

PRODUCTS = """\
import triton
import triton.language as tl


@triton.jit
def products(p0, p1, p2, p3, p4):
    pid = tl.program_id(0)
    i = pid * 128
    j = ((pid % 56) % 32) * 16
    r = i + tl.arange(0, 128)
    c = j + tl.arange(0, 16)
    k = tl.arange(0, 256)
    x = tl.load(p0 + k[:, None] + c[None, :] * 256)
    y = tl.load(p1 + r[:, None] * 256 + k[None, :])
    first = tl.dot(y, x).to(tl.float16)
    last = tl.zeros([128, 16], tl.float32)
    for step in tl.range(0, 128, 64, num_stages=4):
        s = step + tl.arange(0, 64)
        a = tl.load(p2 + r[:, None] * 128 + s[None, :])
        b = tl.load(p3 + s[:, None] * 784 + c[None, :])
        last = tl.dot(a, b, acc=last)
    tl.store(p4 + r[:, None] * 784 + c[None, :], last.to(tl.float16) + first)
"""
"""
Two products with factors at one address of shared memory, whose columns lie otherwise.
With 8 warps `ptxas` 12.8 computes the second one from addresses that it never set.
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


def plan() -> Plan:
    names = [f"p{number}" for number in range(5)]
    kernel = {
        "name": "products",
        "sha256": hashlib.sha256(PRODUCTS.encode()).hexdigest(),
        "source": PRODUCTS,
        "grid": [6],
        "num_warps": 8,
        "num_stages": 4,
        "arguments": names,
    }
    buffers = [
        {"name": name, "kind": kind, "dtype": "f16", "shape": [1 << 20]}
        for name, kind in zip(names, [*4 * ["argument"], "result"], strict=True)
    ]
    step = {"launch": "products", "arguments": [{"buffer": name} for name in names]}
    return load_plan(
        json.dumps(
            {
                "schema": "tlf-triton-plan",
                "version": 2,
                "arena_bytes": 0,
                "function": "main",
                "kernels": [kernel],
                "buffers": buffers,
                "arguments": names[:4],
                "results": names[4:],
                "steps": [step],
            }
        )
    )


def test_kernel_that_is_assembled_wrongly_is_assembled_anew() -> None:
    with OfflineCompiler() as compiler:
        (planned,) = compiler.compile_plan_kernels(plan(), admits=False)
        (admitted,) = compiler.compile_plan_kernels(plan())
    assert planned.wrong_descriptors
    assert "is assembled wrongly" in find_kernel_faults(planned)[0]
    assert not admitted.wrong_descriptors
    assert _shape(admitted) == _shape(planned)


def _shape(found: KernelResources) -> tuple[int, int, int]:
    return found.warps, found.stages, found.shared


def sass(*lines: str) -> str:
    """Instructions as `nvdisasm` prints them; a label ends in a colon."""
    return "\n".join(
        f".{line}" if line.endswith(":") else f"        /*{16 * at:04x}*/  {line} ;"
        for at, line in enumerate(lines)
    )


ADDRESS = (
    "S2UR UR4, SR_CTAID.X",
    "USHF.R.U32.HI UR8, URZ, 0x4, UR4",
    "USGXT.U32 UR8, UR8, 0xe",
    "UMOV UR9, 0x40000040",
    "ULOP3.LUT UR10, UR4, 0x3fff, URZ, 0xc0, !UPT",
    "UIADD3.X UR11, URZ, -0x3ffffff0, URZ, UP0, !UPT",
)

PRODUCT = "HGMMA.64x16x16.F32 R24, gdesc[UR8].tnspB, R24"


@pytest.mark.parametrize(
    "lines",
    [
        (PRODUCT,),
        ("UIADD3.64 UR8, UR8, 0x2, URZ", PRODUCT),
        ("UIADD3 UR8, UP0, UR8, 0x20, URZ", PRODUCT),
        # Of a factor in registers, the pair for its descriptor holds anything.
        ("UMOV UR5, UR4", "USEL UR8, UR4, 0x10, UP0", "USEL UR9, UR4, 0x10, UP0",
         "HGMMA.64x16x16.F32 R24, R8, gdesc[UR8], R24"),
        # What came from other registers, or differs between paths, is not judged.
        ("R2UR UR8, R2", PRODUCT),
        ("@UP0 BRA `(.L_x_1)", "USEL UR8, UR4, 0x10, UP0", "L_x_1:", PRODUCT),
        # So is what one of two instructions sets, whatever it was before.
        ("@UP0 USEL UR8, UR4, 0x10, UP1", PRODUCT),
        ("@!UP1 UIADD3.X UR9, UR8, 0x10, URZ, UP0, !UPT", PRODUCT),
        ("@UP0 UIADD3.64 UR8, UR6, 0x2, URZ", PRODUCT),
        ("USEL UR8, UR4, 0x10, UP1", "@UP0 ULOP3.LUT UR8, UR4, 0x3fff, URZ, 0xc0, !UPT",
         "UIADD3 UR8, UP0, UR8, 0x20, URZ", PRODUCT),
        # One that may be skipped leaves what it would set itself.
        ("@UP0 UIADD3.64 UR8, UR8, 0x2, URZ", PRODUCT),
    ],
)  # fmt: skip
def test_descriptors_that_may_be_right(lines: tuple[str, ...]) -> None:
    assert find_wrong_descriptors(sass(*ADDRESS, *lines)) == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("USEL UR8, UR4, 0x10, UP0",), "address in UR8"),
        (("UIADD3 UR10, UP0, UR6, 0x20, URZ",), "address in UR10"),
        (("UIADD3.X UR11, UR6, -0x3ffffff0, URZ, UP0, !UPT",), "upper word in UR11"),
        (("UIADD3.X UR9, UR8, 0x10, URZ, UP0, !UPT",), "upper word in UR9"),
        (("UIADD3.64 UR8, UR6, 0x2, URZ",), "address in UR8"),
        (("L_x_1:", "USEL UR8, UR4, 0x10, UP0", "@UP0 BRA `(.L_x_1)"), "UR8"),
        (("UMOV UR6, UR4", "ULEA UR8, UR6, UR4, 0x4"), "address in UR8"),
        # Both of what stays and of what is set.
        (("UMOV UR8, UR6", "@!UP0 ULEA UR8, UR6, UR4, 0x4"), "address in UR8"),
        (("@UP0 UMOV UR8, UR8", "ULEA UR8, UR6, UR4, 0x4"), "address in UR8"),
        # What was never set.
        (("UIADD3 UR8, UP0, UR24, 0x20, URZ",), "address in UR8"),
    ],
)
def test_descriptors_that_are_wrong(lines: tuple[str, ...], said: str) -> None:
    program = ("USEL UR6, UR4, 0x10, UP0", *ADDRESS, *lines, PRODUCT, "EXIT")
    assert any(said in each for each in find_wrong_descriptors(sass(*program)))
