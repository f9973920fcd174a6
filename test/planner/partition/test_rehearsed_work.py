"""How much is rehearsed, in operations of the programs that are lowered for it."""

from __future__ import annotations

import pytest
from differential import parsed
from kept_groups import run_passes

from tlf.dialects.target import Target, load
from tlf.planner.cost.npu import rehearsal

SIZE = 64


class Counting:
    """A rehearsal that counts programs, and tells that each is faster than before."""

    def __init__(self) -> None:
        self.programs = 0

    def cycles(self, module: object) -> int | None:
        """What is told of a program."""
        self.programs += 1
        return 1_000_000 - self.programs

    def grouped_cycles(self, module: object) -> int | None:
        """Nothing is told of groups."""
        return None

    def tiled_cycles(self, module: object) -> int | None:
        """Nothing is told of tiles."""
        return None


def program(slices: int) -> str:
    """A chain of some groups, and of slices of what it makes, joined in reverse."""
    whole, row = f"tensor<{SIZE}x{SIZE}xf32>", f"tensor<1x{SIZE}xf32>"
    joined = f"tensor<{slices}x{SIZE}xf32>"
    cuts = "\n".join(
        f"%s{n} = graph.slice %y offsets [{slices - n}, 0] strides [1, 1]"
        f" : ({whole}) -> {row}"
        for n in range(slices)
    )
    names = ", ".join(f"%s{n}" for n in range(slices))
    return f"""
    func.func @f(%x: {whole}, %w: {whole}) -> {joined} {{
      %0 = graph.matmul %x, %w : ({whole}, {whole}) -> {whole}
      %1 = graph.relu %0 : {whole}
      %y = graph.matmul %1, %w : ({whole}, {whole}) -> {whole}
      {cuts}
      %z = graph.concat {names} axis 0 : ({", ".join([row] * slices)}) -> {joined}
      func.return %z : {joined}
    }}
    """


def rehearsed(slices: int, options: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many programs are rehearsed."""
    told = Counting()

    def offered(target: Target, steps: int) -> rehearsal.Rehearsal:
        del target, steps
        return told

    monkeypatch.setattr(rehearsal, "_offered", [offered])
    context, module = parsed(program(slices))
    target = load("npu")
    target.attach(module)
    options = f"groups=2 {options}"
    passes = f"graph-decompose,graph-group,graph-partition{{{options}}}"
    run_passes(context, module, target, passes)
    return told.programs


@pytest.mark.long
def test_what_moves_tensors_between_groups_counts(monkeypatch: pytest.MonkeyPatch):
    """Slices are lowered as operations are: with many, fewer programs are rehearsed."""
    few, many = (rehearsed(count, "", monkeypatch) for count in (2, 24))
    assert few == rehearsed(2, "effort=4000", monkeypatch) > 0
    assert 0 < many < rehearsed(24, "effort=4000", monkeypatch)
    assert rehearsed(2, "effort=0", monkeypatch) == 0
