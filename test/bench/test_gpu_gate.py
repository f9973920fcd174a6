"""The gate for GPUs finds what is wrong, failed or slower, and goes on where it was."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gpu_gate
import gpu_gate_record as record
import pytest
from gpu_gate_rows import CORE, FULL, gate_rows

GOOD: Mapping[str, Any] = {
    "tlf error": 3e-3,
    "tlf error again": 3e-3,
    "eager error": 2e-3,
    "left to PyTorch": [],
    "ratio": 1.0,
    "tlf first s": 2,
    "inductor first s": 1,
    "tlf memory MB": 100.0,
    "eager memory MB": 120.0,
    "spills": 0,
    "shared": 0,
}

WORKER = """
import json, sys, time
name = sys.argv[1]
if name == "dies":
    sys.exit(3)
if name == "hangs":
    time.sleep(60)
if name == "fails":
    print(json.dumps({"failed": "no such operation"}))
    sys.exit()
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(ROW))
"""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"ratio": 0.96}, []),
        ({"ratio": 0.94}, ["ratio to the best peer 0.94, where it was 1.00"]),
        ({"ratio": None}, ["no ratio to the best peer, where it was 1.00"]),
        ({"tlf error": 0.1}, ["tlf error 1.0e-01, PyTorch's 2.0e-03"]),
        ({"tlf error": float("nan")}, ["tlf error nan, PyTorch's 2.0e-03"]),
        (
            {"eager error": 1e-7, "switches": "default"},
            [
                "tlf error 3.0e-03, PyTorch's 1.0e-07",
                "tlf error again 3.0e-03, PyTorch's 1.0e-07",
            ],
        ),
        (
            {
                "tlf error": 4e-4,
                "tlf error again": 4e-4,
                "eager error": 1e-7,
                "switches": "default",
            },
            [],
        ),
        ({"tlf error again": 1.0}, ["tlf error again 1.0e+00, PyTorch's 2.0e-03"]),
        ({"left to PyTorch": ["f", "g"]}, ["left to PyTorch: g"]),
        ({"tlf memory MB": 105.0}, []),
        ({"tlf memory MB": 107.0}, ["peak memory 107 MB, where it was 100 MB"]),
        ({"failed": "KernelError"}, ["failed: KernelError"]),
    ],
)
def test_what_is_a_fault(changes: Mapping[str, Any], said: list[str]) -> None:
    row = {**GOOD, **changes}
    before = {"a": {**GOOD, "left to PyTorch": ["f"]}} if "failed" not in row else {}
    assert record.compare_rows({"a": row}, before) == [f"a: {each}" for each in said]


def test_rows_without_a_record_are_compared_with_none() -> None:
    assert record.compare_rows({"a": {**GOOD, "ratio": 0.1}}, {}) == []


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> gpu_gate.GateOptions:
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER.replace("ROW", repr(dict(GOOD))))
    monkeypatch.setattr(gpu_gate, "WORKER", worker)
    monkeypatch.setattr(gpu_gate, "ROW_SECONDS", 2)
    found = gpu_gate.parse_arguments(["--jobs", "2", "--minutes", "5"])
    found.state = tmp_path / "state.json"
    return found


def test_rows_are_run_whatever_becomes_of_others(options: gpu_gate.GateOptions) -> None:
    found: dict[str, Any] = {}
    assert gpu_gate.run_rows(["good", "fails", "dies", "hangs", "last"], options, found)
    assert found["good"] == found["last"] == GOOD
    assert found["fails"] == {"failed": "no such operation"}
    assert found["dies"] == {"failed": "ended with status 3"}
    assert found["hangs"] == {"failed": "not compiled in 2 s"}
    assert options.state is not None
    assert record.read_record(options.state)["rows"] == found


def test_nothing_is_started_when_the_time_is_over(
    options: gpu_gate.GateOptions,
) -> None:
    options.minutes = 0.5
    found: dict[str, Any] = {}
    assert not gpu_gate.run_rows(["good"], options, found)
    assert not found


def test_rows_that_the_end_cuts_off_are_left_to_the_next_run(
    options: gpu_gate.GateOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_gate, "ROW_SECONDS", 100)
    monkeypatch.setattr(gpu_gate, "COMPILE_SHARE", 0.02)
    options.minutes = 2
    found: dict[str, Any] = {}
    assert not gpu_gate.run_rows(["hangs", "good"], options, found)
    assert found == {"good": GOOD}
    assert options.state is not None
    assert record.read_record(options.state)["rows"] == found


def test_a_record_keeps_cards_and_rows_apart(
    tmp_path: Path, options: gpu_gate.GateOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "records" / "gpu.json"
    for card, name, ratio in (("A", "x", 1.0), ("B", "x", 2.0), ("A", "y", 3.0)):
        monkeypatch.setattr(gpu_gate, "__file__", "")

        def run(
            names: object, options: object, found: dict[str, Any],
            name: str = name, ratio: float = ratio,
        ) -> bool:  # fmt: skip
            found[name] = {**GOOD, "ratio": ratio}
            return True

        def described(commit: str, card: str = card) -> tuple[str, dict[str, Any]]:
            return card, {"commit": commit}

        monkeypatch.setattr(gpu_gate, "run_rows", run)
        monkeypatch.setattr(gpu_gate, "describe_run", described)
        monkeypatch.setattr(gpu_gate, "lacks_gpu", bool)
        assert gpu_gate.main(["--record", str(path), "--commit", f"of {card}"]) == 0
    cards = json.loads(path.read_text())["cards"]
    assert {name: row["ratio"] for name, row in cards["A"]["rows"].items()} == {
        "x": 1.0,
        "y": 3.0,
    }
    assert cards["B"]["rows"]["x"]["ratio"] == 2.0
    assert cards["B"]["rows"]["x"]["commit"] == "of B"


@pytest.mark.parametrize(("ratio", "status"), [(0.96, 0), (0.94, 1)])
def test_a_slower_row_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratio: float, status: int
) -> None:
    def run(names: object, options: object, found: dict[str, Any]) -> bool:
        found["x"] = {**GOOD, "ratio": ratio}
        return True

    def described(commit: str) -> tuple[str, dict[str, str]]:
        return "A", {"commit": commit}

    def has_gpu(file: str) -> bool:
        return False

    path = tmp_path / "gpu.json"
    row = {"x": {**GOOD, "commit": "a"}}
    record.write_record(path, {"commit": "a", "cards": {"A": {"rows": row}}})
    monkeypatch.setattr(gpu_gate, "run_rows", run)
    monkeypatch.setattr(gpu_gate, "describe_run", described)
    monkeypatch.setattr(gpu_gate, "lacks_gpu", has_gpu)
    assert gpu_gate.main(["--against", str(path)]) == status


def test_rows_have_names_of_their_own_and_seeds_draw_sizes() -> None:
    names = [row.name for row in gate_rows(0)]
    assert len(names) == len(set(names))
    assert {row.name for row in gate_rows(1)} != set(names)
    core = [row.name for row in gate_rows(0) if row.tier == CORE]
    assert core == [row.name for row in gate_rows(1) if row.tier == CORE]


def test_attentions_of_the_core_tier_also_run_with_relaxed_numerics() -> None:
    rows = {row.name: row for row in gate_rows(0) if row.tier == CORE}
    for name in (
        "attention 4x16x4096x64",
        "causal attention by positions 4x16x4096x128",
    ):
        relaxed = rows[f"{name} relaxed"]
        assert relaxed.numerics == "relaxed"
        assert relaxed.make is rows[name].make


def test_problems_of_a_checkout_are_rows_of_the_full_tier(tmp_path: Path) -> None:
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    source = "import torch; get_inputs = lambda: [torch.ones(2)]; "
    source += "Model = torch.nn.ReLU; get_init_inputs = lambda: []"
    for name in ("1_odd", "2_relu"):
        (folder / f"{name}.py").write_text(source)
    added = {row.name: row for row in gate_rows(0, tmp_path)}
    for row in gate_rows(0):
        del added[row.name]
    assert {name: row.tier for name, row in added.items()} == {
        "kernelbench level 1 2_relu": FULL
    }
    (row,) = added.values()
    assert row.make is not None
    work = row.make("cpu")
    assert work.function(*work.arguments).tolist() == [1, 1]


def test_convolutions_of_f32_also_run_with_the_default_switches(tmp_path: Path) -> None:
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    for name, layer in (("2_relu", "nn.ReLU()"), ("4_conv", "nn.Conv2d(1, 1, 1)")):
        (folder / f"{name}.py").write_text(f"import torch.nn as nn; Model = {layer}")
    rows = {row.name: row for row in gate_rows(0, tmp_path)}
    for name, is_core in (
        ("kernelbench level 1 4_conv", False),
        ("resnet-18 f32", True),
        ("u-net f32", False),
    ):
        row = rows[f"{name} tf32"]
        assert row.has_default_switches
        assert not rows[name].has_default_switches
        assert row.tier == rows[name].tier == (CORE if is_core else FULL)
        assert row.make is rows[name].make
    for name in ("kernelbench level 1 2_relu", "resnet-18 bf16", "bert f32"):
        assert name in rows
        assert f"{name} tf32" not in rows


def test_rows_of_gigabytes_are_compiled_with_few_others() -> None:
    large = [f"kernelbench level 1 {at}" for at in range(7)]
    parts = list(gpu_gate.split_batches([*large, "gelu", "softmax"]))
    assert parts == [["gelu", "softmax"], large[:6], large[6:]]


def test_rows_are_selected_by_parts_of_their_names() -> None:
    arguments = ["--only", "layer norm", "--only", "softmax bf16"]
    names = gpu_gate.select_rows(gpu_gate.parse_arguments(arguments))
    assert set(names) == {"add + layer norm bf16", "layer norm bf16", "softmax bf16"}
    every = gpu_gate.select_rows(gpu_gate.parse_arguments([]))
    assert set(names) < set(every)
