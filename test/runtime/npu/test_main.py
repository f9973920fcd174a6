"""Running a program from files."""

import json
from pathlib import Path

import numpy as np
import pytest

from tlf.runtime.npu.__main__ import main
from tlf.runtime.npu.dtypes import DTYPES

CODE = """\
.input x L1 0 bf16 5
.output y L1 64 bf16 5
.code
vector add dst=L1[64](2):bf16 a=L1[0](2):bf16 b=#1.0 shape=(5)
halt
"""


def test_run(machine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "p.npu").write_text(machine + CODE)
    x = np.arange(5).astype(DTYPES["bf16"])
    np.save(tmp_path / "x.npy", x)
    arguments = [str(tmp_path / "p.npu"), "--input", f"x={tmp_path / 'x.npy'}"]
    arguments += ["--output", f"y={tmp_path / 'y.npy'}"]
    assert main([*arguments, "--trace", str(tmp_path / "t.json")]) == 0
    y = np.load(tmp_path / "y.npy").view(DTYPES["bf16"])
    assert y.astype(np.float64).tolist() == [1, 2, 3, 4, 5]
    assert "5 cycles" in capsys.readouterr().out
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert events[-1]["name"] == "vector add"


def test_time_only(machine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "p.npu").write_text(machine + CODE)
    assert main([str(tmp_path / "p.npu"), "--timing"]) == 0
    assert "5 cycles" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        ("oops", [], "expected a directive, got `oops`"),
        (CODE, [], "expected an array for input `x`, got none"),
        (CODE, ["--input", "x"], "expected NAME=FILE.npy, got `x`"),
        (
            CODE,
            ["--input", "x=none.npy"],
            "error: cannot read `none.npy`",
        ),
        (".code\nhalt", ["--output", "z=z.npy"], "the program has no output `z`"),
    ],
)
def test_errors(
    machine: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    code: str,
    arguments: list[str],
    message: str,
):
    (tmp_path / "p.npu").write_text(machine + code + "\n")
    assert main([str(tmp_path / "p.npu"), *arguments]) == 1
    assert message in capsys.readouterr().err
