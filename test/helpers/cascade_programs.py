"""Programs with cascaded reductions along one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import group_members_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import graph, tile
from tlf.dialects.interfaces import Array, ConstantInterface, TilingInterface
from tlf.dialects.target import load_target_spec
from tlf.passes.plan.graph_group import move_operations_into_group
from tlf.planner.fusion.cascade_fusion import is_reduce_stage_of_loop

BODIES: Mapping[str, str] = {
    "attention": """
  %p = graph.softmax %t axis 1 : ({S}) -> {S}
  %y = graph.matmul %p, %v : ({S}, {V}) -> {Y}""",
    "negative exponents": """
  %m = graph.reduce %t <min> axes [1] keepdims : ({S}) -> {R}
  %d = graph.sub %m, %t : ({R}, {S}) -> {S}
  %e = graph.exp %d : {S}
  %y = graph.matmul %e, %v : ({S}, {V}) -> {Y}""",
    "rectified": """
  %p = graph.relu %t : {S}
  %y = graph.matmul %p, %v : ({S}, {V}) -> {Y}""",
    "gated": """
  %l = graph.reduce %t <sum> axes [1] keepdims : ({S}) -> {R}
  %h = graph.tanh %t : {S}
  %o = graph.matmul %h, %v : ({S}, {V}) -> {Y}
  %y = graph.mul %o, %l : ({Y}, {R}) -> {Y}""",
    "logarithm": """
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %d = graph.sub %t, %m : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %l = graph.reduce %e <sum> axes [1] keepdims : ({S}) -> {R}
  %g = graph.log %l : {R}
  %y = graph.add %g, %m : ({R}, {R}) -> {R}""",
    "moments": """
  %m = graph.reduce %t <sum> axes [1] keepdims : ({S}) -> {R}
  %u = graph.mul %t, %t : ({S}, {S}) -> {S}
  %l = graph.reduce %u <sum> axes [1] keepdims : ({S}) -> {R}
  %n = graph.mul %m, %m : ({R}, {R}) -> {R}
  %y = graph.sub %l, %n : ({R}, {R}) -> {R}""",
    "extra exponent": """
  %c = graph.constant dense<0.5> : tensor<{E}>
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %n = graph.maximum %m, %c : ({R}, tensor<{E}>) -> {R}
  %d = graph.sub %t, %n : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %l = graph.reduce %e <sum> axes [1] keepdims : ({S}) -> {R}
  %f = graph.sub %c, %n : (tensor<{E}>, {R}) -> {R}
  %g = graph.exp %f : {R}
  %w = graph.add %l, %g : ({R}, {R}) -> {R}
  %o = graph.matmul %e, %v : ({S}, {V}) -> {Y}
  %y = graph.div %o, %w : ({Y}, {R}) -> {Y}""",
    "steep": """
  %c = graph.constant dense<3.0> : tensor<{E}>
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %n = graph.mul %m, %c : ({R}, tensor<{E}>) -> {R}
  %u = graph.mul %t, %c : ({S}, tensor<{E}>) -> {S}
  %d = graph.sub %u, %n : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %y = graph.matmul %e, %v : ({S}, {V}) -> {Y}""",
    "guarded logarithm": """
  %c = graph.constant dense<0x{INF}> : tensor<{E}>
  %z = graph.constant dense<0.0> : tensor<{E}>
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %a = graph.abs %m : {R}
  %h = graph.compare %a, %c <eq> : ({R}, tensor<{E}>) -> {B}
  %n = graph.select %h, %z, %m : ({B}, tensor<{E}>, {R}) -> {R}
  %d = graph.sub %t, %n : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %l = graph.reduce %e <sum> axes [1] : ({S}) -> {U}
  %g = graph.log %l : {U}
  %w = graph.reshape %g : ({U}) -> {R}
  %y = graph.add %w, %n : ({R}, {R}) -> {R}""",
}
"""
Programs that use scores `t` of shape rows x columns, and a value row of `v` per column.
"""

ROWS = ("logarithm", "moments", "guarded logarithm")
"""Programs whose result has one element per row."""


INFINITY = {"f32": "7F800000", "f16": "7C00", "bf16": "7F80"}
"""Bits of infinity, by element type."""


def program(body: str, sizes: Sequence[int], element: str) -> str:
    """
    Return a program that computes biased scores of queries and keys, then a body.

    `sizes` are rows, columns, and the lengths of queries and values.
    """
    rows, columns, inner, depth = sizes
    shapes = {
        "Q": (rows, inner),
        "K": (inner, columns),
        "S": (rows, columns),
        "V": (columns, depth),
        "R": (rows, 1),
        "Y": (rows, 1 if body in ROWS else depth),
    }
    types = {name: f"tensor<{m}x{n}x{element}>" for name, (m, n) in shapes.items()}
    types |= {"U": f"tensor<{rows}x{element}>", "B": f"tensor<{rows}x1xi1>"}
    types |= {"E": element, "INF": INFINITY[element]}
    lines = """
  %s = graph.matmul %q, %k : ({Q}, {K}) -> {S}
  %t = graph.add %s, %b : ({S}, {S}) -> {S}"""
    arguments = "%q: {Q}, %k: {K}, %b: {S}, %v: {V}".format(**types)
    if body in ROWS:
        arguments = arguments.rpartition(",")[0]
    text = (lines + BODIES[body] + "\n  func.return %y : {Y}").format(**types)
    return f"func.func @main({arguments}) -> {types['Y']} {{{text}\n}}\n"


def in_one_loop(text: str, rows: int, columns: int) -> ModuleOp:
    """Return a program as one group for a GPU, in tiles of `rows` x `columns`."""
    context, module = _decomposed(text, "h200")
    in_one_group(context, module, rows, columns)
    return module


def in_one_group(context: Context, module: ModuleOp, rows: int, columns: int) -> None:
    """Group all operations of a program, and lower the group to tiles."""
    _group(module, "L1", rows, (columns,), mapping=tile.Mapping.GRID)
    run("convert-graph-to-tile", context, module)


def near_engines(
    text: str, rows: int, columns: int, stages: int = 1, pieces: int | None = None
) -> tuple[Context, ModuleOp]:
    """
    Return a program with one group in L1 of an NPU, and its whole tensors in L2.

    The group has tiles of `rows` rows, and reduction tiles of `columns` columns.
    """
    context, module = _decomposed(text, "npu")
    _group(module, "L2", None, ())
    run("convert-graph-to-tile,canonicalize,tlf-cse,dce", context, module)
    _group(module, "L1", rows, (columns,), stages=stages, pieces=pieces)
    run("convert-graph-to-tile,canonicalize,tlf-cse,dce", context, module)
    return context, module


def at_two_levels(
    text: str, far: tuple[int, int], near: tuple[int, int]
) -> tuple[Context, ModuleOp]:
    """
    Return a program as one group of an NPU, tiled for L2 and again for L1.

    `far` and `near` are the rows and columns of the tiles in L2 and in L1.
    """
    context, module = _decomposed(text, "npu")
    _group(module, "L2", far[0], far[1:])
    run("convert-graph-to-tile,tlf-cse,dce,graph-group{level=L1}", context, module)
    for op in module.walk():
        if not isinstance(op, graph.GroupOp):
            continue
        members = members_of_group_op(op)
        if is_reduce_stage_of_loop(members, op.parent_op()):
            _, *remaining = members.op_facts.facts_of(members.root).parallel_extents
            op.plan = graph.PlanAttr("L1", (near[0], *remaining), near[1:])
    select_tile_sizes = "graph-select-tile-sizes{strategy=largest level=L1}"
    run(f"{select_tile_sizes},dce,convert-graph-to-tile", context, module)
    run("canonicalize,tlf-cse,dce", context, module)
    return context, module


def _decomposed(text: str, target: str) -> tuple[Context, ModuleOp]:
    context = new_context()
    module = parse_module(context, Source(text, "cascade"))
    load_target_spec(target).attach_to_module(module)
    run("graph-decompose,graph-hoist-scales", context, module)
    return context, module


def assert_alike(found: Array, right: Array, element: str) -> None:
    """Check finite elements, infinities and NaN of a result against expected ones."""
    expected, actual = right.astype(np.float64), found.astype(np.float64)
    unit = {"f32": 1e-4, "f16": 2e-2}[element]
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    np.testing.assert_allclose(
        actual, expected, rtol=unit, atol=unit * size, equal_nan=True
    )


def run(passes: str, context: Context, module: ModuleOp) -> None:
    """Run passes on a program."""
    PassManager(build_passes(passes, PASSES, {})).run(context, module)


def _group(
    module: ModuleOp,
    level: str,
    rows: int | None,
    reduce: Sequence[int],
    mapping: tile.Mapping = tile.Mapping.LOOP,
    stages: int = 1,
    pieces: int | None = None,
) -> None:
    """Put all operations into one group, in tiles of `rows` rows, or of all rows."""
    operations = [
        op
        for op in module.walk()
        if isinstance(op, TilingInterface) and not isinstance(op, ConstantInterface)
    ]
    members = group_members_of(operations)
    extent, *remaining = members.op_facts.facts_of(members.root).parallel_extents
    group = move_operations_into_group(members)
    tiles = rows or extent, *remaining
    plan = graph.PlanAttr(
        level, tiles, reduce, mapping, stages=stages, reduce_stages=pieces
    )
    group.plan = plan
