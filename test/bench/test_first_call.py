"""Times of first calls, in processes of their own."""

import math
from pathlib import Path

import first_call
import pytest

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.rand(4)]

def get_init_inputs():
    return []
"""


def test_geometric_mean():
    assert first_call.geometric_mean([1.0, 4.0, math.nan]) == pytest.approx(2.0)
    assert math.isnan(first_call.geometric_mean([math.nan]))


def test_summary_ignores_failures():
    summary = first_call.summarize([3.0, math.nan, 1.0], [4.0, 1.0])
    assert summary == (
        "median 2.00 s, longest 3.00 s; geometric mean of the ratios: 2.00"
    )
    assert first_call.summarize([math.nan], []) == "none was measured"


@pytest.mark.long
def test_problems_of_a_checkout(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    (folder / "2_Double.py").write_text(PROBLEM, encoding="utf-8")
    (folder / "3_Other.py").write_text("", encoding="utf-8")
    arguments = ["--target", "reference", "--kernelbench", str(tmp_path), "--cold"]
    first_call.main(arguments)
    header, row, summary = capsys.readouterr().out.splitlines()
    assert header.split() == ["network", "cold"]
    name, cold = row.split()
    assert name == "KernelBench/level1/2_Double.py"
    assert float(cold) > 0
    assert summary.startswith("median ")


@pytest.mark.long
def test_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLF_CACHE", "1")
    arguments = ["--size", "tiny", "--target", "reference", "--only", "mixer block"]
    first_call.main(arguments)
    header, row, _ = capsys.readouterr().out.splitlines()
    assert header.split() == ["network", "cold", "warm"]
    name, cold, warm = row.rsplit(maxsplit=2)
    assert name == "mixer block"
    assert float(cold) > 0
    assert float(warm) > 0


@pytest.mark.parametrize(
    "options", [["--cold"], pytest.param([], marks=pytest.mark.long)]
)
def test_failures_are_no_number(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first_call.main(
        ["--size", "tiny", "--target", "absent", "--only", "mixer block", *options]
    )
    out, err = capsys.readouterr()
    columns = 1 if options else 2
    assert out.splitlines()[1].split()[-columns:] == ["nan"] * columns
    assert err.startswith("mixer block: ")
