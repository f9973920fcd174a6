"""Compilation of kernels by Triton in the folder of TLF's cache."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tlf.runtime.storage.cache_entries import COMPILED_KERNELS
from tlf.runtime.triton import kernel_cache
from tlf.runtime.triton.kernel_cache import CacheFolderScope, compile_through_cache
from tlf.runtime.triton.launch_plan import load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler

knobs: Any = import_module("triton").knobs

SOURCE = """\
import triton
import triton.language as tl


@triton.jit
def copy(p0, p1):
    r = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(p1 + r, tl.load(p0 + r))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enable the cache in a new folder, without a setting of the user."""
    monkeypatch.setenv("TLF_CACHE", "1")
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_cache, "_SCOPE", CacheFolderScope())
    return tmp_path / "cache" / COMPILED_KERNELS


def triton_folder() -> str:
    """The folder of Triton's cache."""
    return knobs.cache.dir


def test_only_kernels_of_tlf_are_in_the_folder(folder: Path):
    usual = triton_folder()
    assert compile_through_cache(triton_folder) == str(folder) != usual
    assert triton_folder() == usual
    assert "TRITON_CACHE_DIR" not in os.environ


def test_setting_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "mine"))
    assert compile_through_cache(triton_folder) == str(tmp_path / "mine")
    monkeypatch.delenv("TRITON_CACHE_DIR")
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path / "other")
        assert compile_through_cache(triton_folder) == str(tmp_path / "other")


def test_disabled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TLF_CACHE", "0")
    assert compile_through_cache(triton_folder) == triton_folder()


def test_threads(folder: Path):
    """The setting stays until the last thread has compiled."""
    usual, found = triton_folder(), list[str]()
    inside, first_is_done = threading.Barrier(2), threading.Event()

    def compile_first() -> None:
        inside.wait()

    def compile_second() -> None:
        inside.wait()
        first_is_done.wait()
        found.append(triton_folder())

    threads = [
        threading.Thread(target=compile_through_cache, args=(each,))
        for each in (compile_first, compile_second)
    ]
    for each in threads:
        each.start()
    threads[0].join()
    first_is_done.set()
    threads[1].join()
    assert found == [str(folder)]
    assert triton_folder() == usual


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), ValueError("no JSON"), KeyError("cubin")]
)
def test_faults_of_the_cache(error: Exception, folder: Path):
    """A kernel is compiled in a temporary folder, and all later ones are."""
    tried: list[str] = []

    def compile_kernel() -> str:
        tried.append(triton_folder())
        if tried[-1] == str(folder):
            raise error
        return "compiled"

    assert compile_through_cache(compile_kernel) == "compiled"
    assert compile_through_cache(compile_kernel) == "compiled"
    assert tried[0] == str(folder)
    assert tried[1] == tried[2] != triton_folder()


def test_errors_of_kernels_are_raised(folder: Path):
    """They are no faults of the cache, which is used for the next kernel."""

    def compile_kernel() -> None:
        raise ValueError("wrong kernel")

    with pytest.raises(ValueError, match="wrong kernel"):
        compile_through_cache(compile_kernel)
    assert compile_through_cache(triton_folder) == str(folder)


def test_kernels_are_marked_as_used(folder: Path):
    kernel = folder / "name"
    kernel.mkdir(parents=True)
    os.utime(kernel, (1, 1))
    compiled = SimpleNamespace(metadata_group={"k.json": str(kernel / "k.json")})
    compile_through_cache(lambda: compiled)
    assert kernel.stat().st_mtime > 1


def make_plan() -> dict[str, Any]:
    """Return a plan that copies 16 elements."""
    kernel = {
        "name": "copy",
        "source": SOURCE,
        "sha256": hashlib.sha256(SOURCE.encode()).hexdigest(),
        "grid": [1],
        "num_warps": 1,
        "num_stages": 1,
        "arguments": ["p0", "p1"],
    }
    kinds = {"x": "argument", "y": "result"}
    return {
        "schema": "tlf-triton-plan",
        "version": 2,
        "arena_bytes": 0,
        "function": "f",
        "kernels": [kernel],
        "buffers": [
            {"name": name, "kind": kind, "dtype": "f32", "shape": [16]}
            for name, kind in kinds.items()
        ],
        "arguments": ["x"],
        "results": ["y"],
        "steps": [
            {"launch": "copy", "arguments": [{"buffer": each} for each in kinds]}
        ],
    }


def test_second_process_finds_the_kernel(folder: Path):
    """Kernels are compiled for sm_90 once; the file of the source is not in the key."""
    times: list[dict[Path, int]] = []
    for _ in range(2):
        with OfflineCompiler() as compiler:
            compiler.compile_plan_kernels(load_plan(make_plan()), assemble=False)
        files = [path for path in folder.rglob("*") if path.is_file()]
        times.append({path: path.stat().st_mtime_ns for path in files})
        for source in folder.parent.rglob("tlf_*.py"):
            source.unlink()
    assert any(path.suffix == ".cubin" for path in times[0])
    assert times[0] == times[1]
