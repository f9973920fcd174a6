"""Passes on whole tensors: effort grows with the program, not with its square."""

import pytest
from call_counts import count_calls
from scaling_programs import PROGRAMS


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("scales", "graph-hoist-scales"),
        ("layers", "graph-merge-matmuls"),
        ("chain", "graph-fold-transposes"),
    ],
)
def test_calls_for_each_operation_stay_the_same(name: str, passes: str):
    few, many = (count_calls(PROGRAMS[name](size).text, passes) for size in (60, 240))

    assert 0 < many <= 4.6 * few
