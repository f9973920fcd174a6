"""`tlf.compile`: programs as functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import tlf
from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.source import SourceError

ADD = """
func.func @f(%x: tensor<5x7xf32>, %y: tensor<7xf32>) -> tensor<5x7xf32> {
  %sum = graph.add %x, %y : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %z = graph.relu %sum : tensor<5x7xf32>
  func.return %z : tensor<5x7xf32>
}
"""

RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal(s).astype(np.float32) for s in ((5, 7), (7,)))
EXPECTED = np.maximum(X + Y, 0)


@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_targets(target: str):
    compiled = tlf.compile(ADD, target=target)

    np.testing.assert_array_equal(compiled(X, Y), EXPECTED)
    np.testing.assert_array_equal(compiled(y=Y, x=X), EXPECTED)


@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_tensors_in_tensors_out(target: str):
    columns = torch.tensor(X.T.copy()).T

    found = tlf.compile(ADD, target=target)(columns, torch.tensor(Y))

    torch.testing.assert_close(found, torch.tensor(EXPECTED))


def test_file(tmp_path: Path):
    file = tmp_path / "add.mlir"
    file.write_text(ADD)

    np.testing.assert_array_equal(tlf.compile(file)(X, Y), EXPECTED)
    np.testing.assert_array_equal(tlf.compile(str(file))(X, Y), EXPECTED)


def test_stages():
    compiled = tlf.compile(ADD, target="npu")

    assert compiled.stages[0] == "input"
    assert "graph.add" in compiled.ir()
    assert "graph.group" in compiled.ir("graph-group")
    assert "npu.vector" in compiled.ir("convert-mem-to-npu")
    assert "vector add" in compiled.ir("program.npu")
    with pytest.raises(KeyError, match="expected a stage among input, "):
        compiled.ir("absent")
    np.testing.assert_array_equal(compiled(X, Y), EXPECTED)


def test_statistics():
    compiled = tlf.compile(ADD, target="npu")

    assert set(compiled.stats) == {"compile_seconds"}
    compiled(X, Y)
    assert compiled.stats["cycles"] > 0
    assert compiled.stats["L3.read"] == X.nbytes + Y.nbytes
    assert compiled.stats["L3.written"] == EXPECTED.nbytes


def test_explanation():
    assert "group 0: add, relu" in tlf.compile(ADD, target="npu").explain()
    assert "each operation by itself" in tlf.compile(ADD).explain()


def test_explanation_tells_of_groups_near_the_engines():
    lines = tlf.compile(ADD, target="npu").explain().splitlines()

    assert "in L1: graph-group: passed: %z: run together: add, relu" in lines
    assert not any(line.startswith("graph-group") for line in lines)


def test_several_results():
    types = "tensor<5x7xf32>, tensor<5x7xf32>"
    text = ADD.replace("-> tensor<5x7xf32> {", f"-> ({types}) {{")
    text = text.replace("return %z : tensor<5x7xf32>", f"return %z, %sum : {types}")

    first, second = tlf.compile(text, target="npu")(X, Y)

    np.testing.assert_array_equal(first, EXPECTED)
    np.testing.assert_array_equal(second, X + Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X,), "expected arguments x, y, got 0"),
        ((X, Y, Y), "expected arguments x, y, got 0, 1, 2"),
        ((Y, X), r"argument `x`: expected shape \(5, 7\), got \(7,\)"),
        ((X.astype(np.float64), Y), "argument `x`: expected float32, got float64"),
        (
            (X, torch.tensor(Y).half()),
            "argument `y`: expected float32, got",
        ),
    ],
)
@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
def test_wrong_arguments(arguments: tuple[object, ...], message: str, target: str):
    compiled = tlf.compile(ADD, target=target)

    with pytest.raises(TypeError, match=message):
        compiled(*arguments)


def test_wrong_programs(tmp_path: Path):
    with pytest.raises(CompileError, match=r"<text>:3:3: error: "):
        tlf.compile(ADD.replace("graph.add", "graph.ad"))
    with pytest.raises(SourceError):
        tlf.compile(tmp_path / "absent.mlir")
    with pytest.raises(TypeError, match="expected a program or a module of PyTorch"):
        tlf.compile(getattr(np, "float32")(1))
