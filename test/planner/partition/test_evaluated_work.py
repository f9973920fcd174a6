"""The number of evaluated programs, by the operations that are lowered for each."""

from __future__ import annotations

import pytest
from differential import parsed
from kept_groups import run_passes

from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.planner.context import Evaluator, Memo, PlanningContext

SIZE = 64


class Counting:
    """Evaluator that counts programs; each is faster than the one before."""

    def __init__(self) -> None:
        self.programs = 0

    def with_innermost_plans_for(self, target: TargetSpec) -> Counting:
        """Return the evaluator itself: innermost plans do not matter."""
        return self

    def evaluate_outermost_groups(self, module: object) -> int | None:
        """Return a smaller number of cycles each time."""
        self.programs += 1
        return 1_000_000 - self.programs

    def evaluate_innermost_groups(self, module: object) -> int | None:
        """Nothing is told of groups."""
        return None

    def evaluate_planned_groups(self, module: object) -> int | None:
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


def evaluated(slices: int, options: str) -> int:
    """The number of programs that are evaluated."""
    counting = Counting()
    context, module = parsed(program(slices))
    assert isinstance(context, PlanningContext)

    def made(target: TargetSpec, steps: int, memo: Memo) -> Evaluator:
        del target, steps, memo
        return counting

    context.evaluator = made
    target = load_target_spec("npu")
    target.attach_to_module(module)
    options = f"max-group-size=2 {options}"
    passes = f"graph-decompose,graph-group,graph-partition{{{options}}}"
    run_passes(context, module, target, passes)
    return counting.programs


@pytest.mark.long
def test_what_moves_tensors_between_groups_counts():
    """Slices are lowered as operations are: with many, fewer programs are evaluated."""
    few, many = (evaluated(count, "") for count in (2, 24))
    assert few == evaluated(2, "max-evaluated-operations=4000") > 0
    assert 0 < many < evaluated(24, "max-evaluated-operations=4000")
    assert evaluated(2, "max-evaluated-operations=0") == 0
