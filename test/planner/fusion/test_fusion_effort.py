"""Grouping of long chains: effort for each operation does not grow with the chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from scaling_programs import PROGRAMS
from xdsl.ir import SSAValue

from tlf.analysis.recurrence import cascade
from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES
from tlf.planner.fusion import producer_closure


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """Return a list that grows with each call of a function."""
    calls: list[None] = []
    original: Callable[..., Any] = getattr(owner, name)

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(None)
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, counted)
    return calls


def group(operations: int) -> None:
    context = new_context()
    text = PROGRAMS["layers"](operations).text
    module = parse_module(context, Source(text, "layers.mlir"))
    load_target_spec("npu").attach_to_module(module)
    for each in build_passes("graph-group{level=L1}", PASSES, PIPELINES):
        each.apply(context, module)


def test_cascades_are_found_once_for_each_structure(monkeypatch: pytest.MonkeyPatch):
    calls = count_calls(monkeypatch, cascade, "build_valid_cascade")
    group(64)
    few = len(calls)
    group(128)

    assert 0 < len(calls) - few <= few + 2


def test_readers_are_visited_once_for_each_added_group(
    monkeypatch: pytest.MonkeyPatch,
):
    calls = count_calls(monkeypatch, producer_closure, "_readers_outside")
    group(128)

    assert 0 < len(calls) <= 25 * 32


def test_uses_of_shared_weights_are_not_scanned(monkeypatch: pytest.MonkeyPatch):
    """A weight has a use in each layer, so a scan in each layer is quadratic."""
    visited: list[int] = []
    original = SSAValue.uses.fget
    assert original is not None

    def counted(value: SSAValue) -> Any:
        uses = original(value)
        visited.append(uses.get_length())
        return uses

    monkeypatch.setattr(SSAValue, "uses", property(counted))
    group(64)
    few = sum(visited)
    visited.clear()
    group(256)

    assert sum(visited) <= 6 * few
