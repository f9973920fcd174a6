"""Pass `graph-outline-groups`: outlines equal planned groups into one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.function_calls import functions_of
from tlf.dialects.graph.in_place_attribute import (
    IN_PLACE_ATTRIBUTE,
    InPlaceAttr,
    in_place_operands_of,
)
from tlf.dialects.located_rewriting import replace_op
from tlf.passes.plan.equal_groups import equal_groups_of, views_of_operands


def outline_equal_groups(
    function: func.FuncOp, groups: Sequence[graph.GroupOp], name: str
) -> func.FuncOp:
    """
    Replace equal groups of a function by calls of a new function, which contains the
    first of them, with its views of operands.
    """
    first = groups[0]
    views = views_of_operands(first)
    body = Block(arg_types=[each.type for each in views.sources])
    copies = dict[SSAValue, SSAValue](zip(views.sources, body.args, strict=True))
    for source, argument in zip(views.sources, body.args, strict=True):
        argument.name_hint = source.name_hint
    for view in views.views:
        body.add_op(copy := view.clone(copies))
        copy.location = view.location
    body.add_op(inner := first.clone(copies))
    inner.location = first.location
    body.add_op(func.ReturnOp(*inner.results))
    types = [each.type for each in body.args], inner.result_types
    outlined = func.FuncOp(name, types, Region(body), StringAttr("private"))
    outlined.location = first.location
    Rewriter.insert_op(outlined, InsertPoint.before(function))
    for group in groups:
        _replace_by_call(group, name)
    return outlined


def _replace_by_call(group: graph.GroupOp, name: str) -> None:
    """Replace a group by a call of its function, on the sources of its operands."""
    sources = list(views_of_operands(group).sources)
    call = func.CallOp(name, sources, group.result_types)
    overwritten = in_place_operands_of(group)
    if any(each is not None for each in overwritten):
        call.attributes[IN_PLACE_ATTRIBUTE] = InPlaceAttr(
            None if each is None else sources.index(group.operands[each])
            for each in overwritten
        )
    for old, new in zip(group.results, call.results, strict=True):
        new.name_hint = old.name_hint
    replace_op(group, call)


@dataclass(frozen=True)
class GraphOutlineGroupsPass(ModulePass):
    """
    Outline groups that occur several times in a function into a private function, which
    later passes convert once.

    Groups are equal if they differ only in the tensors that they read, which they may
    view: views become part of the function. A group stays if its plan has no grid,
    shares tiles with other groups, or if an operand or result is a part of another
    buffer. A call overwrites operands like its group.
    """

    name = "graph-outline-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        for function in functions.values():
            if len(function.body.blocks) != 1:
                continue
            name, number = function.sym_name.data, 0
            for groups in list(equal_groups_of(function.body.block)):
                while f"{name}.group{number}" in functions:
                    number += 1
                outline_equal_groups(function, groups, f"{name}.group{number}")
                number += 1
