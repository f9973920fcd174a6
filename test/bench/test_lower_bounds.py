"""The table of `bench/lower_bounds.py`."""

from pathlib import Path

import lower_bounds
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_prints_a_line_for_each_size(capsys: pytest.CaptureFixture[str]):
    assert lower_bounds.main(["--only", "bottleneck 1x"]) == 0

    title, header, *lines = capsys.readouterr().out.splitlines()
    assert title == "npu, f16: ridge at 64 MAC/B, 1 GHz"
    assert header.split()[:3] == ["workload", "MB", "bus"]
    assert [line.split()[1:3] for line in lines] == [
        ["1x56", "3.35"],
        ["1x224", "51.52"],
        ["1x1024", "1,073.88"],
    ]
    page = (DOCS / "npu-bounds.md").read_text(encoding="utf-8")
    assert all(f"    {line}\n" in page for line in (title, header, *lines))


@pytest.mark.parametrize("dtype", ["f16", "i8"])
def test_every_workload_with_the_type_has_a_row(dtype: str):
    titles = [row.title for row in lower_bounds.ROWS]

    assert len(set(titles)) == len(titles)
    assert {row.name for row in lower_bounds.ROWS} == set(lower_bounds.WORKLOADS)
    assert any(
        dtype in lower_bounds.WORKLOADS[row.name].dtypes for row in lower_bounds.ROWS
    )


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str]):
    assert lower_bounds.main(["--target", "nothing"]) == 1

    assert capsys.readouterr().err.startswith("bounds: error: expected a target (")
