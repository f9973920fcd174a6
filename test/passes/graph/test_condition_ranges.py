"""Bounds on whole numbers where conditions hold, whatever these compare."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from differential import parsed

from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.graph_fold_comparisons import GraphFoldComparisonsPass
from tlf.passes.graph.integer_bounds import IntegerBounds

RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")
VALUES = [-3.0, -2.5, -2.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 3.0, 4.0]
LIMITS = (-2.0, -0.5, 0.0, 1.0, 2.5)
PROGRAMS = 25


def program(element: str, parts: list[tuple[str, float, bool]]) -> str:
    """Numbers where all of some comparisons hold, and 1 elsewhere."""
    whole = element != "f32"
    listed = [each for each in VALUES if each.is_integer()] if whole else VALUES
    array = f"tensor<{len(listed)}x{element}>"
    truth, result = f"tensor<{len(listed)}xi1>", f"tensor<{len(listed)}xi64>"
    numbers = [int(each) for each in listed] if whole else listed
    lines = [f"%x = graph.constant dense<{numbers}> : {array}"]
    lines.append(f"%z = graph.neg %x : {array}")
    lines.append(f"%v = graph.neg %z : {array}")
    for at, (relation, limit, mirrored) in enumerate(parts):
        number = int(limit) if whole else limit
        lines.append(f"%n{at} = graph.constant dense<{number}> : tensor<{element}>")
        types = [array, f"tensor<{element}>"][:: -1 if mirrored else 1]
        names = ["%v", f"%n{at}"][:: -1 if mirrored else 1]
        lines.append(
            f"%c{at} = graph.compare {', '.join(names)} <{relation}> "
            f": ({', '.join(types)}) -> {truth}"
        )
    lines.append(f"%both = graph.and %c0, %c{len(parts) - 1} : {truth}")
    lines.append(f"%i = graph.cast %v : ({array}) -> {result}" if not whole else "")
    chosen = "%v" if whole else "%i"
    lines.append("%one = graph.constant dense<1> : tensor<i64>")
    lines.append(
        f"%y = graph.select %both, {chosen}, %one "
        f": ({truth}, {result}, tensor<i64>) -> {result}"
    )
    for at, relation in enumerate(RELATIONS):
        lines.append(
            f"%r{at} = graph.compare %y, %one <{relation}> "
            f": ({result}, tensor<i64>) -> {truth}"
        )
    names = ", ".join(["%y", *(f"%r{at}" for at in range(len(RELATIONS)))])
    types = ", ".join([result, *[truth] * len(RELATIONS)])
    body = "\n".join(lines)
    return f"func.func @f() -> ({types}) {{\n{body}\nfunc.return {names} : {types}\n}}"


@pytest.mark.parametrize("element", ["f32", "i64"])
def test_bounds_hold_where_conditions_do(element: str):
    pairs = list(product(product(RELATIONS, LIMITS), repeat=2))
    known = 0
    for (lower, low), (upper, high) in random.Random(0).sample(pairs, PROGRAMS):
        parts = [(lower, low, False), (upper, high, low < high)]
        context, module = parsed(program(element, parts))
        expected = interpret(module, {})
        (function,) = module.body.block.ops
        *_, end = function.regions[0].block.ops
        if (bounds := IntegerBounds().range_of_tensor(end.operands[0])) is not None:
            known += bounds[1] - bounds[0] < 10
            assert bounds[0] <= expected[0].min(), parts
            assert expected[0].max() <= bounds[1], parts
        GraphFoldComparisonsPass().apply(context, module)
        module.verify()
        for found, wanted in zip(interpret(module, {}), expected, strict=True):
            assert np.array_equal(found, wanted), parts
    assert known > PROGRAMS / 10
