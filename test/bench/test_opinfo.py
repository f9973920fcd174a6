"""The runner over PyTorch's database of operations, and how it compares."""

import os
import re
import time
from pathlib import Path

import opinfo
import opinfo_worker
import pytest
import torch
from opinfo_call import CallOutcome, check_call
from opinfo_compare import ResultComparison
from opinfo_samples import (
    Sample,
    SampleChoice,
    copy_tree,
    operations,
    samples_of,
    tolerance_of,
)
from opinfo_worker import SampleTask, run_samples

TENSOR = torch.arange(6.0).reshape(2, 3)


def difference(
    found: object,
    expected: object,
    exact: object = None,
    tolerance: tuple[float, float] = (1e-3, 1e-5),
) -> str | None:
    return ResultComparison(tolerance, lambda: exact).difference(found, expected)


@pytest.mark.parametrize(
    ("found", "expected", "text"),
    [
        (TENSOR, [TENSOR], "structure"),
        (TENSOR.double(), TENSOR, "dtype: expected torch.float32, got torch.float64"),
        (TENSOR[:1], TENSOR, "shape"),
        (TENSOR.T.contiguous().T, TENSOR, r"strides: expected \(3, 1\), got \(1, 2\)"),
        (TENSOR + 1, TENSOR, r"values: 6 of 6 differ, at \[0, 0\]: expected 0.0"),
        (1, 1.0, "type: expected float, got int"),
        (2, 1, "value: expected 1, got 2"),
        (TENSOR / TENSOR, TENSOR / TENSOR + 1, "values: 5 of 6 differ"),
        (TENSOR, torch.where(TENSOR == 3, torch.inf, TENSOR), "values: 1 of 6 differ"),
        (TENSOR, torch.where(TENSOR == 3, torch.nan, TENSOR), "values: 1 of 6 differ"),
        ((TENSOR, TENSOR), (TENSOR, -TENSOR), "result 1: values: 5 of 6 differ"),
    ],
)
def test_differences(found: object, expected: object, text: str):
    assert (line := difference(found, expected)) is not None
    assert re.match(text, line)
    assert difference(expected, expected) is None


def test_16_bit_results_may_be_nearer_than_those_of_torch():
    exact = torch.tensor([1.0, 2.0, 1e6]).double()
    expected = torch.tensor([1.1, 2.0, torch.nan], dtype=torch.float16)
    found = torch.tensor([1.0, 2.1, torch.inf], dtype=torch.float16)
    assert difference(found, expected, exact) is None
    assert difference(found + 1, expected, exact) is not None
    assert difference(found, expected) is not None


def test_errors_of_large_elements_allow_none_of_small_ones():
    exact = torch.tensor([1.0, 1e3, 1e6, -torch.inf, torch.nan]).double()
    expected = exact.float() + torch.tensor([0.01, 0, 1e4, 0, 0])
    for change, is_right in (
        ([0.015, 0.015, 1.9e4, 0, 0], True),
        ([0.1, 0, 0, 0, 0], False),
        ([0, 10, 0, 0, 0], False),
        ([0, 0, 3e4, 0, 0], False),
        ([0, 0, 0, -torch.inf, 0], False),
    ):
        found = exact.float() - torch.tensor(change)
        assert (difference(found, expected, exact) is None) == is_right


def test_copies_lie_and_share_memory_as_before():
    base = torch.arange(12.0)
    tree = (base[2:8].reshape(2, 3).T, base.expand(4, 12), 3)
    first, second, number = copy_tree(tree)
    assert (first.stride(), second.stride(), number) == ((1, 3), (0, 1), 3)
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    assert first.untyped_storage().data_ptr() != base.untyped_storage().data_ptr()
    assert torch.equal(first, tree[0])


def test_arguments_after_a_call_may_be_nearer_than_those_of_torch():
    """The mean 0.5 * 2.34375 - 0.5 * 2.1640625 is 0.08984375; PyTorch has 0.09375."""
    operation = operations()["native_batch_norm"]
    sample = samples_of(operation, torch.bfloat16, SampleChoice())[5]
    found = check_call(sample, operation, torch.bfloat16, "backend", "reference")
    assert found == CallOutcome("tlf")


def test_samples_are_the_same_each_time():
    operation = operations()["nn.functional.pad.constant"]
    for choice in (SampleChoice(3), SampleChoice(3, 1)):
        first, again = (samples_of(operation, torch.float32, choice) for _ in range(2))
        assert [str(each) for each in first] == [str(each) for each in again]
        assert len(first) == 3


def test_tolerances_are_those_of_the_database():
    assert tolerance_of(operations()["add"], torch.float32) == (1.3e-6, 1e-5)
    assert tolerance_of(operations()["add"], torch.float16)[0] >= 1e-3


def test_crashes_and_hangs_are_outcomes(monkeypatch: pytest.MonkeyPatch):
    def attempted(sample: Sample, *_: object) -> CallOutcome:
        if sample.index == 1:
            os._exit(3)
        if sample.index == 2:
            time.sleep(60)
        return CallOutcome("tlf")

    monkeypatch.setattr(opinfo_worker, "check_call", attempted)
    task = SampleTask("add", torch.float32, "backend", "reference", SampleChoice(4))
    found = [(place, each.status) for place, _, each in run_samples(task, 3.0)]
    assert found == [(0, "tlf"), (1, "crash"), (2, "hang"), (3, "tlf")]


def test_what_was_run_is_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(opinfo, "warm_up", lambda: None)

    def attempted(sample: Sample, *_: object) -> CallOutcome:
        return CallOutcome("wrong", f"strides: {sample.index}")

    monkeypatch.setattr(opinfo_worker, "check_call", attempted)
    out = ["--out", str(tmp_path / "out.jsonl"), "--samples", "2"]
    opinfo.report_records(opinfo.parse_arguments(["--only", "add", *out]))
    first = capsys.readouterr().out.splitlines()
    assert first[0].startswith("add f32 reference backend sample 0 (float32[")
    assert "0 of 1 operations right" in first[-1]
    assert "2 wrong" in first[-1]
    monkeypatch.delattr(opinfo_worker, "check_call")
    opinfo.report_records(opinfo.parse_arguments(["--only", "add", *out]))
    assert capsys.readouterr().out.splitlines() == first
