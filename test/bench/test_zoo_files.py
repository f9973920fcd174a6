"""`bench/zoo_files.py`: workloads as files."""

from pathlib import Path

import pytest
import zoo_files

from tlf.compiler.experiments.experiment_program import Program


def test_files_are_named_after_workloads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert zoo_files.main([str(tmp_path), "--only", "bottleneck-1x"]) == 0

    names = ["1x56", "1x224", "1x1024"]
    files = [tmp_path / f"bottleneck-{name}-f16.mlir" for name in names]
    assert capsys.readouterr().out.split() == [str(file) for file in files]
    assert all(Program(str(file)).read_module().body.block.ops for file in files)


def test_folders_that_cannot_be_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").touch()

    assert zoo_files.main([str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("zoo_files: error: ")
