"""`tlf-import`: a program and its weights from a function, or from a saved program."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch
from torch_check import assert_close

import tlf
from tlf.tools.tlf_import import main
from tlf.tools.tlf_run import main as run

FACTORY = """
import torch

def make(dtype=torch.float32):
    torch.manual_seed(0)
    block = torch.nn.Sequential(
        torch.nn.Linear(12, 7), torch.nn.GELU(), torch.nn.LayerNorm(7)
    )
    return block.eval().to(dtype), (torch.randn(5, 12).to(dtype),)

def half():
    return make(torch.bfloat16)

def unknown():
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.svd(x)[1]

    return torch.nn.Sequential(torch.nn.Linear(3, 3), Module()), (torch.randn(3, 3),)

def unsigned():
    return torch.nn.Flatten(), (torch.zeros(2, 3, dtype=torch.uint8),)

def misfit():
    return torch.nn.Linear(3, 4), (torch.zeros(2, 5),)

def masked():
    class Module(torch.nn.Module):
        def forward(self, x):
            later = torch.ones(5, 5, dtype=torch.bool).triu(1)
            return x.masked_fill(later, float("-inf")).softmax(-1)

    return Module(), (torch.linspace(-2, 2, 25).reshape(5, 5),)

def depends():
    class Module(torch.nn.Module):
        def forward(self, x):
            return x[x > 0]

    return Module(), (torch.randn(5),)

def fails():
    raise RuntimeError("no weights today")

def alone():
    return torch.nn.ReLU()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with the factories of this file."""
    (tmp_path / "factories.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sys.modules.pop("factories", None)
    return tmp_path


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 1
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert not [*Path().glob("*.safetensors*"), *Path().glob(".*")]
    return line.removeprefix("tlf-import: error: ")


@pytest.mark.parametrize("name", ["make", "half"])
def test_program_computes_what_the_module_does(name: str, folder: Path):
    main([f"factories:{name}", "-o", "block.mlir"])
    module, inputs = getattr(importlib.import_module("factories"), name)()

    compiled = tlf.compile(folder / "block.mlir")

    assert {file.name for file in folder.glob("block.*")} == {
        "block.mlir",
        "block.safetensors",
    }
    with torch.no_grad():
        assert_close(
            compiled(*inputs), module(*inputs), 2e-2 if name == "half" else 1e-5
        )


@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_program_runs_by_itself(target: str, capsys: pytest.CaptureFixture[str]):
    main(["factories:make", "-o", "block.mlir"])

    run(["block.mlir", "--target", target, "--check"])

    assert ": ok" in capsys.readouterr().out


def test_text_names_parts_of_the_module():
    main(["factories:make", "-o", "block.mlir"])

    text = Path("block.mlir").read_text()

    assert 'file "block.safetensors" key "0.weight" : tensor<7x12xf32>' in text
    assert '(tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32> loc("0")' in text
    assert 'loc("2")' in text


def test_weights_as_arguments(folder: Path):
    files = ["-o", "block.mlir", "--weights", "w.safetensors"]
    main(["factories:make", "--arguments", *files])
    module, inputs = importlib.import_module("factories").make()

    compiled = tlf.compile("block.mlir")

    assert (folder / "w.safetensors").exists()
    with torch.no_grad():
        weights = module.state_dict().values()
        assert_close(compiled(*weights, *inputs), module(*inputs), 1e-5)


def test_saved_program():
    module, inputs = importlib.import_module("factories").make()
    torch.export.save(torch.export.export(module, inputs), "block.pt2")
    main(["block.pt2", "-o", "block.mlir"])

    with torch.no_grad():
        assert_close(tlf.compile("block.mlir")(*inputs), module(*inputs), 1e-5)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("factories:unknown", "1: no conversion of aten._linalg_svd.default"),
        ("factories:unsigned", "argument `input`: expected a dtype among float64, "),
        ("factories:misfit", "torch.export: "),
        ("factories:fails", "factories:fails: RuntimeError: no weights today"),
        ("factories:alone", "factories:alone: expected a module and a tuple of its in"),
        ("factories:absent", "expected a function `absent` in `factories`, got none"),
        ("absent:make", "cannot import `absent`: No module named 'absent'"),
        ("absent", "expected `package.module:name` or a `.pt2`, got absent"),
        (
            "factories:depends",
            "aten.index.Tensor: expected a shape that does not depend on data",
        ),
        ("absent.pt2", "expected a file `absent.pt2`, got none"),
    ],
)
def test_failures(source: str, message: str, capsys: pytest.CaptureFixture[str]):
    assert failure(capsys, source, "-o", "x.mlir").startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "."], "expected a file to write to, got `.`"),
        (["-o", "x", "--weights", "x"], "expected two files, got `x` for both"),
    ],
)
def test_wrong_files(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert failure(capsys, "factories:make", *options) == message


@pytest.mark.parametrize("target", ["reference", "npu-tiny", "triton"])
def test_that_infinities_survive_text(target: str):
    main(["factories:masked", "-o", "masked.mlir"])
    module, (x,) = importlib.import_module("factories").masked()

    found = tlf.compile("masked.mlir", target=target)(x)

    torch.testing.assert_close(found, module(x))


def test_truncated_program(capsys: pytest.CaptureFixture[str]):
    module, inputs = importlib.import_module("factories").make()
    torch.export.save(torch.export.export(module, inputs), "block.pt2")
    whole = Path("block.pt2").read_bytes()
    Path("block.pt2").write_bytes(whole[: len(whole) // 2])

    line = failure(capsys, "block.pt2", "-o", "x.mlir")

    assert line.startswith("expected a program of torch.export in `block.pt2`, got: ")


def test_folder_that_is_not_there(capsys: pytest.CaptureFixture[str]):
    line = failure(capsys, "factories:make", "-o", "absent/x.mlir")

    assert line == "absent/x.mlir: No such file or directory"


def test_weights_that_are_missing(capsys: pytest.CaptureFixture[str]):
    main(["factories:make", "-o", "block.mlir"])
    Path("block.safetensors").unlink()

    with pytest.raises(SystemExit):
        run(["block.mlir", "--target", "npu"])

    (line,) = capsys.readouterr().err.splitlines()
    assert "error: expected an archive of arrays in `block.safetensors`, got: " in line
