"""Groups of graphs whose values have many readers: effort grows with the program."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.analysis.tiling import backward_tiles, group_analysis
from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import pipelines_for

LAYERS = (8, 16, 32)
"""Each twice as many as before."""

BINARY = ("add", "mul", "sub", "maximum")

GROUPING = {
    "npu": "graph-decompose,graph-group{level=L2}",
    "h200": "graph-decompose,graph-group",
}
"""The passes that put operations into groups, by target."""


def dense(layers: int) -> str:
    """
    Three values in each layer, of those of the two layers before; every fourth layer
    normalises the rows of one.
    """
    kind = "tensor<8x16xf32>"
    body: list[str] = []

    def emit(name: str, *operands: str) -> str:
        types = ", ".join([kind] * len(operands))
        result = f"%v{len(body)}"
        call = f"graph.{name} {', '.join(operands)}"
        axis = " axis 1" if name == "softmax" else ""
        body.append(f"  {result} = {call}{axis} : ({types}) -> {kind}")
        return result

    older, old = ["%y", "%x", "%y"], ["%x", "%y", "%x"]
    for layer in range(layers):
        new = [
            emit(BINARY[(layer + place) % 4], old[place], older[(place + 1) % 3])
            for place in range(3)
        ]
        if layer % 4 == 3:
            new[0] = emit("softmax", new[0])
        older, old = old, new
    result = emit("add", emit("add", old[0], old[1]), old[2])
    head = f"func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{"
    return "\n".join([head, *body, f"  return {result} : {kind}", "}"])


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        return self.function(*arguments, **named)


@pytest.mark.parametrize("target", GROUPING)
def test_analyses_grow_with_the_program(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of tiles, and of which axes are one."""
    functions = (
        backward_tiles.analyze_group_tiles,
        backward_tiles.analyze_tiles_without_verification,
        AxisClasses.of,
    )
    counted = [Counted(each) for each in functions]
    analyse, outline, classes = counted
    monkeypatch.setattr(group_analysis, "analyze_group_tiles", analyse)
    monkeypatch.setattr(group_analysis, "analyze_tiles_without_verification", outline)
    monkeypatch.setattr(AxisClasses, "of", classes)
    chip = load_target_spec(target)
    found: list[int] = []
    for layers in LAYERS:
        context = new_context()
        module = parse_module(context, Source(dense(layers), "dense.mlir"))
        chip.attach_to_module(module)
        before = sum(each.calls for each in counted)
        passes = build_passes(GROUPING[target], PASSES, pipelines_for(chip))
        PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)
        found.append(sum(each.calls for each in counted) - before)

    first, second = (after - before for before, after in pairwise(found))
    assert 0 < second < 2.4 * first
