"""Passes on whole tensors: effort grows with the program, not with its square."""

from __future__ import annotations

import sys

import pytest
from scaling_programs import PROGRAMS

from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.lowering.pipelines import PIPELINES


def count_calls(name: str, operations: int, passes: str) -> int:
    """Return how many Python functions `passes` call on a program."""
    context = new_context()
    module = parse_module(context, Source(PROGRAMS[name](operations).text, "x.mlir"))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    for each in build_passes(passes, PASSES, PIPELINES):
        sys.setprofile(count)
        try:
            each.apply(context, module)
        finally:
            sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("scales", "graph-hoist-scales"),
        ("layers", "graph-merge-matmuls"),
        ("chain", "graph-fold-transposes"),
    ],
)
def test_calls_for_each_operation_stay_the_same(name: str, passes: str):
    few, many = (count_calls(name, size, passes) for size in (60, 240))

    assert 0 < many <= 4.6 * few
