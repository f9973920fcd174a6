"""The figures of the memory planner."""

import sys
from pathlib import Path

import allocation_quality
import pytest
from placement_problems import perfect_packing


def test_figures_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    lines = ["id,lower,upper,size,alignment"]
    for number, buffer in enumerate(perfect_packing(2, 30)):
        (span,) = buffer.spans
        lines.append(f"{number},{span.start},{span.end},{buffer.size},256")
    (tmp_path / "cut.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(
        sys, "argv", ["placement", str(tmp_path), "--capacity", "16384"]
    )
    allocation_quality.main()

    *_, row = capsys.readouterr().out.splitlines()
    cells = [each.strip() for each in row.split("|")[1:-1]]
    assert cells[:3] == ["cut", "30", "16,384"]
    assert cells[4:7] == ["16,384", "1.000", "yes"]
