"""Pages whose tables are printed again."""

from pathlib import Path

import pytest
from rerun_tables import main, rewrite_page

PAGE = """# Figures

    python bench/zoo_files.py build/zoo
    cd build/zoo

    tlf-bench targets a.mlir \\
        b.mlir

     program  cycles
     a            10
    a note

Text.

    tlf-run a.mlir

More text, and

    tlf-bench sweep a.mlir

     old
"""


def test_replaces_what_commands_printed():
    asked: list[str] = []

    def run(command: str) -> str:
        asked.append(command)
        return " program  cycles\n a             9\n\n"

    made = rewrite_page(PAGE, run, "targets")

    assert asked == ["tlf-bench targets a.mlir b.mlir"]
    old = "     program  cycles\n     a            10\n    a note\n"
    assert made == PAGE.replace(old, "     program  cycles\n     a             9\n")


def test_keeps_what_stood_there_where_nothing_is_printed():
    asked: list[str] = []

    def run(command: str) -> str:
        asked.append(command)
        return ""

    assert rewrite_page(PAGE, run) == PAGE
    assert asked == ["tlf-bench sweep a.mlir", "tlf-bench targets a.mlir b.mlir"]


def test_runs_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page = tmp_path / "page.md"
    page.write_text("    tlf-opt --help\n\n    old\n", encoding="utf-8")

    main([str(page), "--folder", str(tmp_path)])

    assert capsys.readouterr().out == "tlf-opt --help\n"
    made = page.read_text(encoding="utf-8")
    assert made.startswith("    tlf-opt --help\n\n    usage: tlf-opt")
    assert "old" not in made
