"""The cache of compiled programs: hits, misses, and faults."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from forked import start_fork, wait_for

import tlf
from tlf.compiler.api.compiled_program import CompiledProgram, read_verified_program
from tlf.compiler.backends import compilation_key
from tlf.compiler.backends.backends import CompilingBackend
from tlf.compiler.backends.compilation_key import (
    compute_compilation_key,
    digest_sources,
)
from tlf.compiler.backends.emitted_program import EmittedProgram
from tlf.compiler.backends.executables import Signature
from tlf.compiler.backends.program_cache import ProgramCache
from tlf.dialects.target import load_target_spec
from tlf.runtime.storage.cache_entries import list_program_files
from tlf.runtime.triton import kernel_prefetch

pytestmark = pytest.mark.usefixtures("first_plans")

MLP = """
func.func @f(
    %x: tensor<5x7xf32>, %w: tensor<7x3xf32> {tlf.parameter}) -> tensor<5x3xf32> {
  %c = graph.constant dense<[1.0, 2.0, -0.5]> : tensor<3xf32>
  %p = graph.matmul %x, %w : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %s = graph.add %p, %c : (tensor<5x3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  %z = graph.relu %s : tensor<5x3xf32>
  func.return %z : tensor<5x3xf32>
}
"""

RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal(s).astype(np.float32) for s in ((5, 7), (7, 3)))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enable the cache in a new folder."""
    monkeypatch.setenv("TLF_CACHE", "1")
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compile_text(
    text: str = MLP, target: str = "npu", **options: Any
) -> CompiledProgram:
    return tlf.compile(text, target=target, **options)


def refuse_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test fail if passes run."""

    def fail(*_: object) -> None:
        raise AssertionError("expected a program of the cache, got passes")

    monkeypatch.setattr(CompilingBackend, "lower", fail)


@pytest.mark.parametrize("target", ["reference", "npu", "npu-tiny", "triton"])
def test_values_are_equal_bit_for_bit(target: str, monkeypatch: pytest.MonkeyPatch):
    cold = compile_text(target=target)
    refuse_passes(monkeypatch)
    warm = compile_text(target=target)
    assert not cold.is_cached
    assert warm.is_cached == (target != "reference")
    assert warm(X, W).tobytes() == cold(X, W).tobytes()
    assert warm(w=W, x=X).tobytes() == cold(X, W).tobytes()
    assert {k: v for k, v in warm.stats.items() if k != "compile_seconds"} == {
        k: v for k, v in cold.stats.items() if k != "compile_seconds"
    }


def test_workers_start_before_the_passes(monkeypatch: pytest.MonkeyPatch):
    """They compile kernels, so no program of the cache or for an NPU starts them."""
    events: list[str] = []
    lower = CompilingBackend.lower

    def record_passes(backend: CompilingBackend, *arguments: Any) -> Signature:
        events.append("passes")
        return lower(backend, *arguments)

    monkeypatch.setattr(CompilingBackend, "lower", record_passes)
    monkeypatch.setattr(
        kernel_prefetch, "start_workers_for_gpu", lambda: events.append("workers")
    )
    compile_text(target="npu")
    assert events == ["passes"]
    compile_text(target="triton")
    assert events[1:] == ["workers", "passes"]
    compile_text(target="triton")
    assert len(events) == 3
    compile_text(target="triton", cache=False)
    assert events[3:] == ["workers", "passes"]


def test_stages_of_a_program_of_the_cache():
    cold, warm = compile_text(), compile_text()
    assert warm.is_cached
    assert warm.stages == cold.stages
    assert warm.ir("graph-group") == cold.ir("graph-group")
    assert warm.ir("program.npu") == cold.ir("program.npu")
    assert warm.explain() == cold.explain()


def test_weights_are_prepared_anew():
    """The preparation is stored, and its results are not."""
    linear = torch.nn.Linear(8, 4)
    layers = torch.nn.Sequential(linear, torch.nn.ReLU()).eval()
    x = torch.randn(3, 8)
    cold = tlf.compile(layers, (x,), target="npu")
    with torch.no_grad():
        linear.weight.mul_(2)
        warm = tlf.compile(layers, (x,), target="npu")
        assert (cold.is_cached, warm.is_cached) == (False, True)
        torch.testing.assert_close(warm(x), layers(x))
        assert cold(x).equal(warm(x))


def test_names_and_locations_are_no_part_of_the_key(folder: Path):
    renamed = MLP.replace("%x", "%input").replace("%s", "%total").replace("%p", "%q")
    compile_text(target="triton")
    found = compile_text("\n\n" + renamed, target="triton")
    assert found.is_cached
    assert (
        found(input=X, w=W).tobytes() == compile_text(target="triton")(X, W).tobytes()
    )
    assert len(list_program_files(folder)) == 1


def test_traps_have_their_own_locations():
    """The text that an NPU runs has locations, so they are a part of the key."""
    compile_text()
    moved = compile_text("\n" + MLP)
    assert not moved.is_cached
    assert "<text>:6:" in moved.ir("program.npu")


KEYS: dict[str, Callable[[], tuple[str, str, str | None]]] = {
    "constant": lambda: (MLP.replace("-0.5", "-0.25"), "npu", None),
    "shape": lambda: (MLP.replace("5x", "6x"), "npu", None),
    "operation": lambda: (MLP.replace("graph.relu", "graph.exp"), "npu", None),
    "weight": lambda: (MLP.replace(" {tlf.parameter}", ""), "npu", None),
    "target": lambda: (MLP, "npu-tiny", None),
    "capacity": lambda: (MLP, "npu:L2=512K", None),
    "entry": lambda: (MLP, "npu", "f"),
    "operands": lambda: (MLP.replace("%s : tens", "%p : tens"), "npu", None),
    "numerics": lambda: (
        f'module attributes {{tlf.numerics = "relaxed"}} {{{MLP}}}',
        "npu",
        None,
    ),
}


def key_of(text: str, target: str, entry: str | None) -> str:
    module, _ = read_verified_program(text)
    return compute_compilation_key(module, load_target_spec(target), entry)


@pytest.mark.parametrize("change", KEYS)
def test_changes_of_the_key(change: str):
    text, target, entry = KEYS[change]()
    assert key_of(text, target, entry) != key_of(MLP, "npu", None)


def test_equal_keys():
    assert key_of(MLP, "npu", None) == key_of(MLP, "npu", None)
    assert key_of(MLP, "triton", None) == key_of("\n" + MLP, "h200", None)


def test_other_versions_are_misses(monkeypatch: pytest.MonkeyPatch):
    compile_text()
    monkeypatch.setattr(compilation_key, "describe_environment", lambda: "other")
    assert not compile_text().is_cached
    assert compile_text().is_cached


def test_changed_sources_are_misses(tmp_path: Path):
    source = tmp_path / "package"
    (source / "part" / "__pycache__").mkdir(parents=True)
    (source / "part" / "a.py").write_text("1")
    first = digest_sources(source)
    (source / "part" / "__pycache__" / "a.pyc").write_text("2")
    assert digest_sources(source) == first
    status = (source / "part" / "a.py").stat()
    (source / "part" / "a.py").write_text("2")
    os.utime(source / "part" / "a.py", (status.st_atime, status.st_mtime))
    assert digest_sources(source) != first


def test_disabled(folder: Path, monkeypatch: pytest.MonkeyPatch):
    compile_text(cache=False)
    assert not list_program_files(folder)
    compile_text()
    assert not compile_text(cache=False).is_cached
    monkeypatch.setenv("TLF_CACHE", "0")
    assert not compile_text().is_cached


def test_constants_in_files_are_not_cached(folder: Path, tmp_path: Path):
    np.savez(tmp_path / "side.npz", w=np.ones(3, np.float32))
    constant = "graph.constant dense<[1.0, 2.0, -0.5]>"
    file = f'graph.constant file "{tmp_path}/side.npz" key "w"'
    compile_text(MLP.replace(constant, file), target="triton")
    assert not list_program_files(folder)


def damage(path: Path, generator: random.Random) -> None:
    """Cut a file, or change a byte of it."""
    data = bytearray(path.read_bytes())
    position = generator.randrange(len(data))
    if generator.random() < 0.3:
        del data[position:]
    else:
        data[position] ^= 1 + generator.randrange(255)
    path.write_bytes(data)


def test_damaged_entries(folder: Path):
    expected = compile_text()(X, W).tobytes()
    (entry,) = list_program_files(folder)
    generator, misses = random.Random(0), 0
    for _ in range(6):
        damage(entry.path, generator)
        found = compile_text()
        misses += not found.is_cached
        assert found(X, W).tobytes() == expected
    assert misses > 1


def test_entry_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch):
    """A file that is whole, with a text that no runtime takes, is compiled anew."""
    expected = compile_text()(X, W).tobytes()

    def find_damaged(self: ProgramCache, key: str) -> EmittedProgram:
        del self, key
        return EmittedProgram("npu", "no program")

    monkeypatch.setattr(ProgramCache, "find", find_damaged)
    found = compile_text()
    assert not found.is_cached
    assert found(X, W).tobytes() == expected


@pytest.mark.parametrize("target", ["npu", "triton"])
def test_folder_that_cannot_be_written(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path / "file" / "cache"))
    expected = tlf.compile(MLP)(X, W)
    np.testing.assert_allclose(compile_text(target=target)(X, W), expected, rtol=1e-5)
    assert not compile_text(target=target).is_cached


def test_two_processes_at_once(folder: Path, tmp_path: Path):
    def work(name: str) -> None:
        (tmp_path / name).write_bytes(compile_text()(X, W).tobytes())

    workers = [start_fork(lambda name=name: work(name)) for name in "ab"]
    assert [wait_for(each) for each in workers] == [0, 0]
    warm = compile_text()
    assert warm.is_cached
    expected = warm(X, W).tobytes()
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [expected] * 2


def test_option_of_torch_compile(folder: Path):
    def double(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2

    x = torch.randn(4, 4)
    torch_api: Any = torch
    for options, count in (({"cache": False}, 0), ({}, 1)):
        torch.compiler.reset()
        options = {"target": "npu", **options}
        compiled = torch_api.compile(double, backend=tlf.backend, options=options)
        assert compiled(x).equal(double(x))
        assert len(list_program_files(folder)) == count
    with pytest.raises(ValueError, match="expected cache True or False, got 3"):
        tlf.backend(torch.fx.symbolic_trace(double), [x], options={"cache": 3})


LIGHT = """
import sys
import tlf.compiler.api.compiled_program
import tlf.compiler.backends.program_cache
loaded = {name.split(".")[1] for name in sys.modules if name.startswith("tlf.")}
print(*sorted(loaded & {"planner", "passes", "lowering", "analysis", "frontend"}))
"""


def test_compiler_is_imported_when_it_is_needed():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


SECOND = """
import sys
import torch, tlf
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval()
x = torch.randn(3, 8)
compiled = torch.compile(net, backend="tlf", options={"target": "npu"})
with torch.no_grad():
    print(compiled(x).numpy().tobytes().hex())
print([name for name in sys.modules
       if name.startswith(("tlf.planner", "tlf.passes", "tlf.lowering"))][:1])
"""


@pytest.mark.long
def test_second_process_runs_no_pass():
    first, second = (
        subprocess.run(
            [sys.executable, "-c", SECOND], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert first[0] == second[0]
    assert first[1] != "[]"
    assert second[1] == "[]"
