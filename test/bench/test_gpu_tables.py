"""Pages tell of GPUs what the record of the gate does."""

import gpu_tables
import pytest
from gpu_gate_record import find_faults, read_record


def test_pages_have_the_figures_of_the_record() -> None:
    record = read_record(gpu_tables.RECORD)
    found = list(gpu_tables.pages_with_tables())
    assert {path.name for path in found} == {"performance.md", "triton.md"}
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert gpu_tables.rewrite_page(text, record) == text, path.name


def test_the_record_has_no_wrong_row() -> None:
    for card in read_record(gpu_tables.RECORD)["cards"].values():
        for name, row in card["rows"].items():
            assert not list(find_faults(row)), name


def test_means_of_ratios() -> None:
    slow = {"eager graph us": 8.0, "sdpa graph us": 4.0, "tlf graph us": 8.0}
    fast = {"eager graph us": 8.0, "tlf graph us": 1.0}
    ratios = [gpu_tables.ratio_to_peers(row, "graph") for row in (slow, fast)]
    assert ratios == [0.5, 8.0]
    assert gpu_tables.geometric_mean(ratios) == pytest.approx(2.0)
