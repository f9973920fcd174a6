"""Sizes at which problems of KernelBench run."""

from pathlib import Path

import kernelbench_problem
import pytest

PROBLEM = """
import torch

size = 64
batch_size = 8

class Model(torch.nn.Linear):
    pass

def get_inputs():
    return [torch.rand(batch_size, size)]

def get_init_inputs():
    return [size, size]
"""


@pytest.mark.parametrize(
    ("most", "full_size", "expected"),
    [
        (64 * 65, False, ((2, 64), "batch of 2")),
        (64 * 65 - 1, False, ((8, 32), "all numbers up to 32")),
        (64 * 65 - 1, True, ((8, 64), "full size")),
    ],
)
def test_networks_keep_their_size_up_to_a_number_of_parameters(
    most: int,
    full_size: bool,
    expected: tuple[tuple[int, int], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(kernelbench_problem, "MOST_PARAMETERS", most)
    file = tmp_path / "level3" / "2_Linear.py"
    file.parent.mkdir()
    file.write_text(PROBLEM, encoding="utf-8")
    problem = next(kernelbench_problem.candidate_problems(file, full_size))
    assert (tuple(problem.inputs[0].shape), problem.rule) == expected
