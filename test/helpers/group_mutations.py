"""Faults in groups of operations and in the plans of their tiles."""

from __future__ import annotations

from mutated_programs import LINEAR, RESIDUAL, SQUARE, TRITON_LINEAR
from mutations import Faults, Kind, Stage, find, replaced
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph

FAULTS = Faults(Stage.GROUPS)


@FAULTS.in_text(LINEAR, Kind.REFUSED, "tile sizes")
def size_of_a_plan_left_out(text: str) -> str:
    return replaced(text, r"tile \[5, 8\]", "tile [5]")


@FAULTS.in_text(LINEAR, Kind.REFUSED, "expected an order of 2 loops")
def loop_of_a_plan_ordered_twice(text: str) -> str:
    return replaced(text, r"mapping loop>", "mapping loop, order [1, 1]>")


@FAULTS.in_text(LINEAR, Kind.REFUSED, "expected a plan for one of the levels")
def plan_for_a_level_that_is_not_there(text: str) -> str:
    return replaced(text, r"plan<L1", "plan<L7")


@FAULTS.in_text(RESIDUAL, Kind.REFUSED, "expected buffers within the 8192 bytes")
def plan_too_large_for_its_level(text: str) -> str:
    return replaced(text, r"tile \[8, 16\]", "tile [31, 41]")


@FAULTS.in_text(TRITON_LINEAR, Kind.REFUSED)
def grid_planned_as_a_loop_of_a_core(text: str) -> str:
    return replaced(text, r"mapping grid", "mapping core")


@FAULTS.in_module(SQUARE, Kind.WRONG)
def inputs_of_a_group_exchanged(module: ModuleOp) -> None:
    op = find(module, graph.GroupOp)
    first, second = op.inputs[:2]
    op.operands[0], op.operands[1] = second, first


@FAULTS.in_module(LINEAR, Kind.WRONG)
def activation_left_out_of_a_group(module: ModuleOp) -> None:
    relu = find(module, graph.ReluOp)
    relu.results[0].replace_all_uses_with(relu.operands[0])


@FAULTS.in_module(RESIDUAL, Kind.WRONG)
def intermediate_yielded_by_a_group(module: ModuleOp) -> None:
    group, inner = find(module, graph.GroupOp), find(module, graph.ExpOp)
    end = group.body.block.last_op
    assert end is not None
    end.operands[0] = inner.results[0]
