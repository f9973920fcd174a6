"""
Reports on kernels that are compiled without a GPU.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tlf.runtime.triton.launch_plan import load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler
from tlf.runtime.triton.report import (
    compile_kernel_resources,
    find_kernel_faults,
    format_resource_table,
    main,
)
from tlf.runtime.triton.runtime_errors import KernelError, UnavailableError

COPY = """\
import triton
import triton.language as tl


@triton.jit
def copy(p0, p1, h0):
    r0 = h0 * 1024 + tl.arange(0, 1024)
    tl.store(p1 + r0, tl.load(p0 + r0))
"""

WASTE = """\
import triton
import triton.language as tl


@triton.jit
def waste(p0, p1):
    r0 = tl.arange(0, 256)
    a = tl.load(p0 + r0[:, None] * 256 + r0[None, :])
    b = tl.dot(a, a, input_precision="tf32")
    tl.store(p1 + r0[:, None] * 256 + r0[None, :], b)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))
    # The process that compiles must not inherit this.
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def plan(name: str, source: str, extent: int, steps: str = "direct") -> str:
    """
    A plan of one kernel from one buffer to another, in a host loop or not.
    """
    buffers = [{"buffer": "x"}, {"buffer": "y"}]
    launch: Mapping[str, object] = {"launch": name, "arguments": buffers}
    if steps == "loop":
        arguments = [*buffers, {"index": "h"}]
        inner = [{"launch": name, "arguments": arguments}]
        launch = {"loop": "h", "lower": 0, "upper": 4, "step": 1, "steps": inner}
    kernel = {
        "name": name,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "source": source,
        "grid": [2, 3],
        "num_warps": 4,
        "num_stages": 2,
        "arguments": ["p0", "p1", "h0"][: 3 if steps == "loop" else 2],
    }
    shaped = {"dtype": "f32", "shape": [extent]}
    return json.dumps(
        {
            "schema": "tlf-triton-plan",
            "version": 2,
            "arena_bytes": 0,
            "function": "main",
            "kernels": [kernel],
            "buffers": [
                {"name": "x", "kind": "argument", **shaped},
                {"name": "y", "kind": "result", **shaped},
            ],
            "arguments": ["x"],
            "results": ["y"],
            "steps": [launch] if steps != "none" else [],
        }
    )


def test_copy_of_aligned_rows() -> None:
    (found,) = compile_kernel_resources(load_plan(plan("copy", COPY, 4096, "loop")))
    assert (found.kernel, found.grid, found.warps) == ("copy", (2, 3), 4)
    assert found.shared == 0
    assert found.assembly is not None
    assert found.assembly.loads == {128: 2}
    assert found.assembly.stores == {128: 2}
    assert found.assembly.spilled_bytes == 0
    assert find_kernel_faults(found) == []


@pytest.mark.long
def test_faults() -> None:
    (found,) = compile_kernel_resources(load_plan(plan("waste", WASTE, 65536)))
    spills, shared = find_kernel_faults(found)
    assert spills.startswith("kernel 'waste' spills ")
    assert shared == (
        f"kernel 'waste' takes {found.shared} bytes of shared memory, more than 232448"
    )
    header, row = format_resource_table([found]).splitlines()
    cells = dict(zip(header.split(), row.split(), strict=True))
    assert cells["kernel"] == "waste"
    assert cells["grid"] == "2x3"
    assert cells["spills"].endswith("!")
    assert cells["shared"] == f"{found.shared}!"


def test_kernel_that_does_not_compile() -> None:
    broken = COPY.replace("tl.arange(0, 1024)", "tl.arange(0, 1000)")
    with OfflineCompiler() as compiler:
        with pytest.raises(KernelError, match=r"^kernel 'copy': .*power of 2"):
            compiler.compile_plan_kernels(load_plan(plan("copy", broken, 4096, "loop")))
        # The process lives on.
        text = plan("copy", COPY, 4096, "loop")
        (found,) = compiler.compile_plan_kernels(load_plan(text), assemble=False)
        assert found.assembly is None


def test_kernel_that_nothing_launches() -> None:
    with pytest.raises(KernelError, match=r"^kernel 'copy': nothing launches it$"):
        compile_kernel_resources(load_plan(plan("copy", COPY, 4096, "none")))


def test_compiler_that_is_not_running() -> None:
    compiler = OfflineCompiler()
    with pytest.raises(
        UnavailableError, match=r"^the offline compiler is not running$"
    ):
        compiler.compile_plan_kernels(load_plan(plan("copy", COPY, 4096, "loop")))


def test_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, report = tmp_path / "plan.json", tmp_path / "report.json"
    file.write_text(plan("copy", COPY, 4096, "loop"), "utf-8")
    assert main([str(file), "--json", str(report)]) == 0
    assert "128:2" in capsys.readouterr().out
    (record,) = json.loads(report.read_text("utf-8"))
    assert record["kernel"] == "copy"
    assert record["grid"] == [2, 3]
    assert record["loads"] == {"128": 2}
    assert record["spilled_bytes"] == 0


def test_program_reads_stdin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(plan("copy", COPY, 4096, "loop")))
    assert main(["-"]) == 0
    assert "copy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "error: [Errno 2] No such file"), ("x", "error: expected a JSON object")],
)
def test_program_on_a_bad_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, message: str
) -> None:
    file = tmp_path / "plan.json"
    if text is not None:
        file.write_text(text, "utf-8")
    assert main([str(file)]) == 1
    assert capsys.readouterr().err.startswith(message)
