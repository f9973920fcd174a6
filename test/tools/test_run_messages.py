"""Messages of `tlf-run` on programs and descriptions that users write by hand."""

from pathlib import Path

import pytest

from tlf.tools.tlf_run import main

CHIP = """
[[levels]]
name = "L1"
kind = "buffer"
capacity = 65536
bandwidth = 1024
latency = 0
burst = 1
alignment = 3
"""

BUFFERS = """func.func @f(%x: memref<4xf32, "L3">) {
  %zero = arith.constant 0.0 : f32
  mem.fill 0.0 into %x : memref<4xf32, "L3">
  func.return
}"""

DECLARED = """func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""

RECURSIVE = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""

FORM = """func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}"""

PLAIN = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chip.toml").write_text(CHIP, encoding="utf-8")


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        (
            BUFFERS,
            "--check",
            "tlf-run: error: expected results for `--check`, got none",
        ),
        (FORM, "", "f.mlir:2:3: error: expected `linalg.matmul` in a form that can be"),
        (
            DECLARED,
            "",
            "f.mlir:3:3: error: func.call: expected a function with a body of one "
            "block, which `tlf-inline` inlines",
        ),
        (
            RECURSIVE,
            "--entry f",
            "f.mlir:2:3: error: func.call: expected calls that come to an end, got a "
            "function that calls itself, @f",
        ),
        (
            RECURSIVE,
            "--entry f --target reference",
            "f.mlir:1:1: error: expected calls that come to an end, got a function ",
        ),
        (
            PLAIN,
            "--target chip.toml",
            "chip.toml:2:1: error: expected at least 2 levels, ",
        ),
        (
            PLAIN,
            "--target chip.toml:L1=64K",
            "chip.toml:2:1: error: expected at least 2 levels, ",
        ),
        (
            PLAIN,
            "--target h200:cores=2",
            "tlf-run: error: target `h200:cores=2`: expec",
        ),
    ],
)
def test_messages(
    program: str, options: str, message: str, capsys: pytest.CaptureFixture[str]
):
    Path("f.mlir").write_text(program, encoding="utf-8")
    with pytest.raises(SystemExit) as exit_:
        main(["f.mlir", *options.split()])
    said = capsys.readouterr()
    assert (exit_.value.code, said.out) == (1, "")
    assert said.err.count("\n") == 1
    assert said.err.startswith(message)


def test_buffers_without_results():
    Path("f.mlir").write_text(BUFFERS, encoding="utf-8")
    main(["f.mlir", "--target", "reference"])
