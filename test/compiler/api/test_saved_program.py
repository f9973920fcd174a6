"""`tlf.save` and `tlf.load`: values, imports, and files that are refused."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
import torch
from safetensors.torch import load as load_tensors
from torch.utils import _pytree as pytree

import tlf
from tlf.compiler.api.callable_module import CallableModule
from tlf.compiler.api.callable_program import CallableProgram
from tlf.compiler.api.compiled_program import CompiledProgram
from tlf.compiler.api.runtime_checks import CheckedValueError
from tlf.compiler.api.saved_structure import (
    SavedStructure,
    decode_structure,
    encode_structure,
)
from tlf.runtime.storage.program_archive import (
    RECORD,
    decode_archive,
    encode_archive,
)

pytestmark = pytest.mark.usefixtures("first_plans")

MLP = """
func.func @f(
    %x: tensor<5x7xf32>, %x_1: tensor<7x3xf32> {tlf.parameter}) -> tensor<5x3xf32> {
  %c = graph.constant dense<[1.0, 2.0, -0.5]> : tensor<3xf32>
  %p = graph.matmul %x, %x_1
    : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %s = graph.add %p, %c : (tensor<5x3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  func.return %s : tensor<5x3xf32>
}
"""

GATHER = """
func.func @f(%x: tensor<4x2xf32>, %i: tensor<3x2xi32>) -> tensor<3x2xf32> {
  %y = graph.gather %x, %i axis 0
    : (tensor<4x2xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}
"""

TARGETS = ["reference", "npu", "triton"]


@cache
def compiled_mlp(target: str) -> CompiledProgram:
    """Return `MLP` for a target."""
    return tlf.compile(MLP, target=target)


RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal(s).astype(np.float32) for s in ((5, 7), (7, 3)))


class Layers(torch.nn.Module):
    """Layers with statistics, an input that is a number, and a known output."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(7, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("shift", torch.ones(3), persistent=False)
        self.shift: torch.Tensor

    def forward(
        self, x: torch.Tensor, options: Mapping[str, Any]
    ) -> tuple[dict[str, torch.Tensor], float]:
        y = self.norm(self.linear(x)) * options["factor"] + self.shift
        return {"y": y, "t": y.t()}, options["factor"]


EXAMPLE = (torch.tensor(X), {"factor": 0.1})


def load_program(path: Path) -> CallableProgram:
    found = tlf.load(path)
    assert isinstance(found, CallableProgram)
    return found


def load_module(path: Path, **options: Any) -> CallableModule:
    found = tlf.load(path, **options)
    assert isinstance(found, CallableModule)
    return found


def save_and_load_in_process(path: Path, call: str) -> list[str]:
    """Load and call a program in another process; return the lines of its output."""
    program = f"""
import sys
import numpy as np
import tlf
found = tlf.load({str(path)!r})
{call}
print(*sorted({{name.split(".")[1] for name in sys.modules if name[:4] == "tlf."}}))
"""
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.parametrize("target", TARGETS)
def test_programs(target: str, tmp_path: Path):
    path, compiled = tmp_path / "mlp.tlf", compiled_mlp(target)
    tlf.save(compiled, path)
    loaded = load_program(path)
    assert loaded.signature.inputs == compiled.signature.inputs
    assert loaded(X, W).tobytes() == compiled(X, W).tobytes()
    assert loaded(torch.tensor(X), torch.tensor(W)).equal(torch.tensor(compiled(X, W)))
    assert set(loaded.stats) == set(compiled.stats) - {"compile_seconds"}
    for stage in loaded.stages:
        assert loaded.ir(stage) == compiled.ir(stage)
    with pytest.raises(TypeError, match=r"expected shape \(5, 7\), got \(7, 3\)"):
        loaded(W, W)
    with pytest.raises(KeyError, match="expected a stage among"):
        loaded.ir("other")


@pytest.mark.parametrize("target", TARGETS)
def test_no_compiler_is_needed(target: str, tmp_path: Path):
    path, compiled = tmp_path / "mlp.tlf", compiled_mlp(target)
    tlf.save(compiled, path)
    np.savez(tmp_path / "arguments.npz", x=X, w=W)
    call = f"""
arguments = np.load({str(tmp_path / "arguments.npz")!r})
print(found(arguments["x"], arguments["w"]).tobytes().hex())
"""
    values, folders = save_and_load_in_process(path, call)
    assert bytes.fromhex(values) == compiled(X, W).tobytes()
    loaded = set(folders.split())
    assert not loaded & {"planner", "passes", "lowering", "frontend", "analysis"}
    assert ("dialects" in loaded) == (target == "reference")


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("is_training", [False, True])
def test_modules(target: str, is_training: bool, tmp_path: Path):
    path, module = tmp_path / "layers.tlf", Layers().train(is_training)
    compiled = tlf.compile(module, EXAMPLE, target=target)
    tlf.save(compiled, path)
    loaded = load_module(path)
    for _ in range(2):
        expected, found = compiled(*EXAMPLE), loaded(*EXAMPLE)
        for name, tensor in expected[0].items():
            assert found[0][name].equal(tensor)
            assert found[0][name].stride() == tensor.stride()
        assert found[1] == expected[1] == 0.1
    for name, tensor in compiled.weights.items():
        assert loaded.weights[name].equal(tensor)
    with pytest.raises(TypeError, match=r"input 1: expected 0.1, got 0.2"):
        loaded(EXAMPLE[0], {"factor": 0.2})
    with pytest.raises(TypeError, match="expected a call like"):
        loaded(EXAMPLE[0])


def test_module_without_compiler(tmp_path: Path):
    path, compiled = (
        tmp_path / "m.tlf",
        tlf.compile(Layers().eval(), EXAMPLE, target="npu"),
    )
    tlf.save(compiled, path)
    call = f"""
import torch
x = torch.tensor({X.tolist()!r})
print(found(x, {{"factor": 0.1}})[0]["y"].numpy().tobytes().hex())
"""
    values, folders = save_and_load_in_process(path, call)
    assert bytes.fromhex(values) == compiled(*EXAMPLE)[0]["y"].numpy().tobytes()
    compiler = {"planner", "passes", "lowering", "frontend", "dialects"}
    assert not set(folders.split()) & compiler


def test_weights_are_passed(tmp_path: Path):
    path, module = tmp_path / "layers.tlf", Layers().eval()
    compiled = tlf.compile(module, EXAMPLE, target="npu")
    tlf.save(compiled, path, weights=False)
    kept = load_tensors(decode_archive(path.read_bytes())["weights.safetensors"])
    assert {*kept} == {"shift"}
    loaded = load_module(path, weights=module.state_dict())
    assert loaded(*EXAMPLE)[0]["y"].equal(compiled(*EXAMPLE)[0]["y"])
    other = Layers().eval()
    torch.nn.init.ones_(other.linear.weight)
    loaded = load_module(path, weights=other.state_dict())
    torch.testing.assert_close(loaded(*EXAMPLE)[0]["y"], other(*EXAMPLE)[0]["y"])

    with pytest.raises(
        tlf.LoadError, match=r"error: expected a weight `\S+`, got none"
    ):
        tlf.load(path)
    state = {name: tensor.double() for name, tensor in module.state_dict().items()}
    with pytest.raises(tlf.LoadError, match=r"expected float32 of shape .* float64 of"):
        tlf.load(path, weights=state)


@pytest.mark.parametrize("target", ["npu", "reference"])
def test_checks(target: str, tmp_path: Path):
    path = tmp_path / "gather.tlf"
    compiled = tlf.compile(GATHER, target=target, check_indices=True)
    tlf.save(compiled, path)
    loaded = load_program(path)
    x = RNG.random((4, 2), np.float32)
    indices = np.array([[3, 0], [0, 1], [1, 2]], np.int32)
    expected = np.take_along_axis(x, indices, 0)
    np.testing.assert_array_equal(loaded(x, indices), expected)
    with pytest.raises(CheckedValueError, match=r"<text>:3:3: error: .*, got 4"):
        loaded(x, indices + 1)


def test_constants_in_files(tmp_path: Path):
    """The file of a program has all that it needs."""
    np.savez(tmp_path / "side.npz", c=np.array([1, 2, -0.5], np.float32))
    side = f'file "{tmp_path / "side.npz"}" key "c"'
    text = MLP.replace("dense<[1.0, 2.0, -0.5]>", side)
    for target in TARGETS:
        compiled = tlf.compile(text, target=target)
        tlf.save(compiled, tmp_path / f"{target}.tlf")
    expected = compiled_mlp("reference")(X, W)
    (tmp_path / "side.npz").unlink()
    for target in TARGETS:
        loaded = load_program(tmp_path / f"{target}.tlf")
        np.testing.assert_allclose(loaded(X, W), expected, rtol=1e-5)


def test_program_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TLF_CACHE", "1")
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path / "cache"))
    cold, warm = (tlf.compile(MLP, target="npu") for _ in range(2))
    assert warm.is_cached
    for name, compiled in (("cold", cold), ("warm", warm)):
        tlf.save(compiled, tmp_path / name)
    assert (tmp_path / "cold").read_bytes() == (tmp_path / "warm").read_bytes()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A program for an NPU in a file."""
    tlf.save(compiled_mlp("npu"), tmp_path / "mlp.tlf")
    return tmp_path / "mlp.tlf"


def change_record(path: Path, **changes: Any) -> None:
    """Change fields of the record in a file."""
    members = decode_archive(path.read_bytes())
    record = json.loads(members[RECORD]) | changes
    changed = {**members, RECORD: msgspec.json.encode(record)}
    path.write_bytes(encode_archive(changed))


def test_missing_file(tmp_path: Path):
    path = tmp_path / "absent.tlf"
    with pytest.raises(tlf.LoadError) as caught:
        tlf.load(path)
    assert str(caught.value) == f"{path}: error: cannot read: No such file or directory"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_file(saved: Path, share: float):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(tlf.LoadError, match="error: expected a compiled program, got"):
        tlf.load(saved)


def test_other_version(saved: Path):
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("manifest.json", '{"format": "tlf-program", "version": 9}')
    with pytest.raises(tlf.LoadError) as caught:
        tlf.load(saved)
    assert str(caught.value) == f"{saved}: error: expected format version 1, got 9"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backend": "tpu"}, "expected a program of npu or triton, got tpu"),
        ({"backend": "triton"}, "expected a member program.triton.py, got none"),
        ({"inputs": 3}, "expected a record of a program, got: Expected"),
    ],
)
def test_wrong_records(saved: Path, changes: dict[str, Any], message: str):
    change_record(saved, **changes)
    with pytest.raises(tlf.LoadError, match=f"mlp.tlf: error: {message}"):
        tlf.load(saved)


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("module.json", "expected a call of a module, got: "),
        ("checks.json", "expected checks of values, got: "),
    ],
)
def test_wrong_members(saved: Path, member: str, message: str):
    members = decode_archive(saved.read_bytes())
    saved.write_bytes(encode_archive({**members, member: b"[]"}))
    with pytest.raises(tlf.LoadError, match=f"mlp.tlf: error: {message}"):
        tlf.load(saved)


@pytest.mark.parametrize(
    ("found", "message"), [(None, "got none"), ((8, 0), "got one of 8.0")]
)
def test_missing_gpu(
    found: tuple[int, int] | None,
    message: str,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    change_record(saved, capability=[9, 0])
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: found is not None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: found)
    with pytest.raises(tlf.LoadError) as caught:
        tlf.load(saved)
    expected = f"{saved}: error: expected a GPU of compute capability 9.0, {message}"
    assert str(caught.value) == expected


def test_same_gpu(saved: Path, monkeypatch: pytest.MonkeyPatch):
    change_record(saved, capability=[9, 0])
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    assert isinstance(tlf.load(saved), CallableProgram)


def test_values_that_cannot_be_saved(tmp_path: Path):
    compiled = tlf.compile(torch.nn.ReLU(), (torch.ones(3),))
    compiled.call = replace(compiled.call, constants={1: 1j})
    with pytest.raises(TypeError, match=r"expected constants of .*, got complex"):
        tlf.save(compiled, tmp_path / "cast.tlf")
    wrong: Any = "text"
    with pytest.raises(TypeError, match=r"expected a result of `tlf.compile`, got str"):
        tlf.save(wrong, tmp_path / "text.tlf")
    assert list(tmp_path.iterdir()) == []


STRUCTURES: list[Any] = [
    (1,),
    ([1, (2, [])], {"b": 1, "a": {3: ()}}),
    OrderedDict(b=[1], a=None),
]


@pytest.mark.parametrize("tree", STRUCTURES)
def test_structures(tree: Any):
    spec = pytree.tree_structure(tree)
    saved = encode_structure(spec)
    text = msgspec.json.encode(saved)
    assert decode_structure(msgspec.json.decode(text, type=SavedStructure)) == spec


class Pair(NamedTuple):
    """A container of a user."""

    left: int
    right: int


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Pair(1, 2), "expected lists, tuples and dictionaries, got Pair"),
        (defaultdict(int, a=1), "expected lists, tuples and dictionaries, got default"),
        ({(1, 2): 3}, "expected keys that are texts or integers, got tuple"),
    ],
)
def test_containers_of_users(tree: Any, message: str):
    with pytest.raises(TypeError, match=message):
        encode_structure(pytree.tree_structure(tree))


def test_file_is_replaced_as_a_whole(saved: Path, monkeypatch: pytest.MonkeyPatch):
    before, write = saved.read_bytes(), Path.write_bytes

    def write_part(path: Path, data: bytes) -> int:
        write(path, data[:10])
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(Path, "write_bytes", write_part)
    with pytest.raises(OSError, match="no space left"):
        tlf.save(compiled_mlp("npu"), saved)
    with pytest.raises(FileNotFoundError):
        tlf.save(compiled_mlp("reference"), saved.parent / "absent" / "mlp.tlf")
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]
