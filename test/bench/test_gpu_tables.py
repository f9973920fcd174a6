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


def test_problems_with_default_switches_take_their_own_rows() -> None:
    def row(ratio: float, **more: object) -> dict[str, object]:
        times = {"eager graph us": 8 * ratio, "tlf graph us": 8.0}
        return {**times, "ratio": ratio, "tlf error": 0.0, "eager error": 0.0, **more}

    rows = {
        "kernelbench level 1 2_Conv": row(0.5),
        "kernelbench level 1 2_Conv tf32": row(8.0),
        "kernelbench level 1 4_Matmul": row(2.0),
        "kernelbench level 2 6_Matmul": row(4.0, **{gpu_tables.MARK: "abc"}),
        "kernelbench level 2 7_Dropout": row(0.1, **{"left to PyTorch": ["rand"]}),
        "kernelbench level 2 8_Failed": {},
    }
    _, *found = gpu_tables.problem_mean_rows(rows)
    assert found == [
        ("1", "tf32 off", "2", "1.00", "1"),
        ("1", "default", "2", "4.00", "0"),
        ("2", "tf32 off", "1", "4.00", "0"),
        ("2", "default", "1", "4.00", "0"),
    ]
    _, *slowest = gpu_tables.slowest_problem_rows(rows)
    assert [each[0] for each in slowest] == [
        "level 2 7_Dropout",
        "level 1 2_Conv",
        "level 1 4_Matmul",
        "level 2 6_Matmul (at abc)",
        "level 1 2_Conv tf32",
    ]


def test_means_of_ratios() -> None:
    slow = {"eager graph us": 8.0, "sdpa graph us": 4.0, "tlf graph us": 8.0}
    fast = {"eager graph us": 8.0, "tlf graph us": 1.0}
    ratios = [gpu_tables.ratio_to_peers(row, "graph") for row in (slow, fast)]
    assert ratios == [0.5, 8.0]
    assert gpu_tables.geometric_mean(ratios) == pytest.approx(2.0)


def test_a_record_without_problems_has_empty_tables() -> None:
    about: dict[str, object] = {
        "rows": {},
        "commit": "abc",
        "torch": "2.11",
        "triton": "3.6",
    }
    text = gpu_tables.render_table("kernelbench slowest", {"cards": {"GPU": about}})
    assert "at abc:" in text
    assert text.count("|\n") == 2  # the header and its rule
